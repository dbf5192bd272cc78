//! Fuzzes `truthfed_fuzz::protocol`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::protocol(bytes);
});
