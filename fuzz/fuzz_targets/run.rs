//! `cargo +nightly fuzz run run`: see `ein_fuzz::targets::run`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::run(bytes));
