//! `cargo +nightly fuzz run onnx`: see `ein_fuzz::targets::onnx`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ein_fuzz::targets::onnx(bytes));
