//! The command line of the service: what runs it, and copies of it. Beside it, who takes part, and what is recorded.

mod ledger;
mod members;
mod witness;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};
use truthfed_node::coordinator::LEASE_MS;
use truthfed_node::ledger::Reason;

pub(crate) use self::ledger::*;
pub(crate) use self::members::*;
pub(crate) use self::witness::*;

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
    /// Let no round open; one that is open goes on to its end
    #[command(after_help = "\
Examples:
  truthfed pause fed --reason 'moving to a new machine'    members are told why
  truthfed resume fed

Agents go on choosing and learning, and offer when rounds are resumed. The pause is in the journal and outlasts restarts.")]
    Pause(PauseArgs),
    /// Let rounds open again
    #[command(after_help = "\
Examples:
  truthfed resume fed")]
    Resume(FolderArgs),
    /// Let no round open, and wait until none is open
    #[command(after_help = "\
Examples:
  truthfed drain fed --reason 'upgrade'    then stop the coordinator; afterwards: truthfed resume fed")]
    Drain(PauseArgs),
    /// Renew the certificates of coordinator and operator, which last two years
    #[command(after_help = "\
Examples:
  truthfed renew fed    needs fed/authority/authority.key; restart truthfed serve afterwards

The coordinator's new certificate is for the names in federation.toml. Keys stay, so receipts and bundles stay valid.")]
    Renew(FolderArgs),
    /// What a member does on its own machine: its key, what the operator issued for it, its page
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  truthfed member init zoe                         on zoe's machine; send zoe/request.json to the operator
  truthfed members add fed --request request.json  the operator; send fed/members/zoe to zoe
  truthfed member join zoe issued                  on zoe's machine; then: truthfed agent zoe
  truthfed member page zoe                         a link to zoe's own page, while its agent runs")]
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
    /// Sign heads of a federation's journal that go on from each other
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  truthfed ledger prove fed --key                             the operator: the key of its log
  truthfed witness init w --name witness.example --log KEY    the witness: makes its own key, and prints it
  truthfed ledger prove fed > proof                           the operator, or any member that asks the coordinator
  truthfed witness sign w proof > head                        the head with the witness's signature below the coordinator's
  truthfed ledger check head --key zoe --witness KEY          whoever believes only what the witness signed")]
    Witness(WitnessCommand),
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    pub(crate) of: FolderArgs,

    /// What members are told
    #[arg(long, value_name = "TEXT", default_value = "no reason given")]
    pub(crate) reason: Reason,
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
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = value_parser!(u16).range(0..=10_000), allow_negative_numbers = true)]
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

    /// What is logged: this and all that matters more [default: `log_level` of federation.toml, else info]
    #[arg(long = "log-level", value_enum, value_name = "LEVEL", env = "TRUTHFED_LOG_LEVEL")]
    pub(crate) level: Option<LogLevel>,
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
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7500", value_parser = address)]
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

    /// Print a link to the coordinator's page and the addresses of the agents, and go on until Ctrl-C; the last member's data
    /// contradicts the others'
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

#[derive(Debug, Clone, Args)]
pub(crate) struct FolderArgs {
    /// The federation's folder; commands that only read take a bundle for auditors, too
    pub(crate) folder: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "write an IP address and a port up to 65535, such as 127.0.0.1:7500".to_owned())
}
