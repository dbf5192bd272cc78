//! The command line of the service.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum, value_parser};
use truthfed::Amount;
use truthfed_node::calendar::{CalendarMonth, Day, Period};
use truthfed_node::coordinator::LEASE_MS;
use truthfed_node::digest::Digest;
use truthfed_node::ledger::Reference;

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    /// Create the folder of a new federation: settings, certificates, a bundle for each member
    Init(InitArgs),
    /// Run the coordinator of a federation
    Serve(ServeArgs),
    /// Run a member's agent beside its application
    Agent(AgentArgs),
    /// Run a whole federation on this machine for twenty seconds and verify its ledger
    Demo(DemoArgs),
    /// Show how a federation is: coordinator, open round, members, money, certificates
    #[command(after_help = "\
Examples:
  truthfed status fed
  truthfed status fed --json    on the coordinator's machine; it need not run")]
    Status(FolderArgs),
    /// Look for what is wrong on the coordinator's machine, or soon will be, and say what to do
    #[command(after_help = "\
Examples:
  truthfed doctor fed           exit code 1 if something is wrong
  truthfed doctor fed --json    for monitoring")]
    Doctor(FolderArgs),
    /// Print a link to the coordinator's page in a browser
    #[command(after_help = "\
Examples:
  truthfed page fed    open what it prints, on the coordinator's machine

The link opens the page once, and for a few minutes only. From another machine, forward the port first:
ssh -L 7480:127.0.0.1:7480 HOST. A coordinator must be running.")]
    Page(PageArgs),
    /// Copy a federation with its ledger, also while it runs
    Backup(BackupArgs),
    /// Put a backup in the place of a federation
    Restore(RestoreArgs),
    /// Move the ledger to another store: to PostgreSQL, or back to a file
    Migrate(MigrateArgs),
    /// Renew the certificates of coordinator and operator, which last two years
    #[command(after_help = "\
Examples:
  truthfed renew fed    needs fed/authority/authority.key; restart truthfed serve afterwards

The coordinator's new certificate is for the names in federation.toml. Keys stay, so receipts and bundles stay valid.")]
    Renew(FolderArgs),
    /// Make a member's own key, and take over what the operator issued for it
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  truthfed member init zoe                         on zoe's machine; send zoe/request.json to the operator
  truthfed members add fed --request request.json  the operator; send fed/members/zoe to zoe
  truthfed member join zoe issued                  on zoe's machine; then: truthfed agent zoe")]
    Member(MemberCommand),
    /// List, add and revoke members
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  truthfed members list fed
  truthfed members add fed --request request.json    zoe made its own key: truthfed member init zoe
  truthfed members add fed zoe                       makes zoe's key here; then move fed/members/zoe to zoe
  truthfed members revoke fed zoe                    takes effect at once, also on open connections")]
    Members(MembersCommand),
    /// Read and verify the ledger, and record payouts
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  truthfed ledger totals fed --month 2026-11                              what each member earned, received and is owed
  truthfed ledger statement fed m1 --month 2026-11
  truthfed ledger export fed --csv --from 2026-01-01 --to 2026-12-31      every movement of money, for a spreadsheet
  truthfed ledger payout record fed m1 12.5 --reference 'bank 4711'       12.5 units were transferred to m1
  truthfed ledger verify fed")]
    Ledger(LedgerCommand),
    /// List rounds, or show one
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  truthfed round list fed
  truthfed round show fed 7 --json
  truthfed round export fed 7 > round.json")]
    Round(RoundCommand),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed init fed --members 5                   members m1 to m5
  truthfed init fed --member ann --member bob     members by name
  truthfed init fed --set terms.reserve=500       another setting of federation.toml

Move each folder of fed/members to its member. Then: truthfed serve fed. The keys of these members are made here, which is for
trials: with --members 0 members make their own (truthfed member init).")]
pub(crate) struct InitArgs {
    /// The folder, which must not exist or be empty
    pub(crate) folder: PathBuf,

    /// Create members m1 to mN
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u16).range(0..=10_000))]
    pub(crate) members: u16,

    /// Create a member with this name instead; can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "members")]
    pub(crate) member: Vec<String>,

    /// The name of the federation [default: the folder's name]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Change one setting, such as terms.bandit.dimension=8; can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub(crate) struct LogArgs {
    /// Format of the logs on standard error
    #[arg(long = "log", value_enum, value_name = "FORMAT", default_value = "text", env = "TRUTHFED_LOG")]
    pub(crate) format: LogFormat,

    /// What is logged: this and all that matters more
    #[arg(long = "log-level", value_enum, value_name = "LEVEL", default_value = "info", env = "TRUTHFED_LOG_LEVEL")]
    pub(crate) level: LogLevel,
}

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// It does not go on by itself
    Error,
    /// Somebody should look
    Warn,
    /// Requests, rounds, members
    Info,
    /// Connections, too
    Debug,
}

/// The format of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed serve fed                       until Ctrl-C
  truthfed serve fed --log json            logs as JSON, on standard error
  curl -s http://127.0.0.1:7480/healthz    check its health (/metrics: for Prometheus)

A second coordinator on the same store waits as a standby and takes over when the first one dies. It needs a copy of the
folder; on the same machine, change listen and admin.")]
pub(crate) struct ServeArgs {
    /// The folder that `truthfed init` created
    pub(crate) folder: PathBuf,

    #[command(flatten)]
    pub(crate) log: LogArgs,

    /// How long a standby waits before it takes over, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = LEASE_MS, value_parser = value_parser!(u64).range(500..=600_000))]
    pub(crate) lease_ms: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed agent fed/members/m1                                        ask a hundredth of a unit per sample
  truthfed agent fed/members/m1 --ask policy.toml --listen 127.0.0.1:7501
  auth=\"Authorization: Bearer $(cat fed/members/m1/agent.token)\"
  curl -s -H \"$auth\" 127.0.0.1:7500/choose -d '{\"arms\": [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0]]}'    choose an arm
  curl -s -H \"$auth\" 127.0.0.1:7500/learn -d '{\"decision\": \"...\", \"reward\": 0.5}'
  curl -s -H \"$auth\" 127.0.0.1:7500/status    (/receipts, /metrics; /healthz needs no token)

A policy is one of:
  kind = \"constant\"     ask = \"12.5\"
  kind = \"per-sample\"   price = \"0.01\"   base = \"2\"
  kind = \"paper\"        weight = 0.0001   base = 20.0
  kind = \"command\"      command = [\"./price.sh\"]   timeout_ms = 2000")]
pub(crate) struct AgentArgs {
    /// The member's bundle, a folder
    pub(crate) bundle: PathBuf,

    /// The policy that sets its asks, a TOML file
    #[arg(long, value_name = "POLICY.toml")]
    pub(crate) ask: Option<PathBuf>,

    /// Address for the application; loopback only
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7500")]
    pub(crate) listen: SocketAddr,

    /// File with the token that the application must show, made if it is not there [default: agent.token in the bundle]
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    pub(crate) token: Option<PathBuf>,

    /// Let every user of this machine use the agent, for trials
    #[arg(long)]
    pub(crate) no_token: bool,

    /// File for what it learns [default: agent.db in the bundle]
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed backup fed --out fed-2026-11-18
  truthfed ledger verify fed-2026-11-18    a backup is a federation's folder, with the ledger in a file

The copy is of one moment, also while the coordinator runs, and is verified. It has the private keys of coordinator and operator, and
the authority's if it is there: keep it as safe as the folder itself.")]
pub(crate) struct BackupArgs {
    /// The federation's folder
    pub(crate) folder: PathBuf,

    /// The new folder
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mv fed lost
  truthfed restore fed-2026-11-18 fed --checkpoint lost/checkpoint.json    refused if the backup is older than that
  truthfed restore fed-2026-11-18 fed --checkpoint lost/checkpoint.json --behind

Whatever came after the backup is lost: agents that have seen it say so, and take part again once the journal has passed that point.")]
pub(crate) struct RestoreArgs {
    /// A folder that `truthfed backup` wrote
    pub(crate) backup: PathBuf,

    /// The folder, which must not exist or be empty
    pub(crate) folder: PathBuf,

    /// The last checkpoint that the coordinator wrote, from the folder that was lost
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Go back behind the checkpoint
    #[arg(long)]
    pub(crate) behind: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed migrate fed --to 'postgres://user:password@host/database'
  truthfed migrate fed --to ledger-2.db    a new file in the folder

Stop the coordinator first. Everything is copied and verified before federation.toml names the new store.")]
pub(crate) struct MigrateArgs {
    /// The federation's folder
    pub(crate) folder: PathBuf,

    /// The new store: a URL, or a file in the folder
    #[arg(long, value_name = "STORE")]
    pub(crate) to: String,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed demo                       five members for twenty seconds
  truthfed demo --members 10 --json   ten members, as one JSON object
  truthfed demo --out fed             keep the folder and inspect it: truthfed round list fed")]
pub(crate) struct DemoArgs {
    /// Number of members
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u16).range(2..=50))]
    pub(crate) members: u16,

    /// Seconds of work
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,

    /// Keep the federation in this folder, which must not exist [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Print a link to the coordinator's page, and go on until Ctrl-C; the last member's data contradicts the others'
    #[arg(long, conflicts_with_all = ["seconds", "json"])]
    pub(crate) page: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PageArgs {
    /// Folder of the federation
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// How long the link may wait to be opened
    #[arg(long, value_name = "S", default_value_t = 300, value_parser = value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MembersCommand {
    /// List all members, present and past
    List(FolderArgs),
    /// Issue a bundle for a new member and enrol the member
    Add(AddArgs),
    /// Certify a member's next key, which its present key must have signed
    Renew(RenewArgs),
    /// Revoke a member at once
    Revoke(MemberArgs),
    /// List what members delivered that is held or still compared with others' data, and the payments that wait
    Doubts(FolderArgs),
    /// Settle and pay what a member delivered that is in doubt
    Release(MemberArgs),
    /// Make void what a member delivered that is in doubt, and the payments for it
    Void(MemberArgs),
    /// Take all that a revoked member ever delivered out of what is shared; its payments stay as they are
    Forget(MemberArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed members add fed --request request.json    the member keeps its key to itself
  truthfed members add fed zoe                       for trials: whoever has fed/members/zoe/member.key is zoe")]
#[command(group(ArgGroup::new("applicant").required(true).multiple(true).args(["member", "request"])))]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// The member; with --request, the name that it must have asked for
    #[arg(value_name = "NAME")]
    pub(crate) member: Option<String>,

    /// What `truthfed member init` wrote on the member's machine
    #[arg(long, value_name = "FILE")]
    pub(crate) request: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed members renew fed --request renewal.json

Needs authority/authority.key. No round may be open; it waits for the end of one. Then fed/roster/NAME.pem is for the member.")]
pub(crate) struct RenewArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// What `truthfed member renew` wrote on the member's machine
    #[arg(long, value_name = "FILE")]
    pub(crate) request: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemberCommand {
    /// Make a key, and a request for the operator to certify it
    Init(MemberInitArgs),
    /// Put what the operator issued beside the key
    Join(JoinArgs),
    /// Ask for the next certificate with a new key; with --issued, take over what the operator certified
    Renew(MemberRenewArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed member init zoe
  truthfed member init here --name zoe")]
pub(crate) struct MemberInitArgs {
    /// The folder, which must not exist or be empty
    pub(crate) folder: PathBuf,

    /// The name to be known by [default: the folder's name]
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed member join zoe issued
  truthfed member join zoe issued --federation 3c1b...    refuse any other federation")]
pub(crate) struct JoinArgs {
    /// The folder that `truthfed member init` made
    pub(crate) folder: PathBuf,

    /// The folder that the operator issued
    pub(crate) issued: PathBuf,

    /// The federation it must be: the hash of its authority's certificate
    #[arg(long, value_name = "SHA-256")]
    pub(crate) federation: Option<Digest>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed member renew zoe                     makes zoe/renewal.json, for the operator
  truthfed member renew zoe --issued zoe.pem    then, with what the operator sent; restart the agent

The present key signs the new one, so only its holder can renew: also after the certificate has expired, never after the
member was revoked.")]
pub(crate) struct MemberRenewArgs {
    /// The member's bundle
    pub(crate) bundle: PathBuf,

    /// The certificate that the operator issued
    #[arg(long, value_name = "FILE")]
    pub(crate) issued: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FolderArgs {
    /// The federation's folder; commands that only read take a bundle for auditors, too
    pub(crate) folder: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MemberArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// The member
    #[arg(value_name = "NAME")]
    pub(crate) member: String,
}

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
    pub(crate) fn period(&self) -> Period {
        self.month.map_or_else(|| Period::between(self.from, self.to), Period::from)
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
    #[arg(value_name = "AMOUNT")]
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
