//! Auctions that buy information: who takes part in a round, and what each is paid.
//!
//! A checked [`Round`] goes in, an [`Outcome`] comes out of a [`Mechanism`]. The worth of a set of
//! clients is the log determinant of the ridge Gram matrix with their data, measured once, in integer
//! [`Information`] units; from there on every comparison and every payment is exact integer arithmetic.
//!
//! To add a mechanism, write a file here that implements [`Mechanism`] and has an `ENTRY`, and add its module, its type
//! and its entry to the lists below. Its parameters stand in its own file; everything else reads the [`catalog`].
//!
//! Not here: collecting data ([`crate::bandit`]), moving funds.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::Amount;

mod bound;
mod branches;
mod budget;
pub mod catalog;
mod certify;
mod client;
mod clock;
mod coverage;
mod document;
mod everyone;
mod greedy;
mod greedy_v2;
mod inc_feducb;
mod information;
mod kernel;
mod meter;
mod outcome;
mod parameter;
mod path;
mod ratchet;
mod ratio;
mod round;
mod setting;
mod sum_tree;
mod target;
mod truth_fedban;
mod vcg;
mod walk;

#[cfg(test)]
mod testing;

pub use certify::{CertificateError, Violation, certify};
pub use client::{ClientId, ClientIdError};
pub use clock::{Active, Clock, ClockStep, Rejection};
pub use coverage::{Coverage, CoverageError};
pub use document::{DocumentError, ROUND_SCHEMA, RoundDocument};
pub use everyone::Everyone;
pub use greedy::Greedy;
pub use greedy_v2::GreedyV2;
pub use inc_feducb::IncFedUcb;
pub use information::Information;
pub use outcome::{Evaluations, Outcome, PaymentRule, Winner};
pub use parameter::{Kind, Parameter, ParameterError, Reason, Value};
pub use ratchet::Ratchet;
pub use round::{Offer, Round, RoundError, RoundSpec, Seat};
pub use setting::{MechanismSetting, RawMechanism, SettingError};
pub use truth_fedban::TruthFedBan;
pub use vcg::Vcg;

/// What [`catalog::entries`] lists, baselines first.
static MECHANISMS: &[catalog::Entry] = &[
    everyone::ENTRY,
    inc_feducb::ENTRY,
    truth_fedban::ENTRY,
    greedy::ENTRY,
    greedy_v2::ENTRY,
    ratchet::ENTRY,
    clock::ENTRY,
    vcg::ENTRY,
];

/// Chooses who takes part and what each is paid.
///
/// Implement it in your own crate to run, certify and compare a mechanism of your own:
/// `examples/own_mechanism.rs` does.
pub trait Mechanism: Send + Sync {
    /// The name, as on the command line.
    fn name(&self) -> &str;

    /// The parameters it runs with, by name. Counterexamples record them.
    fn parameters(&self) -> BTreeMap<String, Value> {
        BTreeMap::new()
    }

    /// Winners and payments, or why the mechanism gives up on this round.
    fn run(&self, round: &Round) -> Result<Outcome, Refusal>;

    /// Only who wins, by seat in ascending order. Must agree with [`Mechanism::run`]; override it where
    /// choosing is cheaper than choosing and pricing, as certifying calls it twice for every winner.
    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        Ok(self.run(round)?.winners().iter().map(|winner| winner.seat).collect())
    }

    /// Whether each of these clients would win with its ask, if nobody else changed its own: [`Mechanism::select`] for one after
    /// another. Override it where many can share what they have in common. It must not use what pricing uses: certifying
    /// calls it to check the prices, and compares some of its answers with [`Mechanism::select`].
    fn wins(&self, round: &Round, asks: &[(Seat, Amount)]) -> Result<Vec<bool>, Refusal> {
        asks.par_iter().map(|&(seat, ask)| Ok(self.select(&round.with_seat_ask(seat, ask))?.contains(&seat))).collect()
    }
}

/// A mechanism that several own runs as itself.
impl<M: Mechanism + ?Sized> Mechanism for Arc<M> {
    fn name(&self) -> &str {
        self.as_ref().name()
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        self.as_ref().parameters()
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        self.as_ref().run(round)
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        self.as_ref().select(round)
    }
}

/// Why a mechanism gave up on a round.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Caller: the search is too large; allow more nodes, or use another mechanism.
    #[error(
        "the exact search visited its limit of {limit} nodes for {clients} clients without proving an \
         optimum: raise the node limit, or take a mechanism that does not search, such as clock"
    )]
    TooManyNodes { clients: usize, limit: u64 },
    /// Caller: the exact search keeps sets in 128-bit words.
    #[error(
        "the exact search takes at most {limit} clients, the round has {clients}: take a mechanism that \
         does not search, such as clock"
    )]
    TooManyClients { clients: usize, limit: usize },
    /// Caller: allow more work, or have less: members that are alike take most.
    #[error(
        "the auction takes more than its limit of {limit} multiplications: raise the limit (`work` in the terms of a \
         federation), have fewer offers in a round, or take a mechanism that needs less, such as clock"
    )]
    TooMuchWork { limit: u64 },
    /// Caller: take a mechanism that keeps to a purse, or none.
    #[error("the round has a purse, which this mechanism cannot keep to: take clock, or no purse")]
    KnowsNoPurse,
    /// Whatever reason a mechanism of your own has.
    #[error("{0}")]
    Other(String),
}
