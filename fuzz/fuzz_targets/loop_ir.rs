//! `cargo +nightly fuzz run loop_ir`: see `ein_fuzz::targets::loop_ir`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::loop_ir(bytes));
