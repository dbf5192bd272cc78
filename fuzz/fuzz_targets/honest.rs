//! Fuzzes `truthfed_fuzz::honest`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::honest(bytes);
});
