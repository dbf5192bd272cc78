//! The configuration of a simulation: TOML, checked once.
//!
//! [`RawConfig`] is what is written down; [`Config`] is valid. Errors name the key, the bound, and the line of the
//! file where there is one.

mod check;
mod parameters;
mod parts;
mod raw;

pub(crate) use check::STEP_MS;
pub(crate) use check::{Arms, from_table, line_at, put};
pub use check::{Config, ConfigError};
pub use parameters::Parameters;
pub use parts::Parts;
pub use raw::{Behaviour, Behaviours, Costs, Faults, Learning, LikedSetting, RawConfig, Rounds, Threshold, World};

/// The mechanism of no mechanism: no round ever opens, and everyone learns from its own data alone.
pub const ALONE: &str = "alone";

/// A complete configuration with comments: the defaults.
pub fn default_toml() -> String {
    include_str!("default.toml").replace("# PARAMETERS\n", &parameters::commented())
}
