//! Fuzzes `truthfed_fuzz::engine`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::engine(bytes);
});
