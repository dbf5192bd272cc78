//! Fuzzes `truthfed_fuzz::statistics`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::statistics(bytes);
});
