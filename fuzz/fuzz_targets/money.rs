//! Fuzzes `truthfed_fuzz::money`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::money(bytes);
});
