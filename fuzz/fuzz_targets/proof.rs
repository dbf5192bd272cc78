//! Fuzzes `truthfed_fuzz::proof`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::proof(bytes);
});
