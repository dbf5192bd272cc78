//! The terms of a federation: how members decide and when they ask, what a round must cover, who is paid how.
//!
//! [`RawTerms`] is what is written down: in settings, and in the first entry of a journal. [`Terms`] is the same, checked:
//! whoever holds one need not check again.

use serde::{Deserialize, Serialize};

use super::capacity;
use super::{Quality, Quota, Strikes, Trigger};
use crate::Amount;
use crate::auction::catalog::{Claim, Claims};
use crate::auction::{Coverage, CoverageError, Mechanism, MechanismSetting, RawMechanism, SettingError};
use crate::bandit::{Config, ConfigError, RawConfig};
use crate::money::decimal;
use crate::statistics::Statistics;

/// Terms as they are written down, unchecked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RawTerms {
    /// How members decide.
    pub bandit: RawConfig,
    /// When members open a round; by default since the last round, with a threshold of 2.6.
    pub trigger: Trigger,
    /// Determinant ratio that a round must cover, or `monopoly-free`; default 0.5.
    pub coverage: CoverageSetting,
    /// Highest ask that is admitted, and the payment of an essential member: a decimal in quotes, default 10000.
    #[serde(with = "decimal")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reserve: Amount,
    /// What the payments of a round may come to: a decimal in quotes above 0, or `none`, the default. With a purse, the mechanism
    /// must be one that keeps to it, such as `clock`.
    #[serde(default, with = "decimal::or_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub purse: Option<Amount>,
    /// What all rounds that open on one day (UTC) may be awarded, as `purse`. When it is spent, no round opens until the next day.
    #[serde(default, with = "decimal::or_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub daily_purse: Option<Amount>,
    /// Longest context, `1e-9..=1e9`, default 1: an offer of n samples has a trace of at most n times its square.
    pub norm: f64,
    /// Largest reward, in size, `1e-9..=1e9`, default 1: the moment of n samples has an energy of at most n times its
    /// square.
    pub reward: f64,
    /// Most observations in one offer, `1..=10^9`, default 10^6. No sum that so many give may exceed 9e14: entries above
    /// 10^15 are not read.
    pub samples: u64,
    /// Least observations in one offer, up to `samples`: with 0, the default, any number; with `auto` twice the dimension. Nobody
    /// sees a sum of fewer, nor does a difference of offers show one: a member adds to what it offers by so many at a time.
    #[serde(default = "SamplesSetting::none", skip_serializing_if = "SamplesSetting::is_none")]
    pub least_samples: SamplesSetting,
    /// Most observations that may ever be settled, or `auto`, the default: as many as `lambda` is enough for.
    #[serde(default = "SamplesSetting::auto")]
    pub capacity: SamplesSetting,
    /// How much members may offer from one awarded round to the next.
    #[serde(default, skip_serializing_if = "Quota::is_default")]
    pub quota: Quota,
    /// How long offers are taken, up to a day; default 5000.
    pub offers_ms: u64,
    /// How long deliveries are taken, up to a day; default 5000.
    pub deliveries_ms: u64,
    /// Least time between the end of a round and the opening of the next, up to a day; default 1000.
    pub gap_ms: u64,
    /// Most multiplications that deciding a round may take, `1..=10^15`, default 2 * 10^12: two to four minutes of one core. A
    /// log determinant counts for (d + 12)^3 of them, so the default allows 23 million at d = 32, and 13,900 at d = 512. A
    /// round that takes more is aborted.
    pub work: u64,
    /// When members that win and do not deliver are excluded.
    pub strikes: Strikes,
    /// What becomes of deliveries that contradict those of others.
    #[serde(default, skip_serializing_if = "Quality::is_default")]
    pub quality: Quality,
    /// Who wins, and what they are paid.
    pub mechanism: RawMechanism,
}

impl Default for RawTerms {
    fn default() -> RawTerms {
        RawTerms {
            bandit: RawConfig::default(),
            trigger: Trigger::new(super::Since::Round, 2.6),
            coverage: CoverageSetting::Ratio(0.5),
            reserve: Amount::from_units(10_000),
            purse: None,
            daily_purse: None,
            norm: 1.0,
            reward: 1.0,
            samples: 1_000_000,
            least_samples: SamplesSetting::none(),
            capacity: SamplesSetting::auto(),
            quota: Quota::default(),
            offers_ms: 5000,
            deliveries_ms: 5000,
            gap_ms: 1000,
            work: 2_000_000_000_000,
            strikes: Strikes::default(),
            quality: Quality::default(),
            mechanism: MechanismSetting::default().into(),
        }
    }
}

/// A number of samples, or a rule that gives one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum SamplesSetting {
    Samples(u64),
    /// `auto`.
    Rule(String),
}

impl SamplesSetting {
    pub fn none() -> SamplesSetting {
        SamplesSetting::Samples(0)
    }

    pub fn auto() -> SamplesSetting {
        SamplesSetting::Rule("auto".to_owned())
    }

    fn is_none(&self) -> bool {
        *self == SamplesSetting::none()
    }

    /// The number, which is `auto` where the rule says so.
    fn resolve(self, what: &'static str, auto: u64) -> Result<u64, TermsError> {
        match self {
            SamplesSetting::Samples(samples) => Ok(samples),
            SamplesSetting::Rule(rule) if rule == "auto" => Ok(auto),
            SamplesSetting::Rule(rule) => Err(TermsError::SamplesRule { what, rule }),
        }
    }
}

/// A determinant ratio, or a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum CoverageSetting {
    /// A determinant ratio in (0, 1].
    Ratio(f64),
    /// `monopoly-free`.
    Rule(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CoverageRule {
    Fixed(Coverage),
    /// The largest target under which nobody is essential, from the number of samples so far.
    MonopolyFree,
}

impl TryFrom<&CoverageSetting> for CoverageRule {
    type Error = TermsError;

    fn try_from(setting: &CoverageSetting) -> Result<CoverageRule, TermsError> {
        match setting {
            CoverageSetting::Ratio(ratio) => Ok(CoverageRule::Fixed(Coverage::ratio(*ratio)?)),
            CoverageSetting::Rule(rule) if rule == "monopoly-free" => Ok(CoverageRule::MonopolyFree),
            CoverageSetting::Rule(rule) => Err(TermsError::CoverageRule(rule.clone())),
        }
    }
}

/// What a federation agreed on, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    raw: RawTerms,
    bandit: Config,
    coverage: CoverageRule,
    mechanism: MechanismSetting,
    least_samples: u64,
    capacity: u64,
}

/// Why terms are refused. All are the operator's to fix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TermsError {
    #[error("bandit.{0}")]
    Bandit(#[from] ConfigError),
    #[error("{what} is {value}: it must lie between 1e-9 and 1e9")]
    OutOfRange { what: &'static str, value: f64 },
    #[error("samples is {0}: it must lie in 1..=1000000000")]
    Samples(u64),
    /// Allow fewer samples, or scale contexts or rewards. `largest` is what a sum of so many samples can come to.
    #[error("an offer of {samples} samples can have entries of {largest:e}: norm and reward must keep it within 9e14")]
    OfferTooLarge { samples: u64, largest: f64 },
    /// Raise `bandit.lambda`, or allow less.
    #[error("capacity is {capacity}: with this lambda, norm and samples it must lie in 1..={most}")]
    Capacity { capacity: u64, most: u64 },
    #[error("{what} is `{rule}`: it must be a number of samples, or `auto`")]
    SamplesRule { what: &'static str, rule: String },
    /// Where it is `auto`, it is twice the dimension.
    #[error("least_samples is {least}: it must lie in 0..={most}, the most samples in an offer")]
    LeastSamples { least: u64, most: u64 },
    #[error("quota.{what} is {value}: it must lie in 1..={most}")]
    Quota { what: String, value: u64, most: u64 },
    #[error(transparent)]
    Coverage(#[from] CoverageError),
    #[error("coverage is `{0}`: it must be a number above 0 and at most 1, or `monopoly-free`")]
    CoverageRule(String),
    #[error("trigger.threshold is {0}: it must be finite and at least 0")]
    Threshold(f64),
    /// A phase without time, or one that never ends.
    #[error("{what} is {value}: it must lie in 1..=86400000")]
    Phase { what: &'static str, value: u64 },
    #[error("gap_ms is {0}: it must lie in 0..=86400000")]
    Gap(u64),
    #[error("work is {0}: it must lie in 1..=1000000000000000")]
    Work(u64),
    #[error("{what} is 0: it must be above 0, or `none`")]
    EmptyPurse { what: &'static str },
    /// Take `clock`, or no purse.
    #[error("{what} is set, and {mechanism} cannot keep to a purse: it must be `none`, or the mechanism clock")]
    PurseNotKept { what: &'static str, mechanism: &'static str },
    #[error("strikes.{what} is {value}: it must lie in {least}..={most}")]
    Strikes { what: &'static str, value: u64, least: u64, most: u64 },
    #[error("quality.rounds is {0}: it must lie in 1..=1000000")]
    Quality(u64),
    #[error("mechanism.{0}")]
    Mechanism(#[from] SettingError),
}

impl TermsError {
    /// The field that is wrong, such as `bandit.lambda`.
    pub fn key(&self) -> String {
        let key = match self {
            TermsError::Bandit(ConfigError::Dimension(_)) => "bandit.dimension",
            TermsError::Bandit(ConfigError::Lambda(_)) => "bandit.lambda",
            TermsError::Bandit(ConfigError::Sigma(_)) => "bandit.sigma",
            TermsError::Bandit(ConfigError::Delta(_)) => "bandit.delta",
            TermsError::OutOfRange { what, .. } | TermsError::Phase { what, .. } => what,
            TermsError::Samples(_) | TermsError::OfferTooLarge { .. } => "samples",
            TermsError::Capacity { .. } => "capacity",
            TermsError::LeastSamples { .. } => "least_samples",
            TermsError::SamplesRule { what, .. } => what,
            TermsError::Coverage(_) | TermsError::CoverageRule(_) => "coverage",
            TermsError::Threshold(_) => "trigger.threshold",
            TermsError::EmptyPurse { what } | TermsError::PurseNotKept { what, .. } => what,
            TermsError::Gap(_) => "gap_ms",
            TermsError::Work(_) => "work",
            TermsError::Quality(_) => "quality.rounds",
            TermsError::Quota { what, .. } => return format!("quota.{what}"),
            TermsError::Strikes { what, .. } => return format!("strikes.{what}"),
            TermsError::Mechanism(error) => return format!("mechanism.{}", error.key()),
        };
        key.to_owned()
    }
}

/// Most observations in one offer that terms can allow: all counts of a federation stay far within 64 bits.
const MAX_SAMPLES: u64 = 1_000_000_000;
/// Most that an entry of an offer may come to: entries above 1e15 are not read, and sums are rounded.
const LARGEST_SUM: f64 = 9e14;
/// Longest phase, a day: a round that nobody answers must not hold up the federation for longer.
const MAX_PHASE_MS: u64 = 86_400_000;
/// Most rounds that strikes look back or exclude for, or that payments wait: far more than a member waits, and far within 64 bits.
const MAX_ROUNDS: u64 = 1_000_000;

impl TryFrom<RawTerms> for Terms {
    type Error = TermsError;

    fn try_from(mut raw: RawTerms) -> Result<Terms, TermsError> {
        let bandit = Config::try_from(raw.bandit)?;
        let coverage = CoverageRule::try_from(&raw.coverage)?;
        let threshold = raw.trigger.threshold;
        if !(threshold.is_finite() && threshold >= 0.0) {
            return Err(TermsError::Threshold(threshold));
        }
        for (what, value) in [("offers_ms", raw.offers_ms), ("deliveries_ms", raw.deliveries_ms)] {
            if !(1..=MAX_PHASE_MS).contains(&value) {
                return Err(TermsError::Phase { what, value });
            }
        }
        if raw.gap_ms > MAX_PHASE_MS {
            return Err(TermsError::Gap(raw.gap_ms));
        }
        if !(1..=Terms::MAX_WORK).contains(&raw.work) {
            return Err(TermsError::Work(raw.work));
        }
        let Strikes { defaults, within, rounds } = raw.strikes;
        for (what, value, least, most) in
            [("defaults", defaults, 1, 1000), ("within", within, 1, MAX_ROUNDS), ("rounds", rounds, 0, MAX_ROUNDS)]
        {
            if !(least..=most).contains(&value) {
                return Err(TermsError::Strikes { what, value, least, most });
            }
        }
        for (what, value) in [("norm", raw.norm), ("reward", raw.reward)] {
            if !(1e-9..=1e9).contains(&value) {
                return Err(TermsError::OutOfRange { what, value });
            }
        }
        let samples = raw.samples;
        if !(1..=MAX_SAMPLES).contains(&samples) {
            return Err(TermsError::Samples(samples));
        }
        let largest = samples as f64 * raw.norm * raw.norm.max(raw.reward);
        if largest > LARGEST_SUM {
            return Err(TermsError::OfferTooLarge { samples, largest });
        }
        let size = raw.norm * raw.norm.max(raw.reward);
        let most = capacity::largest(&bandit, raw.norm, samples, (LARGEST_SUM, size));
        let capacity = raw.capacity.resolve("capacity", most)?;
        if !(1..=most).contains(&capacity) {
            return Err(TermsError::Capacity { capacity, most });
        }
        let least = raw.least_samples.resolve("least_samples", 2 * bandit.dimension() as u64)?;
        if least > samples {
            return Err(TermsError::LeastSamples { least, most: samples });
        }
        raw.quota.check()?;
        if !(1..=MAX_ROUNDS).contains(&raw.quality.rounds) {
            return Err(TermsError::Quality(raw.quality.rounds));
        }
        let mechanism = MechanismSetting::try_from(raw.mechanism)?;
        for (what, purse) in [("purse", raw.purse), ("daily_purse", raw.daily_purse)] {
            match purse {
                Some(Amount::ZERO) => return Err(TermsError::EmptyPurse { what }),
                Some(_) if mechanism.claims().within_purse != Claim::Yes => {
                    return Err(TermsError::PurseNotKept { what, mechanism: mechanism.name() });
                }
                _ => {}
            }
        }
        // What was left to its default is written too.
        raw.mechanism = mechanism.clone().into();
        raw.least_samples = SamplesSetting::Samples(least);
        raw.capacity = SamplesSetting::Samples(capacity);
        Ok(Terms { raw, bandit, coverage, mechanism, least_samples: least, capacity })
    }
}

impl Terms {
    /// Most work that terms can allow: about a day of one core. Every reader of JSON keeps the number exact.
    pub const MAX_WORK: u64 = 1_000_000_000_000_000;

    /// As they are written down.
    pub fn raw(&self) -> &RawTerms {
        &self.raw
    }

    pub fn dimension(&self) -> usize {
        self.bandit.dimension()
    }

    pub fn bandit(&self) -> Config {
        self.bandit
    }

    pub fn trigger(&self) -> Trigger {
        self.raw.trigger
    }

    pub fn coverage(&self) -> CoverageRule {
        self.coverage
    }

    /// How much members may offer; none if that is all that is not sold.
    pub fn quota(&self) -> Option<&Quota> {
        Some(&self.raw.quota).filter(|quota| !quota.is_none())
    }

    /// Least samples in an offer.
    pub fn least_samples(&self) -> u64 {
        self.least_samples
    }

    /// Most samples that may ever be settled.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The share of its trace by which eigenvalues of an offer may lie below 0.
    pub(super) fn tolerance(&self) -> f64 {
        capacity::tolerance(self.capacity, self.raw.norm, self.bandit.lambda())
    }

    pub fn mechanism(&self) -> Box<dyn Mechanism> {
        self.mechanism.mechanism()
    }

    pub fn claims(&self) -> Claims {
        self.mechanism.claims()
    }

    /// The target of a round in which `offered` samples are added to what is settled.
    pub(super) fn target(&self, settled: &Statistics, offered: u64) -> Result<Coverage, CoverageError> {
        match self.coverage {
            CoverageRule::Fixed(coverage) => Ok(coverage),
            CoverageRule::MonopolyFree => {
                let samples = settled.samples() + offered;
                Coverage::monopoly_free(samples, self.raw.norm, self.bandit.lambda(), self.dimension())
            }
        }
    }
}
