//! Fuzzes `truthfed_fuzz::delivery`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::delivery(bytes);
});
