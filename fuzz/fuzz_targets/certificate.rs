//! Fuzzes `truthfed_fuzz::certificate`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::certificate(bytes);
});
