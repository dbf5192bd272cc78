//! How much is done.

use clap::Args;
use truthfed_node::coordinator::LEASE_MS;

#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct Plan {
    /// Agents of each burst
    #[arg(long = "agents", value_name = "N", value_delimiter = ',', default_values_t = Plan::default().bursts, value_parser = at_least_two)]
    pub bursts: Vec<usize>,

    // Agents of the rounds that are attacked.
    #[arg(skip = Plan::default().honest)]
    pub honest: usize,

    /// Slow and half open connections of an attack
    #[arg(long, value_name = "N", default_value_t = Plan::default().hostile)]
    pub hostile: usize,

    /// How long rounds go on, quiet and under each attack
    #[arg(long = "attacked", value_name = "SECONDS", default_value_t = Plan::default().attacked_s)]
    pub attacked_s: u64,

    /// Dimension of the rounds with hostile members, and of the auction in which a standby takes over
    #[arg(long, value_name = "N", default_value_t = Plan::default().dimension, value_parser = wide)]
    pub dimension: usize,

    // Honest agents of the rounds with hostile members.
    #[arg(skip = Plan::default().wide_honest)]
    pub wide_honest: usize,

    /// How long rounds with hostile members go on, and as long without them
    #[arg(long = "wide", value_name = "SECONDS", default_value_t = Plan::default().wide_s)]
    pub wide_s: u64,

    /// Stalled connections beside hostile members
    #[arg(long, value_name = "N", default_value_t = Plan::default().strangers)]
    pub strangers: usize,

    /// Members of the auction in which a standby takes over: enough to make it longer than the lease
    #[arg(long, value_name = "N", default_value_t = Plan::default().bidders, value_parser = at_least_two)]
    pub bidders: usize,

    // Lease of the coordinators of which one takes over.
    #[arg(skip = Plan::default().lease_ms)]
    pub lease_ms: u64,

    /// How long the database is away
    #[arg(long = "outage", value_name = "SECONDS", default_value_t = Plan::default().outage_s, value_parser = clap::value_parser!(u64).range(4..=120))]
    pub outage_s: u64,

    /// Entries of the long journal
    #[arg(long, value_name = "N", default_value_t = Plan::default().rows)]
    pub rows: u64,

    /// Members of the long journal, and of the page
    #[arg(long, value_name = "N", default_value_t = Plan::default().members, value_parser = at_least_two)]
    pub members: usize,

    /// Rounds of the page
    #[arg(long = "rounds", value_name = "N", default_value_t = Plan::default().rounds, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub rounds: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            bursts: vec![1000, 5000],
            honest: 50,
            hostile: 2000,
            // Longer than a handshake may take, so that attackers are thrown out and come again meanwhile.
            attacked_s: 15,
            dimension: 512,
            wide_honest: 8,
            wide_s: 60,
            strangers: 1000,
            bidders: 40,
            lease_ms: LEASE_MS,
            outage_s: 60,
            rows: 1_000_000,
            members: 1000,
            rounds: 10_000,
        }
    }
}

fn at_least_two(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 2..=10_000) => Ok(count),
        _ => Err("it must be a number from 2 to 10000".to_owned()),
    }
}

fn wide(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 2..=512) => Ok(count),
        _ => Err("it must be a number from 2 to 512".to_owned()),
    }
}

/// The most that p99 of a durable acknowledgement may take in a burst of so many, in milliseconds: a quarter of a second for
/// the first thousand, as much for every further eight hundred.
pub fn burst_bound_ms(agents: usize) -> f64 {
    match agents {
        0..=1000 => 250.0,
        _ => 250.0 + (agents - 1000) as f64 * 0.3125,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_a_thousand_has_a_quarter_of_a_second_and_one_of_five_thousand_one_and_a_half() {
        assert_eq!([20, 1000, 5000].map(burst_bound_ms), [250.0, 250.0, 1500.0]);
    }
}
