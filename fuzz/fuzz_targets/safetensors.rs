//! `cargo +nightly fuzz run safetensors`: see `ein_fuzz::targets::safetensors`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::safetensors(bytes));
