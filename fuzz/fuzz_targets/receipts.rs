//! Fuzzes `truthfed_fuzz::receipts`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::receipts(bytes);
});
