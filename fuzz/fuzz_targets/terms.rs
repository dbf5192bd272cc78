//! Fuzzes `truthfed_fuzz::terms`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| _ = truthfed_fuzz::terms(bytes));
