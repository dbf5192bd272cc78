//! Fuzzes `truthfed_fuzz::policy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| _ = truthfed_fuzz::policy(bytes));
