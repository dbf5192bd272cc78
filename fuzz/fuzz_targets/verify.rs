//! Fuzzes `truthfed_fuzz::verify`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::verify(bytes);
});
