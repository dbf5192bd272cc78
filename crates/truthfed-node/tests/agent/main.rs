//! Agents with a coordinator's engine, over links that fail, and under their applications.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod api;
mod faults;
mod https;
mod lockstep;
mod page;
mod rollback;
mod split;
mod support;
