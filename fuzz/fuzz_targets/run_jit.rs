//! `cargo +nightly fuzz run run_jit`: see `ein_fuzz::targets::run_jit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::run_jit(bytes));
