//! Fuzzes `truthfed_fuzz::auction`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::auction(bytes);
});
