//! The command line of `truthfed-proof`, with every value checked as it is read.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use truthfed_proof::load::plan::Plan;

/// Longest soak: a month.
const MAX_SECONDS: u64 = 31 * 86_400;

/// Try to break truthfed: simulated faults, load and attacks
#[derive(Debug, Parser)]
#[command(name = "truthfed-proof", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Threads to work with [default: one per core]; each seed gives the same result at any number
    #[arg(long, global = true, value_name = "N", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate coordinators, members, disks and networks under faults, and check that nothing is lost or paid wrongly
    Soak(SoakArgs),
    /// Measure a real coordinator over loopback under load and attack, and compare the figures with their bounds
    Load(LoadArgs),
    /// Make a federation with a long journal, to look at: real rounds on the real engine, only the clock is simulated
    #[command(after_help = JOURNAL_EXAMPLES)]
    Journal(JournalArgs),
    /// Run `truthfed` with these arguments: the coordinator that `load` measures; in tests, with kill points
    #[command(hide = true, disable_help_flag = true)]
    Truthfed {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

const SOAK_EXAMPLES: &str = "\
Examples:
  truthfed-proof soak                        one minute of fresh seeds
  truthfed-proof soak --seconds 3600         one hour
  truthfed-proof soak --rounds 20000         until 20,000 rounds have ended
  truthfed-proof soak --seed 7 --trace       replay one seed and print every step

Exit codes: 0 nothing was violated, 1 something was, 2 the input is wrong.";

#[derive(Debug, Args)]
#[command(after_help = SOAK_EXAMPLES)]
pub(crate) struct SoakArgs {
    /// How long to run [default: 60, unless --rounds or --seed says when to end]
    #[arg(long, value_name = "S", value_parser = value_parser!(u64).range(1..=MAX_SECONDS))]
    pub(crate) seconds: Option<u64>,

    /// End after N rounds
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) rounds: Option<u64>,

    /// Run only this seed; the same seed always does the same
    #[arg(long, value_name = "N", conflicts_with_all = ["seconds", "rounds"])]
    pub(crate) seed: Option<u64>,

    /// Print every step
    #[arg(long, requires = "seed", conflicts_with = "json")]
    pub(crate) trace: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

const JOURNAL_EXAMPLES: &str = "\
Examples:
  truthfed-proof journal fed                                 10,000 rounds of 1,000 members; then: truthfed serve fed
  truthfed-proof journal fed --rounds 100 --members 10

Exit codes: 0 done, 2 the input is wrong.";

#[derive(Debug, Args)]
pub(crate) struct JournalArgs {
    /// The federation's folder, which must not exist or be empty
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,

    /// Rounds, of which each has the offers of four members in turn
    #[arg(long, value_name = "N", default_value_t = Plan::default().rounds, value_parser = value_parser!(u64).range(1..=1_000_000))]
    pub(crate) rounds: u64,

    /// Members, at least four
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u16).range(4..=10_000))]
    pub(crate) members: u16,
}

const LOAD_EXAMPLES: &str = "\
Examples:
  truthfed-proof load                                    everything, in half an hour
  truthfed-proof load --only burst --agents 2000         2,000 agents offer at once
  truthfed-proof load --only attack --attacked 60        rounds under attack for one minute each
  truthfed-proof load --only wide --wide 20              hostile members in 512 dimensions, for 20 seconds
  truthfed-proof load --only ledger --rows 100000        restart and verify a journal of 100,000 entries
  truthfed-proof load --only page --rounds 1000          views of a page of 1,000 rounds
  scripts/postgres.sh run truthfed-proof load --only takeover,outage --outage 10
                                                         a standby takes over; the database is away for 10 seconds

Takeover and outage need a PostgreSQL: `make load` and scripts/postgres.sh start one. Without it they are left out.
Exit codes: 0 all bounds hold, 1 one is missed, 2 something could not be measured.";

#[derive(Debug, Args)]
#[command(after_help = LOAD_EXAMPLES)]
pub(crate) struct LoadArgs {
    /// What to measure [default: all of it]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) only: Vec<Part>,

    #[command(flatten)]
    pub(crate) plan: Plan,

    /// Where to make federations, and remove them again; choose the disk to measure
    #[arg(long, value_name = "FOLDER", default_value_os_t = std::env::temp_dir())]
    pub(crate) folder: PathBuf,

    /// Keep the federations and their coordinators' logs
    #[arg(long)]
    pub(crate) keep: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// All agents offer at once; memory per connection
    Burst,
    /// Rounds among slow connections and floods
    Attack,
    /// Rounds in 512 dimensions beside stalled connections and hostile members
    Wide,
    /// A standby takes over in the middle of an auction (PostgreSQL)
    Takeover,
    /// The database is away for a minute (PostgreSQL)
    Outage,
    /// A long journal: restart and verification
    Ledger,
    /// Many rounds and members: answers of the operator's page
    Page,
}
