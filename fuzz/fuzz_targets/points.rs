//! `cargo +nightly fuzz run points`: see `ein_fuzz::targets::points`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::points(bytes));
