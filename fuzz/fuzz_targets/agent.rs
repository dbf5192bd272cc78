//! Fuzzes `truthfed_fuzz::agent`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::agent(bytes);
});
