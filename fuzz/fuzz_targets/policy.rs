//! Fuzzes `truthfed_fuzz::policy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::policy(bytes);
});
