//! Faults put in on purpose, one at a time, to show that the tests would find them.
//!
//! Only with the feature `planted-faults`, and never in a release. One fault is planted for the whole process: tests that
//! plant run one after the other.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::Amount;

#[cfg(not(debug_assertions))]
compile_error!("the feature `planted-faults` breaks the software on purpose: it is for tests only");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// A repeated request is taken as a new one.
    NoIdempotency = 1,
    /// Requests are answered before what they change is committed.
    AcknowledgedBeforeCommit,
    /// SQLite syncs at its checkpoints only.
    SyncNormal,
    /// Winners are paid without having delivered.
    PaidBeforeDelivery,
    /// The ratchet's budgets start at the smallest ask.
    BudgetFromSmallestAsk,
    /// Winners are paid the midpoint at which a bisection stopped.
    PaidMidpoint,
    /// A message signed for one round is taken in another.
    RoundNotSigned,
    /// A snapshot is added to what is known instead of replacing it.
    SnapshotTwice,
    /// What was offered stays with what is unshared.
    InFlightForgotten,
    /// Payments are posted when they are awarded, and not when they are settled.
    PostedBeforeSettled,
    /// Rounds open one after another without pause.
    GapIgnored,
    /// Any offer opens a round.
    TriggerIgnored,
    /// Nobody is excluded for not delivering.
    StrikesIgnored,
    /// Phases end a little before their time.
    PhaseCutShort,
    /// Rounds open although the daily purse is spent.
    PurseIgnored,
    /// Offers may have more samples than the quota.
    QuotaIgnored,
    /// Payments wait for a round, whether others deliver in it or not.
    PaidUnconfirmed,
    /// Nothing contradicts anything.
    AnythingBelieved,
    /// Payouts may be of more than is owed.
    OwedIgnored,
    /// Rounds open although the operator paused them.
    PauseIgnored,
    /// The bodies of all members together have the bytes that each of them should have.
    OneBudget,
}

impl Fault {
    pub const ALL: [Fault; 21] = [
        Fault::NoIdempotency,
        Fault::AcknowledgedBeforeCommit,
        Fault::SyncNormal,
        Fault::PaidBeforeDelivery,
        Fault::BudgetFromSmallestAsk,
        Fault::PaidMidpoint,
        Fault::RoundNotSigned,
        Fault::SnapshotTwice,
        Fault::InFlightForgotten,
        Fault::PostedBeforeSettled,
        Fault::GapIgnored,
        Fault::TriggerIgnored,
        Fault::StrikesIgnored,
        Fault::PhaseCutShort,
        Fault::PurseIgnored,
        Fault::QuotaIgnored,
        Fault::PaidUnconfirmed,
        Fault::AnythingBelieved,
        Fault::OwedIgnored,
        Fault::PauseIgnored,
        Fault::OneBudget,
    ];
}

/// The fault that is planted; 0 for none.
static PLANTED: AtomicU8 = AtomicU8::new(0);

/// Plants a fault, or takes out the one that is there.
pub fn plant(fault: Option<Fault>) {
    PLANTED.store(fault.map_or(0, |fault| fault as u8), Ordering::SeqCst);
}

pub fn is(fault: Fault) -> bool {
    PLANTED.load(Ordering::SeqCst) == fault as u8
}

/// Where a bisection between 0 and the reserve for the critical value stops after ten steps.
pub(crate) fn midpoint(critical: Amount, reserve: Amount) -> Amount {
    let (mut low, mut high) = (0, reserve.micros());
    for _ in 0..10 {
        let middle = i64::midpoint(low, high);
        if middle <= critical.micros() { low = middle } else { high = middle }
    }
    Amount::saturating(i128::from(i64::midpoint(low, high)))
}
