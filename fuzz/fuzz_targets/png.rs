//! `cargo +nightly fuzz run png`: see `ein_fuzz::targets::png`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::png(bytes));
