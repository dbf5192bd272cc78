//! The binary from outside, and what the shipped one does not have.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod load;
mod shipped;
mod soak;
