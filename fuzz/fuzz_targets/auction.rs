//! Fuzzes `truthfed_fuzz::auction`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| _ = truthfed_fuzz::auction(bytes));
