//! Fuzzes `truthfed_fuzz::offer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::offer(bytes);
});
