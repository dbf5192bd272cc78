//! All mechanisms, with what each claims.

use super::{
    Clock, Everyone, Greedy, GreedyV2, IncFedUcb, Mechanism, Ratchet, RatchetError, TruthFedBan, TruthFedBanError, Vcg,
};
use crate::Amount;

/// How far a property is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// It holds; the tests try to refute it.
    Yes,
    /// It holds up to the named limit.
    Partly(&'static str),
    /// It does not hold.
    No,
    /// The question does not arise.
    NotApplicable,
}

/// A mechanism and what is said of it.
pub struct Entry {
    /// The mechanism with its default parameters.
    pub mechanism: Box<dyn Mechanism>,
    /// One line: what it is.
    pub summary: &'static str,
    /// The target, in terms of the coverage c.
    pub target: &'static str,
    /// No winner is paid less than it asked.
    pub individually_rational: Claim,
    /// The true cost is every client's best ask.
    pub truthful: Claim,
    /// No group can lie so that each of its members gains.
    pub collusion_proof: Claim,
    /// The winners are the cheapest set that meets the round's coverage.
    pub optimal: Claim,
}

/// Parameters of the mechanisms that have any, checked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parameters {
    /// Of `ratchet`.
    pub ratchet: Ratchet,
    /// Of `truth-fedban`.
    pub truth_fedban: TruthFedBan,
    /// Of `inc-feducb`.
    pub inc_feducb: IncFedUcb,
    /// Of `vcg`.
    pub vcg: Vcg,
}

/// The numbers that make [`Parameters`], not yet checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RawParameters {
    /// Of `truth-fedban` and `ratchet`: budgets grow by 1 + epsilon. Default 1.
    pub epsilon: f64,
    /// Of `ratchet`: the first budget. Default 0.01.
    pub first_budget: Amount,
    /// Of `truth-fedban`: the bisection of a payment stops within this. Default 1.
    pub gamma: Amount,
    /// Of `inc-feducb`: whether received data counts as part of the payment. Default no.
    pub data_incentive: bool,
    /// Of `vcg`: most nodes a search may visit. Default 300,000.
    pub node_limit: u64,
}

/// Why parameters are refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ParametersError {
    /// Caller: of `ratchet`.
    #[error(transparent)]
    Ratchet(#[from] RatchetError),
    /// Caller: of `truth-fedban`.
    #[error(transparent)]
    TruthFedBan(#[from] TruthFedBanError),
}

impl Default for RawParameters {
    fn default() -> RawParameters {
        RawParameters {
            epsilon: 1.0,
            first_budget: Amount::saturating(10_000),
            gamma: Amount::from_units(1),
            data_incentive: false,
            node_limit: Vcg::default().node_limit,
        }
    }
}

impl TryFrom<RawParameters> for Parameters {
    type Error = ParametersError;

    fn try_from(raw: RawParameters) -> Result<Parameters, ParametersError> {
        Ok(Parameters {
            ratchet: Ratchet::new(raw.first_budget, raw.epsilon)?,
            truth_fedban: TruthFedBan::new(raw.epsilon, raw.gamma)?,
            inc_feducb: IncFedUcb { data_incentive: raw.data_incentive },
            vcg: Vcg { node_limit: raw.node_limit },
        })
    }
}

/// The name of the default mechanism.
pub const DEFAULT: &str = "clock";

/// Every mechanism with default parameters, baselines first.
pub fn all() -> Vec<Entry> {
    with(Parameters::default())
}

/// Every mechanism with these parameters, baselines first.
pub fn with(parameters: Parameters) -> Vec<Entry> {
    use Claim::{No, NotApplicable, Partly, Yes};
    vec![
        Entry {
            mechanism: Box::new(Everyone),
            summary: "DisLinUCB: all take part, nobody is paid",
            target: "none",
            individually_rational: No,
            truthful: NotApplicable,
            collusion_proof: NotApplicable,
            optimal: No,
        },
        Entry {
            mechanism: Box::new(parameters.inc_feducb),
            summary: "Wei et al. 2023 (reconstructed): winners are paid what they ask",
            target: "c",
            individually_rational: match parameters.inc_feducb.data_incentive {
                true => Partly("counting data"),
                false => Yes,
            },
            truthful: No,
            collusion_proof: No,
            optimal: No,
        },
        Entry {
            mechanism: Box::new(parameters.truth_fedban),
            summary: "the paper's Algorithms 1, 2 and 7 as printed, bisected payments",
            target: "c^(1-1/e)",
            individually_rational: No,
            truthful: No,
            collusion_proof: No,
            optimal: No,
        },
        Entry {
            mechanism: Box::new(Greedy),
            summary: "the paper's Algorithm 3: best value first, critical payments",
            target: "c",
            individually_rational: Yes,
            truthful: Yes,
            collusion_proof: No,
            optimal: No,
        },
        Entry {
            mechanism: Box::new(GreedyV2),
            summary: "the paper's Algorithms 4 and 5: the greedy at a stricter target",
            target: "c^(1-1/e)",
            individually_rational: Yes,
            truthful: Yes,
            collusion_proof: No,
            optimal: No,
        },
        Entry {
            mechanism: Box::new(parameters.ratchet),
            summary: "Algorithm 1 mended: fixed budgets, once chosen stays chosen",
            target: "c",
            individually_rational: Yes,
            truthful: Yes,
            collusion_proof: No,
            optimal: No,
        },
        Entry {
            mechanism: Box::new(Clock),
            summary: "descending clock: the worst value leaves, prices fall (default)",
            target: "c",
            individually_rational: Yes,
            truthful: Yes,
            collusion_proof: Yes,
            optimal: No,
        },
        Entry {
            mechanism: Box::new(parameters.vcg),
            summary: "the exact optimum by branch and bound, Clarke payments",
            target: "c",
            individually_rational: Yes,
            truthful: Yes,
            collusion_proof: No,
            optimal: Yes,
        },
    ]
}

/// The mechanism of that name.
pub fn find(name: &str, parameters: Parameters) -> Option<Entry> {
    with(parameters).into_iter().find(|entry| entry.mechanism.name() == name)
}

/// The names of all mechanisms, in the order of [`all`].
pub fn names() -> Vec<&'static str> {
    all().iter().map(|entry| entry.mechanism.name()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_the_default_is_among_them() {
        let names = names();
        let expected = ["everyone", "inc-feducb", "truth-fedban", "greedy", "greedy-v2", "ratchet", "clock", "vcg"];
        assert_eq!(names, expected);
        assert!(names.iter().all(|name| find(name, Parameters::default()).is_some()));
        assert!(names.contains(&DEFAULT));
        assert!(find("nobody", Parameters::default()).is_none());
    }
}
