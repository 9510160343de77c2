//! `cargo +nightly fuzz run svexp`: see `ein_fuzz::targets::svexp`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::svexp(bytes));
