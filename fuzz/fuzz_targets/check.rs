//! `cargo +nightly fuzz run check`: see `ein_fuzz::targets::check`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::check(bytes));
