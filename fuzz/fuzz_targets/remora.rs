//! `cargo +nightly fuzz run remora`: see `ein_fuzz::targets::remora`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::remora(bytes));
