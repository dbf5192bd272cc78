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
    pub payments: u64,
    /// The last entries that no checkpoint covers: what an open round has so far.
    pub unsigned: u64,
    pub problem: Option<Problem>,
}

/// The first thing that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub entry: u64,
    pub round: Option<RoundId>,
    pub member: Option<ClientId>,
    pub fault: Fault,
    /// What follows from the entries before.
    pub expected: String,
    pub found: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    #[error("an entry is missing")]
    MissingEntry,
    #[error("the chain of hashes is broken")]
    BrokenChain,
    /// The body is not an entry, or a signed content is not of its kind.
    #[error("cannot be read")]
    Unreadable,
    /// The journal does not begin with a genesis, or has a second.
    #[error("the journal must begin with its only genesis")]
    Genesis,
    /// The journal is of another federation, or another coordinator, than is known from elsewhere.
    #[error("the journal is not of this federation")]
    Foreign,
    #[error("the terms are not valid")]
    Terms,
    /// A name or a key is enrolled twice, or a name is revoked or renewed without being a member's.
    #[error("cannot be enrolled, revoked or renewed")]
    Membership,
    #[error("cannot come next")]
    OutOfTurn,
    /// It is earlier than the entry before it, or a phase ended before its time.
    #[error("the time cannot be right")]
    Time,
    /// The entry is of another round than the one that is open, or opens another than is next.
    #[error("another round")]
    Round,
    /// A signed content belongs to another federation, round, nonce, terms or member.
    #[error("was signed for something else")]
    Context,
    /// The signature is not the member's, or not the coordinator's.
    #[error("wrong signature")]
    Signature,
    #[error("the protocol refuses it")]
    Refused,
    /// An offer or a decline came after the offers were sealed.
    #[error("came after the offers were sealed")]
    AfterSealing,
    #[error("the seal is not over the recorded offers")]
    Seal,
    #[error("others win by the mechanism")]
    Winners,
    #[error("the ask is not the one offered")]
    Ask,
    #[error("the mechanism gives another payment")]
    Payment,
    #[error("the delivery belongs to another offer")]
    OtherOffer,
    #[error("the moment is not the one the offer committed to")]
    Commitment,
    #[error("others delivered")]
    Settlement,
    #[error("other data is held or released, or other payments are decided")]
    Judgement,
    #[error("the settled statistics add up to something else")]
    Aggregate,
    #[error("the round ends otherwise")]
    Ending,
    #[error("no money can move that way")]
    Ledger,
    /// A payout repeats a reference, is of nothing, or of more than is owed.
    #[error("cannot be paid out")]
    Payout,
    #[error("the posting does not follow from the journal")]
    Posting,
    /// What the coordinator would go on from is not what it was when the last round ended.
    #[error("the standing does not follow from the journal")]
    Standing,
    /// What a member is told when it asks again, or a receipt, is not what was recorded.
    #[error("the reply does not follow from the journal")]
    Reply,
    /// Members came or went, or a round ended, and no checkpoint was written with it.
    #[error("no signature covers it")]
    Unsigned,
    #[error("the checkpoint is not of this journal")]
    Checkpoint,
    /// The journal ends before an entry that the coordinator vouched for: it is an older copy.
    #[error("the journal is older than its checkpoint")]
    CheckpointAhead,
}

impl Report {
    pub fn is_right(&self) -> bool {
        self.problem.is_none()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { rounds, payments, unsigned, entries, problem } = self;
        match problem {
            None => {
                write!(f, "ledger verified: {rounds} rounds, {payments} payments, 0 problems")?;
                if *unsigned == 0 {
                    Ok(())
                } else {
                    write!(f, "; no checkpoint covers the last {unsigned} entries yet")
                }
            }
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
