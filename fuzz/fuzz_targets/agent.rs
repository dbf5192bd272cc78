//! Fuzzes `truthfed_fuzz::agent`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| _ = truthfed_fuzz::agent(bytes));
