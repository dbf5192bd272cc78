//! Parameters of LinUCB, checked once.

use serde::{Deserialize, Serialize};

use crate::statistics::MAX_DIMENSION;

/// Parameters as read, not yet checked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RawConfig {
    /// Dimension of the contexts, `1..=512`; default 5.
    pub dimension: usize,
    /// Ridge weight, above 0; default 0.1.
    pub lambda: f64,
    /// Scale of the noise, at least 0; default 0.1.
    pub sigma: f64,
    /// Probability of a wrong confidence set, in (0, 1); default 0.1.
    pub delta: f64,
}

impl Default for RawConfig {
    fn default() -> RawConfig {
        RawConfig { dimension: 5, lambda: 0.1, sigma: 0.1, delta: 0.1 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawConfig")]
pub struct Config(RawConfig);

/// Why parameters are refused. All are the caller's to fix.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ConfigError {
    #[error("dimension is {0}: it must lie in 1..=512")]
    Dimension(usize),
    #[error("lambda is {0}: it must lie between 1e-9 and 1e9")]
    Lambda(f64),
    #[error("sigma is {0}: it must lie between 0 and 1e9")]
    Sigma(f64),
    #[error("delta is {0}: it must lie above 0 and below 1")]
    Delta(f64),
}

/// Why a fixed alpha is refused. The caller must give another.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("alpha is {0}: it must lie between 0 and 1e9")]
pub struct AlphaError(pub f64);

impl TryFrom<RawConfig> for Config {
    type Error = ConfigError;

    fn try_from(raw: RawConfig) -> Result<Config, ConfigError> {
        let RawConfig { dimension, lambda, sigma, delta } = raw;
        if !(1..=MAX_DIMENSION).contains(&dimension) {
            return Err(ConfigError::Dimension(dimension));
        }
        if !(1e-9..=1e9).contains(&lambda) {
            return Err(ConfigError::Lambda(lambda));
        }
        if !(0.0..=1e9).contains(&sigma) {
            return Err(ConfigError::Sigma(sigma));
        }
        if !(delta > 0.0 && delta < 1.0) {
            return Err(ConfigError::Delta(delta));
        }
        Ok(Config(raw))
    }
}

impl Config {
    pub fn dimension(&self) -> usize {
        self.0.dimension
    }

    pub fn lambda(&self) -> f64 {
        self.0.lambda
    }

    pub fn sigma(&self) -> f64 {
        self.0.sigma
    }

    pub fn delta(&self) -> f64 {
        self.0.delta
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_refused(change: impl FnOnce(&mut RawConfig), expected: &str) {
        let mut raw = RawConfig::default();
        change(&mut raw);
        assert_eq!(Config::try_from(raw).unwrap_err().to_string(), expected);
    }

    #[test]
    fn parameters_outside_their_bounds_are_refused_by_name() {
        check_refused(|raw| raw.dimension = 0, "dimension is 0: it must lie in 1..=512");
        check_refused(|raw| raw.dimension = 513, "dimension is 513: it must lie in 1..=512");
        check_refused(|raw| raw.lambda = 0.0, "lambda is 0: it must lie between 1e-9 and 1e9");
        check_refused(|raw| raw.lambda = f64::NAN, "lambda is NaN: it must lie between 1e-9 and 1e9");
        check_refused(|raw| raw.sigma = -0.1, "sigma is -0.1: it must lie between 0 and 1e9");
        check_refused(|raw| raw.delta = 1.0, "delta is 1: it must lie above 0 and below 1");
    }
}
