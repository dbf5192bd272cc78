//! The terms a federation agreed on: how members decide and when they ask, what a round must cover, who is paid how.
//!
//! [`TermsDocument`] is what is written into the first entry of the journal, sent to every member and signed, by its hash,
//! in every offer. [`Agreement`] is the same, checked.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truthfed::Amount;
use truthfed::auction::catalog::Claim;
use truthfed::auction::{Coverage, CoverageError, Mechanism};
use truthfed::bandit::{self, ConfigError, RawConfig};
use truthfed::protocol::{CoverageRule, Terms, TermsError, Trigger};

use crate::digest::Digest;
use crate::schema;

pub use truthfed::auction::MechanismSetting;

/// The terms as they are written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TermsDocument {
    /// How members decide.
    #[schemars(with = "schema::Bandit")]
    pub bandit: RawConfig,
    /// When members ask for a round.
    #[schemars(with = "schema::Trigger")]
    pub trigger: Trigger,
    /// Determinant ratio that a round must cover, or `monopoly-free`.
    pub coverage: CoverageSetting,
    /// Highest ask that is admitted, and the payment of an essential member.
    #[schemars(with = "schema::Micros")]
    pub reserve_micros: Amount,
    /// Longest context.
    pub norm: f64,
    /// Largest reward, in size.
    pub reward: f64,
    /// Most observations in one offer.
    pub samples: u64,
    /// How long offers are taken.
    pub offers_ms: u64,
    /// How long deliveries are taken.
    pub deliveries_ms: u64,
    /// Who wins, and what they are paid.
    #[schemars(with = "schema::MechanismSetting")]
    pub mechanism: MechanismSetting,
}

/// A determinant ratio, or a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CoverageSetting {
    /// A determinant ratio in (0, 1].
    Ratio(f64),
    /// `monopoly-free`.
    Rule(String),
}

/// Why terms are refused. All are the operator's to mend.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AgreementError {
    /// A parameter of the bandit.
    #[error("bandit.{0}")]
    Bandit(#[from] ConfigError),
    /// A term of the protocol.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The coverage.
    #[error(transparent)]
    Coverage(#[from] CoverageError),
    /// Another word for the coverage.
    #[error("coverage is `{0}`: it must be a number above 0 and at most 1, or `monopoly-free`")]
    CoverageRule(String),
    /// The trigger.
    #[error("trigger.threshold is {0}: it must be finite and at least 0")]
    Threshold(f64),
    /// A phase without time, or one that never ends.
    #[error("{what} is {value}: it must lie in 1..=86400000")]
    Phase {
        /// Which.
        what: &'static str,
        /// Its value.
        value: u64,
    },
}

/// Checked terms.
#[derive(Debug, Clone)]
pub struct Agreement {
    document: TermsDocument,
    terms: Terms,
    bandit: bandit::Config,
}

/// Longest phase: a day.
const MAX_PHASE_MS: u64 = 86_400_000;

impl TryFrom<TermsDocument> for Agreement {
    type Error = AgreementError;

    fn try_from(document: TermsDocument) -> Result<Agreement, AgreementError> {
        let bandit = bandit::Config::try_from(document.bandit)?;
        let coverage = match &document.coverage {
            CoverageSetting::Ratio(ratio) => CoverageRule::Fixed(Coverage::ratio(*ratio)?),
            CoverageSetting::Rule(rule) if rule == "monopoly-free" => CoverageRule::MonopolyFree,
            CoverageSetting::Rule(rule) => return Err(AgreementError::CoverageRule(rule.clone())),
        };
        for (what, value) in [("offers_ms", document.offers_ms), ("deliveries_ms", document.deliveries_ms)] {
            if !(1..=MAX_PHASE_MS).contains(&value) {
                return Err(AgreementError::Phase { what, value });
            }
        }
        let threshold = document.trigger.threshold;
        if !(threshold.is_finite() && threshold >= 0.0) {
            return Err(AgreementError::Threshold(threshold));
        }
        let terms = Terms {
            dimension: bandit.dimension(),
            lambda: bandit.lambda(),
            coverage,
            reserve: document.reserve_micros,
            norm: document.norm,
            reward: document.reward,
            samples: document.samples,
            offers_ms: document.offers_ms,
            deliveries_ms: document.deliveries_ms,
        }
        .checked()?;
        Ok(Agreement { document, terms, bandit })
    }
}

impl Agreement {
    /// As they are written down.
    pub fn document(&self) -> &TermsDocument {
        &self.document
    }

    /// The hash of the document, signed in every offer.
    pub fn hash(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }

    /// The document as it is hashed and sent.
    pub fn text(&self) -> String {
        serde_json::to_string(&self.document).expect("terms are JSON")
    }

    /// What the protocol needs of them.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// How members decide.
    pub fn bandit(&self) -> bandit::Config {
        self.bandit
    }

    /// When members ask for a round.
    pub fn trigger(&self) -> Trigger {
        self.document.trigger
    }

    /// Whether whoever wins is paid at least what it asked.
    pub fn pays_the_ask(&self) -> bool {
        self.document.mechanism.claims().individually_rational == Claim::Yes
    }

    /// Who wins and what they are paid.
    pub fn mechanism(&self) -> Box<dyn Mechanism> {
        self.document.mechanism.mechanism()
    }
}
