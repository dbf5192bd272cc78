//! Fuzzes `truthfed_fuzz::terms`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::terms(bytes);
});
