//! What is written down. The meaning of each key stands in `default.toml`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truthfed::protocol::CoverageSetting;

use super::parameters::Parameters;

/// A configuration as it is written down.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "truthfed simulation")]
pub struct RawConfig {
    /// The clients and what they act in.
    pub world: World,
    /// How clients learn.
    pub learning: Learning,
    /// How rounds are run.
    pub rounds: Rounds,
    /// What taking part really costs.
    pub costs: Costs,
    /// Who is away and who vanishes.
    pub faults: Faults,
    /// What some clients do instead of telling the truth.
    pub behaviour: Behaviours,
}

/// The clients and what they act in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct World {
    /// Number of clients, 1 to 100000.
    pub clients: usize,
    /// Dimension of the contexts, 1 to 512.
    pub dimension: usize,
    /// Steps of all clients together.
    pub steps: u64,
    /// `decaying`, `sphere`, `cube`, or the path of a CSV file.
    pub arms: String,
    /// Arms in the world.
    pub arm_count: usize,
    /// Arms shown at each step.
    pub arms_per_step: usize,
    /// Standard deviation of the rewards.
    pub noise: f64,
    /// `in-turn`, `uniform`, `poisson` or `day-and-night`.
    pub arrivals: String,
    /// The path of a log of ratings, or nothing for a synthetic world.
    pub ratings: String,
    /// The least value of a liked item, or `median`.
    pub liked: LikedSetting,
    /// `likes`, or `held-out`: what the features of items are made of.
    pub features: String,
    /// Share of the items that each client has, above 0 and at most 1.
    pub catalogue: f64,
    /// How far the parameter of each client lies from the common one.
    pub heterogeneity: f64,
    /// How far the common parameter moves in 1000 steps.
    pub drift: f64,
}

/// A value, or a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LikedSetting {
    /// The least value of a liked item.
    Value(f64),
    /// `median`.
    Rule(String),
}

/// How clients learn.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Learning {
    /// Ridge weight.
    pub lambda: f64,
    /// Scale of the noise the clients believe in.
    pub sigma: f64,
    /// Probability of a wrong confidence set.
    pub delta: f64,
}

/// How rounds are run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rounds {
    /// Name of the mechanism, or `alone`.
    pub mechanism: String,
    /// Required determinant ratio, or `monopoly-free`.
    pub coverage: CoverageSetting,
    /// Highest ask that is admitted.
    pub reserve: f64,
    /// What the payments of a round may come to; 0 for no limit.
    pub purse: f64,
    /// `since-round` or `since-delivery`.
    pub trigger: String,
    /// `formula`, or a number.
    pub threshold: Threshold,
    /// How much a client may offer from one awarded round to the next, as a multiple of what clients collect on average;
    /// 0 for everything that is not sold.
    pub quota: f64,
    /// Least samples in an offer; 0 for any number.
    pub least_samples: u64,
    /// Rounds after which data that contradicts others' is void, held until then; 0 to believe everyone.
    pub hold: u64,
    #[serde(flatten)]
    pub parameters: Parameters,
}

/// A number, or the formula.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Threshold {
    /// A plain number, at least 0.
    Number(f64),
    /// `formula`.
    Rule(String),
}

/// True cost = weight * det(gram) + per_sample * samples + base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Weight of the determinant of the unshared Gram matrix.
    pub weight: f64,
    /// Cost of each sample.
    pub per_sample: f64,
    /// Lowest base of a client.
    pub base_low: f64,
    /// Highest base of a client.
    pub base_high: f64,
}

/// Who is away and who vanishes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Probability that a member is away from a round.
    pub offline: f64,
    /// Probability that a winner vanishes before it delivers.
    pub dropout: f64,
}

/// What some clients do instead of telling the truth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Behaviours {
    /// What they do.
    pub kind: Behaviour,
    /// Their ask over their true cost, for `over`, `under` and `coalition`.
    pub factor: f64,
    /// Share of the clients that do it.
    pub share: f64,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// Asks its true cost.
    #[default]
    Truthful,
    /// Asks more than its cost.
    Over,
    /// Asks less than its cost.
    Under,
    /// Asks a common multiple of its cost, together with others.
    Coalition,
    /// Asks the reserve, so that it only sells when it is essential.
    LongRun,
    /// Delivers moments of the wrong sign.
    Poisoner,
    /// Invents data that says the opposite of what the others believe, for nothing.
    Inverter,
    /// Invents data that says what the others believe already, for nothing.
    Echo,
    /// Offers and delivers ten times what it observed, for nothing.
    Amplifier,
    /// Delivers rewards of a world it made up, for nothing.
    Random,
    /// Delivers moments of the wrong sign after its first ten rounds, for nothing.
    Turncoat,
}

impl Default for World {
    fn default() -> World {
        World {
            clients: 25,
            dimension: 5,
            steps: 6250,
            arms: "decaying".to_owned(),
            arm_count: 1000,
            arms_per_step: 25,
            noise: 0.1,
            arrivals: "in-turn".to_owned(),
            ratings: String::new(),
            liked: LikedSetting::Rule("median".to_owned()),
            features: "likes".to_owned(),
            catalogue: 1.0,
            heterogeneity: 0.0,
            drift: 0.0,
        }
    }
}

impl Default for Learning {
    fn default() -> Learning {
        Learning { lambda: 0.1, sigma: 0.1, delta: 0.1 }
    }
}

impl Default for Rounds {
    fn default() -> Rounds {
        Rounds {
            mechanism: truthfed::auction::catalog::DEFAULT.to_owned(),
            coverage: CoverageSetting::Ratio(0.5),
            reserve: 10_000.0,
            purse: 0.0,
            trigger: "since-round".to_owned(),
            threshold: Threshold::Rule("formula".to_owned()),
            quota: 0.0,
            least_samples: 0,
            hold: 0,
            parameters: Parameters::default(),
        }
    }
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { weight: 1e-4, per_sample: 0.0, base_low: 0.0, base_high: 100.0 }
    }
}

impl Default for Behaviours {
    fn default() -> Behaviours {
        Behaviours { kind: Behaviour::Truthful, factor: 1.0, share: 0.0 }
    }
}
