//! Fuzzes `truthfed_fuzz::ledger`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    truthfed_fuzz::ledger(bytes);
});
