//! Fuzzes `truthfed_fuzz::journal`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| _ = truthfed_fuzz::journal(bytes));
