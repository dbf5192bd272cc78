//! Fuzzes `truthfed_fuzz::saved`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::saved(bytes);
});
