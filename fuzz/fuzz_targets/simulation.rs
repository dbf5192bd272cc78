//! Fuzzes `truthfed_fuzz::simulation`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| _ = truthfed_fuzz::simulation(bytes));
