//! What the paper's algorithms require of a set of clients: three readings of one line.
//!
//! Algorithms 1 and 4 stop when g(S) >= (1 - 1/e) log c. As g and log c are at most 0, that is stricter than g(S) >= log c,
//! though the paper calls it a relaxation. Its proof uses that a greedy reaches 1 - 1/e of the best *gain*, which is a
//! statement about g(S) - g(nobody). So normalised, the line demands g(S) - g(nobody) >= (1 - 1/e) (log c - g(nobody)):
//! never more than log c asks for.

use super::parameter::{Kind, Parameter, Value};
use super::{Coverage, MechanismSetting, Round};

pub(super) const TARGET: Parameter = Parameter {
    name: "target",
    kind: Kind::Choice(&[PRINTED, NORMALISED, PLAIN]),
    help: "(1-1/e) log c as printed, the same normalised so that nobody's data is worth 0, or plain log c",
};

const PRINTED: &str = "printed";
const NORMALISED: &str = "normalised";
const PLAIN: &str = "plain";

/// How the line is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Printed,
    Normalised,
    Plain,
}

impl Target {
    pub(super) fn of(setting: &MechanismSetting) -> Target {
        match setting.choice(&TARGET).as_ref() {
            NORMALISED => Target::Normalised,
            PLAIN => Target::Plain,
            _ => Target::Printed,
        }
    }

    /// The parameter with this value.
    pub(super) fn parameter(self) -> (String, Value) {
        TARGET.with(match self {
            Target::Printed => PRINTED,
            Target::Normalised => NORMALISED,
            Target::Plain => PLAIN,
        })
    }

    /// The determinant ratio that the round's coverage becomes.
    pub(super) fn coverage(self, round: &Round) -> Coverage {
        let printed = round.coverage().pow(Coverage::STRICT);
        match self {
            Target::Printed => printed,
            Target::Plain => round.coverage(),
            Target::Normalised => {
                let nobody = (round.base_level() - round.total_level()).to_nats();
                let log = printed.log() + (1.0 - Coverage::STRICT) * nobody;
                Coverage::from_log(log.min(0.0)).expect("levels of a round are finite")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{one_dimensional, random_rounds};

    /// The base is 0.1, with all 1.1: nobody has a ratio of 1/11.
    #[test]
    fn half_of_everything_is_read_as_0_645_as_0_267_and_as_0_5() {
        let round = one_dimensional(0.5, &[("a", "3", 0.4), ("b", "5", 0.6)]);
        let ratio = |target: Target| target.coverage(&round).to_ratio();
        assert!((ratio(Target::Printed) - 0.645).abs() < 5e-4);
        let normalised = libm::pow(0.5, Coverage::STRICT) * libm::pow(11.0, Coverage::STRICT - 1.0);
        assert!((ratio(Target::Normalised) - normalised).abs() < 1e-12);
        assert!((normalised - 0.267).abs() < 5e-4);
        assert_eq!(ratio(Target::Plain), 0.5);
    }

    #[test]
    fn normalised_never_requires_more_than_plain_and_plain_never_more_than_printed() {
        for (seed, round) in random_rounds(500) {
            let [printed, plain, normalised] = [Target::Printed, Target::Plain, Target::Normalised]
                .map(|target| round.required(target.coverage(&round)));
            assert!(plain <= printed, "seed {seed}");
            assert!(normalised <= plain || normalised <= round.base_level(), "seed {seed}");
        }
    }
}
