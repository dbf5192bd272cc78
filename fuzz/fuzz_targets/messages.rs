//! Fuzzes `truthfed_fuzz::messages`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::messages(bytes);
});
