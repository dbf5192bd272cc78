//! Fuzzes `truthfed_fuzz::recovery`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::recovery(bytes);
});
