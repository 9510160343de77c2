//! `cargo +nightly fuzz run npy`: see `ein_fuzz::targets::npy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::npy(bytes));
