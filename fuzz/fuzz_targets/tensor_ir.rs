//! `cargo +nightly fuzz run tensor_ir`: see `ein_fuzz::targets::tensor_ir`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::tensor_ir(bytes));
