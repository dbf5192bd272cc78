//! Fuzzes `truthfed_fuzz::counterexample`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::counterexample(bytes);
});
