//! `cargo +nightly fuzz run npz`: see `ein_fuzz::targets::npz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::npz(bytes));
