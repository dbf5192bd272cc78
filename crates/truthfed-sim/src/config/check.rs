//! From what is written down to what is valid.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use truthfed::Amount;
use truthfed::auction::catalog;
use truthfed::auction::{Kind, Mechanism, MechanismSetting, Value};
use truthfed::bandit;
use truthfed::protocol::{
    CoverageRule, CoverageSetting, Quality, QualityRule, Quota, RawTerms, SamplesSetting, Since, Strikes, Terms,
    TermsError, Trigger, communication_threshold,
};
use truthfed::statistics::MAX_OBSERVATION;

use super::raw::{Behaviour, Learning, LikedSetting, RawConfig, Rounds, Threshold, World};
use super::{ALONE, Parts};
use crate::world::{ArmLaw, Arrivals, Features, Liked};

/// How long a step takes.
pub(crate) const STEP_MS: u64 = 1000;

#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    raw: RawConfig,
    terms: Terms,
    pub(crate) arms: Arms,
    /// From which value on an item is liked, where the arms are the items of a log of ratings.
    pub(crate) liked: Option<Liked>,
    pub(crate) features: Features,
    pub(crate) arrivals: Arrivals,
    parts: Parts,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arms {
    Law(ArmLaw),
    /// A file of arms, or a log of ratings where [`Config::liked`] is set.
    File(PathBuf),
}

/// Why a configuration is refused. All of them are the writer's to mend.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// Not TOML, an unknown key, or a wrong type; the message points at the place.
    #[error("{0}")]
    Toml(String),
    #[error("{}{key} {problem}", line.map_or(String::new(), |line| format!("line {line}: ")))]
    Value {
        /// The key, such as `world.clients`.
        key: String,
        problem: String,
        line: Option<usize>,
    },
    /// A `key=value` of the command line is not of that form.
    #[error("`{0}` is not of the form section.key=value, such as world.clients=50")]
    Override(String),
}

impl From<toml::de::Error> for ConfigError {
    fn from(error: toml::de::Error) -> ConfigError {
        ConfigError::Toml(error.to_string())
    }
}

/// Milliseconds that offers and deliveries are waited for; a step of the simulation is a second.
const DEADLINE_MS: u64 = 100;

impl Config {
    /// Reads TOML, changes the given `section.key=value` pairs, and checks the result. The error names the key, what is
    /// allowed, and the line.
    pub fn read(text: &str, overrides: &[String]) -> Result<Config, ConfigError> {
        Config::read_with(text, overrides, &Parts::default())
    }

    /// The same with mechanisms, a cost or a world of the caller's own.
    pub fn read_with(text: &str, overrides: &[String], parts: &Parts) -> Result<Config, ConfigError> {
        // The text itself first: its errors carry the place.
        toml::from_str::<RawConfig>(text)?;
        let mut table: toml::Table = toml::from_str(text)?;
        overrides.iter().try_for_each(|change| set(&mut table, change))?;
        let raw = from_table(table).map_err(ConfigError::Toml)?;
        Config::check(raw, parts).map_err(|error| locate(text, error))
    }

    pub fn raw(&self) -> &RawConfig {
        &self.raw
    }

    /// What the members agreed on. Under a mechanism of the caller's own, or none, it names the default one.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The mechanism that decides rounds: one of the catalog, or the caller's own.
    pub fn mechanism(&self) -> Box<dyn Mechanism> {
        match self.parts.mechanism(&self.raw.rounds.mechanism) {
            Some(own) => Box::new(own),
            None => self.terms.mechanism(),
        }
    }

    /// Whether there are rounds at all.
    pub fn communicates(&self) -> bool {
        self.raw.rounds.mechanism != ALONE
    }

    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Whether anything that decides a run is the caller's own.
    pub(crate) fn has_own_parts(&self) -> bool {
        let parts = &self.parts;
        parts.has_cost() || parts.has_world() || parts.mechanism(&self.raw.rounds.mechanism).is_some()
    }

    /// Checks what is written down. Mechanisms, a cost and a world of the caller's own are among the parts.
    pub fn check(raw: RawConfig, parts: &Parts) -> Result<Config, ConfigError> {
        let RawConfig { world, learning, rounds, costs, faults, behaviour } = &raw;
        within("world.clients", world.clients, 1, 100_000)?;
        within("world.dimension", world.dimension, 1, 512)?;
        within("world.steps", world.steps, 1, 1_000_000_000)?;
        within("world.arm_count", world.arm_count, 1, 10_000_000)?;
        within("world.arms_per_step", world.arms_per_step, 1, 100_000)?;
        within("world.noise", world.noise, 0.0, 1e3)?;
        within("world.heterogeneity", world.heterogeneity, 0.0, 100.0)?;
        within("world.drift", world.drift, 0.0, 100.0)?;
        if !(world.catalogue > 0.0 && world.catalogue <= 1.0) {
            return Err(wrong("world.catalogue", format!("is {}: it must be above 0 and at most 1", world.catalogue)));
        }
        within("learning.lambda", learning.lambda, 1e-9, 1e9)?;
        within("learning.sigma", learning.sigma, 0.0, 1e9)?;
        within("learning.delta", learning.delta, 1e-12, 1.0 - 1e-12)?;
        within("costs.weight", costs.weight, 0.0, 1e9)?;
        within("costs.per_sample", costs.per_sample, 0.0, 1e9)?;
        within("costs.base_low", costs.base_low, 0.0, 1e9)?;
        within("costs.base_high", costs.base_high, costs.base_low, 1e9)?;
        within("faults.offline", faults.offline, 0.0, 1.0)?;
        within("faults.dropout", faults.dropout, 0.0, 1.0)?;
        within("behaviour.share", behaviour.share, 0.0, 1.0)?;
        within("behaviour.factor", behaviour.factor, 0.0, 1e6)?;
        let wrong_side =
            |bound: &str| wrong("behaviour.factor", format!("is {}: it must be {bound}", behaviour.factor));
        match behaviour.kind {
            Behaviour::Over if behaviour.factor <= 1.0 => return Err(wrong_side("above 1 for over")),
            Behaviour::Under if behaviour.factor >= 1.0 => return Err(wrong_side("below 1 for under")),
            _ => {}
        }
        if rounds.least_samples > world.steps {
            let problem =
                format!("is {}: it must lie in 0..={}, the steps of the world", rounds.least_samples, world.steps);
            return Err(wrong("rounds.least_samples", problem));
        }
        let (dimension, Learning { lambda, sigma, delta }) = (world.dimension, *learning);
        let terms = RawTerms {
            bandit: bandit::RawConfig { dimension, lambda, sigma, delta },
            trigger: trigger(&raw)?,
            coverage: rounds.coverage.clone(),
            reserve: amount("rounds.reserve", rounds.reserve)?,
            purse: Some(amount("rounds.purse", rounds.purse)?).filter(|purse| *purse > Amount::ZERO),
            daily_purse: None,
            // Arms of unit length, however they are rounded.
            norm: 1.0 + 1e-9,
            // Wide open: the simulator's members may lie about their costs, but their data is what they observed.
            reward: MAX_OBSERVATION,
            // Nobody can have more.
            samples: world.steps,
            least_samples: SamplesSetting::Samples(rounds.least_samples),
            capacity: SamplesSetting::auto(),
            quota: quota(rounds.quota, world.clients)?,
            quality: quality(rounds.hold)?,
            offers_ms: DEADLINE_MS,
            deliveries_ms: DEADLINE_MS,
            // The paper knows neither.
            gap_ms: 0,
            // A run may take its time.
            work: Terms::MAX_WORK,
            strikes: Strikes { rounds: 0, ..Strikes::default() },
            mechanism: mechanism(rounds, parts)?.into(),
        };
        let terms: Terms = terms.try_into().map_err(|error: TermsError| wrong("rounds", error.to_string()))?;
        if world.steps > terms.capacity() {
            let problem = format!(
                "is {}: with learning.lambda {} at most {} observations can be told from rounding",
                world.steps,
                learning.lambda,
                terms.capacity()
            );
            return Err(wrong("world.steps", problem));
        }
        Ok(Config {
            arms: arms(world),
            liked: Some(liked(&world.liked)?).filter(|_| !world.ratings.is_empty()),
            features: features(&world.features)?,
            arrivals: arrivals(&world.arrivals)?,
            terms,
            raw,
            parts: parts.clone(),
        })
    }
}

impl TryFrom<RawConfig> for Config {
    type Error = ConfigError;

    fn try_from(raw: RawConfig) -> Result<Config, ConfigError> {
        Config::check(raw, &Parts::default())
    }
}

fn arms(world: &World) -> Arms {
    match (world.ratings.as_str(), world.arms.as_str()) {
        ("", "decaying") => Arms::Law(ArmLaw::Decaying),
        ("", "sphere") => Arms::Law(ArmLaw::Sphere),
        ("", "cube") => Arms::Law(ArmLaw::Cube),
        ("", path) | (path, _) => Arms::File(Path::new(path).to_owned()),
    }
}

fn liked(setting: &LikedSetting) -> Result<Liked, ConfigError> {
    match setting {
        LikedSetting::Value(value) => within("world.liked", *value, -1e15, 1e15).map(|()| Liked::AtLeast(*value)),
        LikedSetting::Rule(rule) if rule == "median" => Ok(Liked::Median),
        LikedSetting::Rule(other) => Err(one_of("world.liked", other, &["median", "a number"])),
    }
}

fn features(features: &str) -> Result<Features, ConfigError> {
    match features {
        "likes" => Ok(Features::Likes),
        "held-out" => Ok(Features::HeldOut),
        other => Err(one_of("world.features", other, &["likes", "held-out"])),
    }
}

fn arrivals(arrivals: &str) -> Result<Arrivals, ConfigError> {
    match arrivals {
        "in-turn" => Ok(Arrivals::InTurn),
        "uniform" => Ok(Arrivals::Uniform),
        "poisson" => Ok(Arrivals::Poisson),
        "day-and-night" => Ok(Arrivals::DayAndNight),
        other => Err(one_of("world.arrivals", other, &["in-turn", "uniform", "poisson", "day-and-night"])),
    }
}

fn coverage(setting: &CoverageSetting) -> Result<CoverageRule, ConfigError> {
    CoverageRule::try_from(setting).map_err(|_| match setting {
        CoverageSetting::Ratio(ratio) => {
            wrong("rounds.coverage", format!("is {ratio}: it must be above 0 and at most 1"))
        }
        CoverageSetting::Rule(other) => one_of("rounds.coverage", other, &["monopoly-free", "a number"]),
    })
}

fn trigger(raw: &RawConfig) -> Result<Trigger, ConfigError> {
    let coverage = coverage(&raw.rounds.coverage)?;
    let since = match raw.rounds.trigger.as_str() {
        "since-round" => Since::Round,
        "since-delivery" => Since::Delivery,
        other => return Err(one_of("rounds.trigger", other, &["since-round", "since-delivery"])),
    };
    let threshold = match &raw.rounds.threshold {
        Threshold::Number(number) => {
            within("rounds.threshold", *number, 0.0, 1e12)?;
            *number
        }
        Threshold::Rule(rule) if rule == "formula" => {
            let log_coverage = match coverage {
                CoverageRule::Fixed(coverage) => coverage.log(),
                // The target changes from round to round: the threshold is that of the usual one.
                CoverageRule::MonopolyFree => libm::log(0.5),
            };
            let world = &raw.world;
            communication_threshold(world.steps, world.clients, world.dimension, raw.learning.lambda, log_coverage)
        }
        Threshold::Rule(other) => return Err(one_of("rounds.threshold", other, &["formula", "a number"])),
    };
    // As in the paper, whose clients are honest about when they have enough. Where they offer a part of their
    // data, that part counts.
    Ok(Trigger { since, threshold, checked: raw.rounds.quota > 0.0 || raw.rounds.least_samples > 1 })
}

/// The mechanism with its own parameters; those of the others are checked too. The default one, if it is the caller's own or none.
fn mechanism(rounds: &Rounds, parts: &Parts) -> Result<MechanismSetting, ConfigError> {
    let name = rounds.mechanism.as_str();
    let names: Vec<&str> = catalog::names().into_iter().chain([ALONE]).chain(parts.mechanisms()).collect();
    if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        return Err(wrong("rounds.mechanism", format!("can name two of `{}`: give yours another name", twice.1)));
    }
    let mut setting = match MechanismSetting::named(name) {
        Ok(setting) => setting,
        Err(_) if names.contains(&name) => MechanismSetting::default(),
        Err(_) => return Err(one_of("rounds.mechanism", name, &names)),
    };
    let known = catalog::parameters();
    for (name, value) in &rounds.parameters.0 {
        let key = format!("rounds.{name}");
        let Some((parameter, _)) = known.iter().find(|(parameter, _)| parameter.name == name) else {
            return Err(wrong(&key, "is an unknown field: neither a setting of rounds nor of a mechanism".to_owned()));
        };
        let value = match (parameter.kind, value.clone()) {
            (Kind::Amount { .. }, Value::Real(units)) => Value::Amount(amount(&key, units)?),
            (_, value) => value,
        };
        let value = parameter.check(value).map_err(|error| wrong(&key, error.problem()))?;
        if setting.entry().parameter(name).is_some() {
            setting = setting.with(name, value).map_err(|error| wrong(&key, error.problem()))?;
        }
    }
    Ok(setting)
}

fn amount(key: &str, units: f64) -> Result<Amount, ConfigError> {
    units.to_string().parse().map_err(|error: truthfed::AmountError| wrong(key, format!("is {units}: {error}")))
}

fn within<T: PartialOrd + Display + Copy>(key: &str, value: T, low: T, high: T) -> Result<(), ConfigError> {
    match (low..=high).contains(&value) {
        true => Ok(()),
        false => Err(wrong(key, format!("is {value}: it must lie between {low} and {high}"))),
    }
}

fn one_of(key: &'static str, value: &str, allowed: &[&str]) -> ConfigError {
    wrong(key, format!("is `{value}`: it must be one of {}", allowed.join(", ")))
}

fn wrong(key: &str, problem: String) -> ConfigError {
    ConfigError::Value { key: key.to_owned(), problem, line: None }
}

/// Changes one `section.key=value` of a table; the value is TOML, or else a plain string.
fn set(table: &mut toml::Table, change: &str) -> Result<(), ConfigError> {
    let malformed = || ConfigError::Override(change.to_owned());
    let (path, value) =
        change.split_once('=').map(|(path, value)| (path.trim(), value.trim())).ok_or_else(malformed)?;
    let parsed = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
    let value = parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| toml::Value::from(value));
    put(table, path, value).ok_or_else(malformed)
}

/// Sets the value at a path `section.key`, or deeper; `None` if the path is not of that form.
pub(crate) fn put(table: &mut toml::Table, path: &str, value: toml::Value) -> Option<()> {
    let (section, rest) = path.split_once('.')?;
    let section = table.entry(section).or_insert_with(|| toml::Table::new().into()).as_table_mut()?;
    if rest.contains('.') {
        return put(section, rest, value);
    }
    section.insert(rest.to_owned(), value);
    Some(())
}

/// The configuration in a table, or what is wrong with it. Tables carry no places.
pub(crate) fn from_table(table: toml::Table) -> Result<RawConfig, String> {
    table.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}

/// Adds the line of the text that has the key of an error, or the header of its table.
fn locate(text: &str, error: ConfigError) -> ConfigError {
    let ConfigError::Value { key, problem, .. } = error else { return error };
    let find = || {
        let root = DeValue::Table(DeTable::parse(text).ok()?.into_inner());
        let mut parts = key.split('.');
        let first = root.get(parts.next()?)?;
        let found = parts.try_fold(first, |value, part| value.get_ref().get(part))?;
        Some(line_at(text, found.span().start))
    };
    ConfigError::Value { line: find(), key, problem }
}

/// The number, from 1, of the line that has a byte of a text.
pub(crate) fn line_at(text: &str, byte: usize) -> usize {
    text[..byte].matches('\n').count() + 1
}

/// So many times what a client collects on average, where one of them acts in each step. A client with two identities has half
/// of it for each, so that it is even.
fn quality(hold: u64) -> Result<Quality, ConfigError> {
    if hold == 0 {
        return Ok(Quality::default());
    }
    within("rounds.hold", hold, 0, 1_000_000)?;
    Ok(Quality { rule: QualityRule::Hold, rounds: hold })
}

fn quota(multiple: f64, clients: usize) -> Result<Quota, ConfigError> {
    if multiple == 0.0 {
        return Ok(Quota::default());
    }
    if !(0.001..=1000.0).contains(&multiple) {
        return Err(wrong("rounds.quota", format!("is {multiple}: it must be 0, or lie between 0.001 and 1000")));
    }
    let samples = 2 * (1000.0 * multiple).round() as u64;
    Ok(Quota { samples, per_ms: 2000 * STEP_MS * clients as u64, ..Quota::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::default_toml;

    #[test]
    fn the_commented_defaults_are_the_defaults_and_have_every_key() {
        let written: toml::Table = toml::from_str(&default_toml()).unwrap();
        assert_eq!(written, toml::Table::try_from(RawConfig::default()).unwrap());
        let raw: RawConfig = written.try_into().unwrap();
        assert_eq!((&raw, Config::read("", &[]).unwrap().raw()), (&RawConfig::default(), &raw));
    }

    fn check_refused(text: &str, expected: &str) {
        let error = Config::read(text, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn wrong_values_are_named_with_their_line_and_what_is_allowed() {
        check_refused("[world]\n\nclients = 0", "line 3: world.clients is 0: it must lie between 1 and 100000");
        check_refused("[world]\narrivals = \"x\"", "line 2: world.arrivals is `x`: it must be one of in-turn, uniform");
        check_refused(
            "[rounds]\nmechanism = \"x\"",
            "line 2: rounds.mechanism is `x`: it must be one of everyone, inc-feducb",
        );
        check_refused("[rounds]\ncoverage = 2", "rounds.coverage is 2: it must be above 0 and at most 1");
        check_refused("[rounds]\ncoverage = \"x\"", "it must be one of monopoly-free, a number");
        check_refused("[world]\nliked = \"x\"", "line 2: world.liked is `x`: it must be one of median, a number");
        check_refused("[world]\nliked = nan", "world.liked is NaN: it must lie between");
        check_refused("[world]\nfeatures = \"x\"", "world.features is `x`: it must be one of likes, held-out");
        check_refused("[world]\ncatalogue = 0", "line 2: world.catalogue is 0: it must be above 0 and at most 1");
        check_refused("[world]\ncatalogue = nan", "world.catalogue is NaN: it must be above 0");
        check_refused("[world]\nheterogeneity = -1", "world.heterogeneity is -1: it must lie between 0 and 100");
        check_refused("[world]\ndrift = 101", "world.drift is 101: it must lie between 0 and 100");
        check_refused("[rounds]\nreserve = -1.0", "rounds.reserve is -1");
        check_refused("[rounds]\nthreshold = -1", "rounds.threshold is -1: it must lie between 0");
        check_refused("[rounds]\nepsilon = 0.0", "rounds.epsilon is 0");
        check_refused("[rounds]\ngamma = 0.0", "rounds.gamma is 0: it must be above 0");
        check_refused("[rounds]\nfirst_budget = 0.0", "rounds.first_budget is 0: it must be above 0");
        check_refused("[rounds]\nfirst_budget = -1", "rounds.first_budget is -1: `-1` is negative");
        check_refused("[rounds]\n\nnode_limit = -1", "line 3: rounds.node_limit is -1: it must be a whole number");
        check_refused(
            "[rounds]\ntarget = \"lax\"",
            "rounds.target is `lax`: it must be one of printed, normalised, plain",
        );
        check_refused("[rounds]\ndata_incentive = 1", "rounds.data_incentive is 1: it must be true or false");
        check_refused("[rounds]\nspeed = 1", "line 2: rounds.speed is an unknown field");
        check_refused("[costs]\nbase_low = 5.0\nbase_high = 1.0", "costs.base_high is 1: it must lie between 5");
        check_refused("[learning]\nlambda = nan", "learning.lambda is NaN");
        check_refused(
            "[behaviour]\nkind = \"over\"\nfactor = 0.5",
            "behaviour.factor is 0.5: it must be above 1 for over",
        );
        check_refused("[behaviour]\nkind = \"under\"", "behaviour.factor is 1: it must be below 1 for under");
        check_refused("[world]\nclient = 3", "unknown field `client`");
        check_refused("world = { steps = 1,\n clients = 0 }", "line 2: world.clients is 0");
        check_refused("[world]\nclients = \"many\"", "line 2");
        check_refused("world", "line 1");
    }

    #[test]
    fn the_command_line_changes_single_keys() {
        let changes = ["world.clients=7", "rounds.mechanism=greedy", "rounds.coverage=monopoly-free"];
        let config = Config::read("[world]\nclients = 3", &changes.map(str::to_owned)).unwrap();
        assert_eq!((config.raw().world.clients, config.terms().mechanism().name()), (7, "greedy"));
        let refused = |change: &str| Config::read("", &[change.to_owned()]).unwrap_err().to_string();
        let limited = Config::read("", &["rounds.mechanism=vcg", "rounds.node_limit=7"].map(str::to_owned)).unwrap();
        assert_eq!(limited.terms().mechanism().parameters(), [("node_limit".to_owned(), Value::Count(7))].into());
        let read =
            Config::read("", &["rounds.mechanism=greedy-v2", "rounds.target=normalised"].map(str::to_owned)).unwrap();
        assert_eq!(read.terms().mechanism().parameters(), [("target".to_owned(), Value::from("normalised"))].into());
        assert!(refused("clients").contains("not of the form"));
        assert!(refused("world.nothing=1").contains("unknown field"));
        assert!(refused("world.clients=0").contains("world.clients is 0"));
    }
}
