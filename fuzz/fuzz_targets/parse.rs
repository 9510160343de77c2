//! `cargo +nightly fuzz run parse`: see `ein_fuzz::targets::parse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::parse(bytes));
