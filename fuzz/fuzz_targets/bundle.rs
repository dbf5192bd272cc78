//! Fuzzes `truthfed_fuzz::bundle`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::bundle(bytes);
});
