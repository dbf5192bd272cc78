//! The configuration of a simulation: TOML, checked once.
//!
//! [`RawConfig`] is what is written down; [`Config`] is valid. Errors name the key, the bound, and the line of the
//! file where there is one.

mod check;
mod raw;

pub(crate) use check::{Arms, line_at};
pub use check::{Config, ConfigError};
pub use raw::{
    Behaviour, Behaviours, Costs, CoverageSetting, Faults, Learning, LikedSetting, RawConfig, Rounds, Threshold, World,
};

/// A complete configuration with comments: the defaults.
pub const DEFAULT_TOML: &str = include_str!("default.toml");
