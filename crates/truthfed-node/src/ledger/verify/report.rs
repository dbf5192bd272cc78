//! What a verification comes to.

use std::fmt;

use serde::Serialize;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

/// What was verified, up to the first problem if there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Entries of the journal that fit.
    pub entries: u64,
    /// Rounds that ended, settled or not.
    pub rounds: u64,
    /// Payments that were posted.
    pub payments: u64,
    /// The first thing that does not fit.
    pub problem: Option<Problem>,
}

/// The first thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Number of the entry.
    pub entry: u64,
    /// Its round, if it is of one.
    pub round: Option<RoundId>,
    /// Whom it concerns, if it is one member.
    pub member: Option<ClientId>,
    pub fault: Fault,
    /// What follows from the entries before.
    pub expected: String,
    pub found: String,
}

/// What can be wrong with a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// An entry is missing: removed, or moved.
    MissingEntry,
    /// An entry, or one before it, was altered or moved.
    BrokenChain,
    /// The body is not an entry, or a signed content is not of its kind.
    Unreadable,
    /// The journal does not begin with a genesis, or has a second.
    Genesis,
    /// The journal is of another federation, or another coordinator, than is known from elsewhere.
    Foreign,
    /// The terms are not valid.
    Terms,
    /// A name is enrolled twice, or revoked without being a member's.
    Membership,
    /// The entry is not what can come next.
    OutOfTurn,
    /// The entry is of another round than the one that is open, or opens another than is next.
    Round,
    /// A signed content belongs to another federation, round, nonce, terms or member.
    Context,
    /// The signature is not the member's, or not the coordinator's.
    Signature,
    /// The protocol refuses the offer, the decline or the delivery.
    Refused,
    /// An offer or a decline came after the offers were sealed.
    AfterSealing,
    /// The seal is not over the recorded offers.
    Seal,
    /// Other members win by the mechanism.
    Winners,
    /// A winner's ask is not the one of its offer.
    Ask,
    /// The mechanism gives another payment.
    Payment,
    /// A delivery belongs to another offer.
    OtherOffer,
    /// The delivered moment is not the one the offer committed to.
    Commitment,
    /// Others delivered, or did not.
    Settlement,
    /// What was settled adds up to something else.
    Aggregate,
    /// The round ends otherwise.
    Ending,
    /// No money can move that way.
    Ledger,
    /// The posting in the store is not what follows from the journal.
    Posting,
    /// The checkpoint is not of the journal before it.
    Checkpoint,
    /// The journal ends before an entry that the coordinator vouched for: it is an older copy.
    CheckpointAhead,
}

impl Report {
    /// Whether everything fits.
    pub fn is_right(&self) -> bool {
        self.problem.is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { rounds, payments, entries, problem } = self;
        match problem {
            None => write!(f, "ledger verified: {rounds} rounds, {payments} payments, 0 problems"),
            Some(problem) => write!(
                f,
                "ledger not verified: {problem} (right before it: {entries} entries, {rounds} rounds, {payments} payments)"
            ),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {}", self.entry)?;
        if let Some(round) = self.round {
            write!(f, ", round {round}")?;
        }
        if let Some(member) = &self.member {
            write!(f, ", member {member}")?;
        }
        write!(f, ": {}: expected {}, found {}", self.fault, self.expected, self.found)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::MissingEntry => "an entry is missing",
            Fault::BrokenChain => "the chain of hashes is broken",
            Fault::Unreadable => "cannot be read",
            Fault::Genesis => "the journal must begin with its only genesis",
            Fault::Foreign => "the journal is not of this federation",
            Fault::Terms => "the terms are not valid",
            Fault::Membership => "cannot be enrolled or revoked",
            Fault::OutOfTurn => "cannot come next",
            Fault::Round => "another round",
            Fault::Context => "was signed for something else",
            Fault::Signature => "wrong signature",
            Fault::Refused => "the protocol refuses it",
            Fault::AfterSealing => "came after the offers were sealed",
            Fault::Seal => "the seal is not over the recorded offers",
            Fault::Winners => "others win by the mechanism",
            Fault::Ask => "the ask is not the one offered",
            Fault::Payment => "the mechanism gives another payment",
            Fault::OtherOffer => "the delivery belongs to another offer",
            Fault::Commitment => "the moment is not the one the offer committed to",
            Fault::Settlement => "others delivered",
            Fault::Aggregate => "the settled statistics add up to something else",
            Fault::Ending => "the round ends otherwise",
            Fault::Ledger => "no money can move that way",
            Fault::Posting => "the posting does not follow from the journal",
            Fault::Checkpoint => "the checkpoint is not of this journal",
            Fault::CheckpointAhead => "the journal is older than its checkpoint",
        })
    }
}
