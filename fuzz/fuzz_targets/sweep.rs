//! Fuzzes `truthfed_fuzz::sweep`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::sweep(bytes);
});
