//! What is recorded: the ledger, and its rounds.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, value_parser};
use truthfed::Amount;
use truthfed_node::calendar::{CalendarMonth, Day, Period};
use truthfed_node::digest::Digest;
use truthfed_node::ledger::{Reason, Reference};
use truthfed_node::log::NoteKey;

use super::FolderArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum LedgerCommand {
    /// Show what a member offered, won and was paid, from the ledger or from its own receipts
    Statement(StatementArgs),
    /// Recompute everything: chain, signatures, winners, payments, sums, receipts, the standing
    #[command(after_help = "\
Examples:
  truthfed ledger verify fed
  truthfed ledger verify audit --federation 3c1b...    a bundle, and the federation it must be of
  truthfed ledger verify audit --member zoe            zoe's own key and receipts against it; stop its agent first

A bundle (truthfed ledger bundle) has the journal, but not the receipts and the standing that only the operator keeps. Members know
the federation: it is in their member.toml.")]
    Verify(VerifyArgs),
    /// Write what an auditor may have: journal, certificates, checkpoint, and no key
    Bundle(BundleArgs),
    /// Show what each member earned, was paid out and is owed
    Totals(TotalsArgs),
    /// Print every movement of money, or the whole journal
    Export(ExportArgs),
    /// Record what was really transferred to members
    #[command(subcommand)]
    Payout(PayoutCommand),
    /// Print the signed head of the journal, or a proof that it has entries or how it grew
    Prove(ProveArgs),
    /// Check heads and proofs against each other and a key, without the journal
    Check(CheckArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed ledger prove fed --note > head                     the signed head, as witnesses read it
  truthfed ledger prove fed --round 7 --member zoe > proof    that the journal has what zoe said in round 7
  truthfed ledger prove fed --from 120 > proof                that it is how the journal of 120 entries went on
  truthfed ledger prove audit --head head                     whether a bundle is the journal of a head; exit code 1 if not
  truthfed ledger prove fed --key                             the key for truthfed ledger check

A proof shows the entries that it proves, and hashes of others. It is for whoever may see those entries.")]
pub(crate) struct ProveArgs {
    /// The federation's folder, or a bundle for auditors
    pub(crate) folder: PathBuf,

    /// An entry; can be repeated
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) entry: Vec<u64>,

    /// All entries of a round
    #[arg(long, value_name = "ROUND", value_parser = value_parser!(u64).range(1..))]
    pub(crate) round: Option<u64>,

    /// Only what this member said in the round
    #[arg(long, value_name = "NAME", requires = "round")]
    pub(crate) member: Option<String>,

    /// That the journal is how that of so many entries went on
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) from: Option<u64>,

    /// The head of the first entries [default: of all]
    #[arg(long, value_name = "N", conflicts_with = "head", value_parser = value_parser!(u64).range(1..))]
    pub(crate) size: Option<u64>,

    /// A signed head to prove it under, instead of signing one; a bundle needs it
    #[arg(long, value_name = "FILE")]
    pub(crate) head: Option<PathBuf>,

    /// Print the head alone
    #[arg(long, conflicts_with_all = ["entry", "round", "from"])]
    pub(crate) note: bool,

    /// Print the key that signs heads
    #[arg(long, conflicts_with_all = ["entry", "round", "from", "size", "head", "note"])]
    pub(crate) key: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed ledger check proof --key zoe                  zoe's bundle knows the coordinator's key
  truthfed ledger check ann.head bob.head --key zoe      whether the coordinator showed ann and bob the same journal
  truthfed ledger check head --key audit/server.pem --witness witness.example+5c0e...

Exit code 1 if something is not signed, a proof is wrong, or there are two histories. It says which heads no proof links.")]
pub(crate) struct CheckArgs {
    /// Heads and proofs; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// The coordinator's key, as truthfed ledger prove --key prints it; or its certificate, or a bundle
    #[arg(long, value_name = "KEY")]
    pub(crate) key: String,

    /// A witness that must have signed every head; can be repeated
    #[arg(long, value_name = "KEY")]
    pub(crate) witness: Vec<NoteKey>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Days in UTC.
#[derive(Debug, Args)]
pub(crate) struct PeriodArgs {
    /// Only this month, such as 2026-11
    #[arg(long, value_name = "YYYY-MM", conflicts_with_all = ["from", "to"])]
    month: Option<CalendarMonth>,

    /// Only from this day on
    #[arg(long, value_name = "YYYY-MM-DD")]
    from: Option<Day>,

    /// Only up to this day, which is included
    #[arg(long, value_name = "YYYY-MM-DD")]
    to: Option<Day>,
}

impl PeriodArgs {
    pub(crate) fn period(&self) -> anyhow::Result<Period> {
        if let (Some(from), Some(to)) = (self.from, self.to) {
            anyhow::ensure!(from <= to, "--from {from} is after --to {to}: name the earlier day first");
        }
        Ok(self.month.map_or_else(|| Period::between(self.from, self.to), Period::from))
    }
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// The federation whose journal it must be: the hash of its authority's certificate
    #[arg(long, value_name = "SHA-256")]
    pub(crate) federation: Option<Digest>,

    /// Compare with what a member holds in its bundle: its key and its receipts
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) member: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed ledger bundle fed --out audit    then, on any machine: truthfed ledger verify audit

The journal has what members offered and asked, and what they delivered: an auditor sees it all.")]
pub(crate) struct BundleArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// The new folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct TotalsArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    #[command(flatten)]
    pub(crate) period: PeriodArgs,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("format").required(true).args(["csv", "json", "journal"])))]
pub(crate) struct ExportArgs {
    /// The federation's folder, or a bundle for auditors
    pub(crate) folder: PathBuf,

    /// Movements of money, as CSV
    #[arg(long)]
    pub(crate) csv: bool,

    /// Movements of money, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// The journal, one JSON object per line
    #[arg(long, conflicts_with_all = ["month", "from", "to"])]
    pub(crate) journal: bool,

    #[command(flatten)]
    pub(crate) period: PeriodArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PayoutCommand {
    /// Record a transfer to a member; the same again changes nothing
    Record(PayoutArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed ledger payout record fed m1 12.5 --reference 'bank 4711'

This moves no money: it says that you did. The journal has it, signed, and the member's statement shows it. A payout of more than
is owed is refused; so is another amount under the same reference.")]
pub(crate) struct PayoutArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// The member
    #[arg(value_name = "NAME")]
    pub(crate) member: String,

    /// How much, in units
    #[arg(value_name = "AMOUNT", allow_negative_numbers = true)]
    pub(crate) amount: Amount,

    /// Names the transfer, such as the bank's reference: each is recorded once
    #[arg(long, value_name = "TEXT")]
    pub(crate) reference: Reference,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed ledger statement fed m1           m1 in the ledger
  truthfed ledger statement fed m1 --month 2026-11
  truthfed ledger statement fed/members/m1   m1's own receipts, without the coordinator; stop its agent first")]
pub(crate) struct StatementArgs {
    /// The federation's folder, or a member's bundle
    pub(crate) folder: PathBuf,

    /// The member, if the folder is the federation's
    #[arg(value_name = "NAME")]
    pub(crate) member: Option<String>,

    #[command(flatten)]
    pub(crate) period: PeriodArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RoundCommand {
    /// List all rounds
    List(FolderArgs),
    /// Show one round: offers, winners, payments
    Show(ShowArgs),
    /// Print the auction of a settled round as a document that `truthfed auction` runs again
    #[command(after_help = "\
Examples:
  truthfed round export fed 7 > round.json
  truthfed auction round.json    with -m and its parameters, if the terms have another mechanism than clock")]
    Export(ExportRoundArgs),
    /// End the open round while it takes offers; all members keep their data
    #[command(after_help = "\
Examples:
  truthfed round abort fed --reason 'wrong member enrolled'    the journal has the reason

A round that is awarded cannot be aborted: its winners were promised a payment. Pause first if no other is to follow.")]
    Abort(AbortArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AbortArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// Why, for the journal
    #[arg(long, value_name = "TEXT", default_value = "no reason given")]
    pub(crate) reason: Reason,
}

#[derive(Debug, Args)]
pub(crate) struct ExportRoundArgs {
    /// The federation's folder, or a bundle for auditors
    pub(crate) folder: PathBuf,

    /// The round's number
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub(crate) round: u64,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// The round's number
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub(crate) round: u64,
}
