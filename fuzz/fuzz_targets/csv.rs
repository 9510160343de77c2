//! `cargo +nightly fuzz run csv`: see `ein_fuzz::targets::csv`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::csv(bytes));
