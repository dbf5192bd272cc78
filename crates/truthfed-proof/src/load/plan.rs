//! How much is done.

use std::time::Duration;

/// How much is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub bursts: Vec<usize>,
    /// Agents of the rounds that are attacked.
    pub honest: usize,
    /// Connections that are slow or half open.
    pub hostile: usize,
    /// How long rounds go on, quiet and under each attack.
    pub attacked: Duration,
    /// Entries of the long journal.
    pub rows: u64,
    /// Members whose rounds fill it.
    pub members: usize,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            bursts: vec![1000, 5000],
            honest: 50,
            hostile: 2000,
            // Longer than a handshake may take, so that attackers are thrown out and come again meanwhile.
            attacked: Duration::from_secs(15),
            rows: 1_000_000,
            members: 1000,
        }
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
