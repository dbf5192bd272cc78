//! The protocol of a round, as two state machines without I/O.
//!
//! [`Coordinator`] opens rounds, takes offers, awards them by a mechanism, takes deliveries and settles.
//! [`Member`] decides and learns locally, asks for rounds, offers, delivers and takes over snapshots. Both are
//! driven by messages ([`Request`], [`Notice`]) and a clock that the driver hands in; the simulator, the network
//! service and an auditor drive the same two.
//!
//! A round: *open* (a member asks, all are told), *offers* (each sends its unshared Gram matrix, its number of
//! samples and its ask), *award* (the mechanism decides among those in time), *delivery* (winners send the moment
//! that belongs to the Gram matrix they offered), *settle* (what was delivered is added in the order of client
//! ids, unless it contradicts others'), *sync* (everyone takes over an absolute snapshot).
//!
//! Messages may be lost, late, repeated or out of order: each is refused or answered again without changing
//! anything, and a snapshot alone is enough to be whole again.
//!
//! Not here: identities, signatures, storage, money transfer.

mod blocks;
mod capacity;
mod checks;
mod conduct;
mod coordinator;
mod member;
mod message;
mod open;
mod purse;
mod quality;
mod quota;
mod rejection;
mod residual;
mod settlement;
mod share;
mod standing;
mod terms;
mod trigger;

pub use checks::{CheckedOffer, DeliveryError, OfferError};
pub use conduct::{Conduct, Strikes};
pub use coordinator::{Accepted, Coordinator, Input, Output};
pub use member::{Asking, InFlight, Member};
pub use message::{Notice, Request, RoundId, RoundIdError, Snapshot, Time};
pub use open::{OpenRound, SetAside};
pub use purse::Spent;
pub use quality::{Judgement, Quality, QualityRule};
pub use quota::{Bounds, Quota};
pub use rejection::Rejection;
pub use residual::Surprise;
pub use settlement::{AbortError, Ending, RoundRecord, Ruling, RulingError};
pub use share::{Owed, Part, Payment, Share};
pub use standing::Standing;
pub use terms::{CoverageRule, CoverageSetting, RawTerms, SamplesSetting, Terms, TermsError};
pub use trigger::{Since, Trigger, communication_threshold};

#[cfg(test)]
mod tests;
