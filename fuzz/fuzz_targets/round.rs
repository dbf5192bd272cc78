//! Fuzzes `truthfed_fuzz::round`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::round(bytes);
});
