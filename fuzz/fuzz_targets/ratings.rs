//! Fuzzes `truthfed_fuzz::ratings`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::ratings(bytes);
});
