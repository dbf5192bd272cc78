//! The service as a whole: against the simulator, and as processes that are killed.

#![allow(clippy::unwrap_used)] // a test may panic

mod inverter;
mod kill;
mod signals;
mod simulator;
