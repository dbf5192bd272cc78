//! Fuzzes `truthfed_fuzz::simulation`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::simulation(bytes);
});
