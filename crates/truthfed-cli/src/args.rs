//! The command line: what can be asked, with every value checked as it is read.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, value_parser};
use truthfed::Amount;
use truthfed::auction::{Coverage, catalog};
use truthfed_sim::sweep::Part;

use crate::node::args::NodeCommand;
use crate::parameters::ParameterArgs;
use crate::purse::Purse;

/// Most threads; to start many more would take longer than any round.
const MAX_THREADS: i64 = 1024;
/// Most seeds of a simulation; all of their rounds are held in memory.
const MAX_SEEDS: u64 = 10_000;
/// Most random rounds of an audit: some hours.
const MAX_RANDOM: i64 = 1_000_000;
/// Most clients of a random round in an audit, which tries all lies of each.
const MAX_RANDOM_CLIENTS: usize = 60;
/// Most dimensions of a random round in an audit.
const MAX_RANDOM_DIMENSION: usize = 20;

/// Federated linear bandits whose clients are paid by a truthful auction.
#[derive(Debug, Parser)]
#[command(name = "truthfed", version = env!("TRUTHFED_VERSION"), arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Threads to work with [default: one per core]; the result is the same at any number
    #[arg(long, global = true, value_name = "N", value_parser = value_parser!(u16).range(1..=MAX_THREADS))]
    pub(crate) threads: Option<u16>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one round of an auction: who wins, and what each is paid
    Auction(Box<AuctionArgs>),
    /// Try to refute what mechanisms claim: lies of every client, of groups, and what it all costs
    Audit(Box<AuditArgs>),
    /// Reproduce the paper: every figure, every claim with a verdict, and a report to open
    Reproduce(ReproduceArgs),
    /// Simulate a federation under some seeds: regret, communication, costs and payments
    Simulate(SimulateArgs),
    /// Simulate a grid of configurations; a sweep that was stopped goes on where it was
    Sweep(SweepArgs),
    /// Draw what simulate and sweep wrote: any column over any other, as SVG, PDF, PNG and CSV
    Plot(PlotArgs),
    /// Show in a browser what reproduce, simulate or sweep wrote: figures to turn, claims with their measurements
    View(ViewArgs),
    /// List the mechanisms and what each promises
    Mechanisms {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    #[command(flatten)]
    Node(NodeCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed auction --example > round.json         a small round to start from
  truthfed auction round.json                     run it with the default mechanism, clock
  truthfed auction round.json --certify           and prove every payment
  truthfed auction round.json --purse 50          what 50 can buy, if the target costs more
  truthfed auction round.json --compare           all mechanisms side by side
  truthfed auction --generate 1000,5 --json       a random round of 1000 clients in 5 dimensions
  cat round.json | truthfed auction - -m greedy   from standard input

Exit codes: 0 done, 1 a payment is not certified, 2 the input is wrong.")]
pub(crate) struct AuctionArgs {
    /// The round, a JSON file of schema truthfed.round/1; - reads standard input
    #[arg(value_name = "ROUND.json", required_unless_present_any = ["example", "generate", "seed", "write"])]
    pub(crate) round: Option<PathBuf>,

    /// The mechanism
    #[arg(short, long, default_value = catalog::DEFAULT, value_parser = PossibleValuesParser::new(catalog::names()))]
    pub(crate) mechanism: String,

    /// Run all mechanisms and compare them
    #[arg(long, conflicts_with_all = ["mechanism", "certify"])]
    pub(crate) compare: bool,

    /// Run again at each payment and one micro-unit above: every winner must win, then lose
    #[arg(long)]
    pub(crate) certify: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Required determinant ratio, above 0 and at most 1 [default: as in the round]
    #[arg(long, value_name = "C", value_parser = coverage, allow_negative_numbers = true)]
    pub(crate) coverage: Option<Coverage>,

    /// Highest ask that is admitted, and the payment of an essential client [default: as in the round]
    #[arg(long, value_name = "AMOUNT", allow_negative_numbers = true)]
    pub(crate) reserve: Option<Amount>,

    /// What all payments together may come to: an amount, or a share of what they are without it, such as 50% [default: as in the round]
    #[arg(long, value_name = "AMOUNT|SHARE%", allow_negative_numbers = true)]
    pub(crate) purse: Option<Purse>,

    /// Print a small valid round and stop
    #[arg(long, conflicts_with_all = ["round", "compare", "certify", "json", "generate", "seed", "write"])]
    pub(crate) example: bool,

    /// Make a random round of N clients in d dimensions instead of reading one
    #[arg(long, value_name = "N,d", value_parser = size, conflicts_with = "round")]
    pub(crate) generate: Option<(usize, usize)>,

    /// The seed of --generate
    #[arg(long, default_value_t = 1, requires = "generate", conflicts_with = "round")]
    pub(crate) seed: u64,

    /// Write the round of --generate to a file and stop
    #[arg(long, value_name = "FILE", requires = "generate", conflicts_with_all = ["round", "compare", "certify", "json"])]
    pub(crate) write: Option<PathBuf>,

    // Last: its heading holds for all that follow.
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed audit --random 300                             everything, on random rounds
  truthfed audit -m clock --random 300 --check truthful   one mechanism, one property
  truthfed audit -m clock --random 300 --purse 50%        with half of what each round costs
  truthfed audit -m clock --random 1 --runs 2             what a client gains over whole runs
  truthfed audit --rounds run/rounds --out findings       rounds of a simulation, into a folder
  truthfed audit --replay findings/greedy-optimum.json    explain a counterexample

Every ask in a round is taken for the true cost. A property holds until it is refuted: nothing found is no proof.
Exit codes: 0 done, 1 a mechanism fails a property that it claims (truthfed mechanisms), 2 the input is wrong.")]
pub(crate) struct AuditArgs {
    /// The mechanism, or all
    #[arg(short, long, default_value = "all", value_name = "NAME",
          value_parser = PossibleValuesParser::new(["all"].into_iter().chain(catalog::names())))]
    pub(crate) mechanism: String,

    /// Audit N random rounds [default: 10000, or none with --rounds]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=MAX_RANDOM))]
    pub(crate) random: Option<u32>,

    /// How many clients random rounds have
    #[arg(long, value_name = "FROM..TO", default_value = "3..12",
          value_parser = |text: &str| range(text, MAX_RANDOM_CLIENTS))]
    pub(crate) clients: (usize, usize),

    /// How many dimensions random rounds have
    #[arg(long, value_name = "FROM..TO", default_value = "1..5",
          value_parser = |text: &str| range(text, MAX_RANDOM_DIMENSION))]
    pub(crate) dim: (usize, usize),

    /// The seed of random rounds
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u32,

    /// Audit recorded rounds: a ROUND.json, lines of rounds (.jsonl), packed or not (.gz), a folder of these, or - for standard input
    #[arg(long, value_name = "FILE_OR_DIR")]
    pub(crate) rounds: Option<PathBuf>,

    /// Give every round a purse: an amount, or a share of what it costs without one, such as 50%
    #[arg(long, value_name = "AMOUNT|SHARE%", allow_negative_numbers = true)]
    pub(crate) purse: Option<Purse>,

    /// Check only these properties; collusion is for each member and in total
    #[arg(long, value_delimiter = ',', value_name = "PROPERTIES", value_parser = PossibleValuesParser::new(CHECKS))]
    pub(crate) check: Vec<String>,

    /// Simulate manipulators over whole runs, under N seeds; 0 for none [default: 5 where everything is checked]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(0..=MAX_SEEDS))]
    pub(crate) runs: Option<u64>,

    /// Change a setting of these runs, such as rounds.quota=1 or rounds.coverage=0.8; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "runs")]
    pub(crate) changes: Vec<String>,

    /// Rounds to audit at once [default: as many as threads]; the result is the same at any number
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=MAX_THREADS))]
    pub(crate) jobs: Option<u16>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Write verdicts and counterexamples to this folder, made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Run a counterexample again and explain it
    #[arg(long, value_name = "COUNTEREXAMPLE.json",
          conflicts_with_all = ["mechanism", "random", "clients", "dim", "seed", "rounds", "purse", "check", "runs", "changes", "jobs", "out"])]
    pub(crate) replay: Option<PathBuf>,

    // Last: its heading holds for all that follow.
    #[command(flatten)]
    pub(crate) parameters: ParameterArgs,
}

/// What --check takes.
const CHECKS: [&str; 8] = ["monotone", "ir", "truthful", "certified", "collusion", "coverage", "purse", "optimum"];

/// The first and the last number of `3..12`, or of one number.
fn range(text: &str, most: usize) -> Result<(usize, usize), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let expected = || format!("`{text}` is not of the form FROM..TO, such as 3..12");
    let from: usize = from.trim().parse().map_err(|_| expected())?;
    let to: usize = to.trim().trim_start_matches('=').parse().map_err(|_| expected())?;
    match 1 <= from && from <= to && to <= most {
        true => Ok((from, to)),
        false => Err(format!("{text} must go upwards and lie in 1..{most}")),
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed reproduce                       everything, into out/reproduce
  truthfed reproduce --quick               a first look, in seconds
  truthfed reproduce --thorough            longer horizons and searches, for an hour
  truthfed reproduce --seeds 99 --out r99  more seeds, another folder

Open index.html of the folder. The same seeds give the same bytes.")]
pub(crate) struct ReproduceArgs {
    /// The folder of the report; an older report there is replaced
    #[arg(long, value_name = "DIR", default_value = "out/reproduce")]
    pub(crate) out: PathBuf,

    /// Judge the paper's experiments under seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = value_parser!(u64).range(1..=MAX_SEEDS))]
    pub(crate) seeds: u64,

    /// Fewer steps and rounds, and two seeds at most
    #[arg(long)]
    pub(crate) quick: bool,

    /// Longer horizons, and ten times as many random rounds
    #[arg(long, conflicts_with = "quick")]
    pub(crate) thorough: bool,

    /// Print the claims as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed simulate                                        the paper's setting, seeds 1 to 5
  truthfed simulate --set rounds.mechanism=greedy --json   another mechanism, as JSON
  truthfed simulate --print-config > config.toml           all keys, to start from
  truthfed simulate config.toml --seeds 10 --out run       write tables and every round
  truthfed simulate --seeds 2 --out tables --no-rounds     write the tables only
  gzip -dc run/rounds/seed-1.jsonl.gz | sed -n 3p | truthfed auction -  run the third round again

Exit codes: 0 done, 2 the input is wrong.")]
pub(crate) struct SimulateArgs {
    /// The configuration, a TOML file; - reads standard input [default: the paper's setting with clock]
    #[arg(value_name = "CONFIG.toml")]
    pub(crate) config: Option<PathBuf>,

    /// Change one key of the configuration, such as world.clients=50; can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Run under seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = value_parser!(u64).range(1..=MAX_SEEDS))]
    pub(crate) seeds: u64,

    /// Write tables and all rounds to this folder, made if it is not there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Leave out the rounds as documents, most of what is written; the tables stay
    #[arg(long, requires = "out")]
    pub(crate) no_rounds: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Print all keys of a configuration with their defaults and stop
    #[arg(long, exclusive = true)]
    pub(crate) print_config: bool,

    /// Print the JSON schema of a configuration and stop
    #[arg(long, exclusive = true)]
    pub(crate) print_schema: bool,

    /// Print a small made-up log of ratings in the layout of MovieLens and stop
    #[arg(long, exclusive = true)]
    pub(crate) print_ratings: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A sweep is a configuration (truthfed simulate --print-config) with lists to combine:

  [sweep]
  seeds = 5
  [sweep.grid]
  \"world.clients\" = [10, 25]
  \"rounds.mechanism\" = [\"clock\", \"greedy\"]

Examples:
  truthfed sweep sweep.toml                        a table of all points
  truthfed sweep sweep.toml --out grid             write each cell when it is done, then results
  truthfed sweep sweep.toml --out grid             after an interruption: go on
  truthfed sweep sweep.toml --jobs 2 --json        two cells at once, one JSON object
  truthfed sweep sweep.toml --out grid --part 3/8  a task of a Slurm array: an eighth of the cells
  truthfed sweep sweep.toml --out grid --collect   the results of all parts

Exit codes: 0 done, 2 the input is wrong.")]
pub(crate) struct SweepArgs {
    /// The sweep, a TOML file; - reads standard input
    #[arg(value_name = "SWEEP.toml")]
    pub(crate) sweep: PathBuf,

    /// Cells to compute at once [default: as many as threads]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=MAX_THREADS))]
    pub(crate) jobs: Option<u16>,

    /// Write cells and results to this folder, made if it is not there; cells that are there are taken over
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Compute only the i-th of n parts of the cells, to collect them later; parts may run at the same time, on any machine
    #[arg(long, value_name = "I/N", requires = "out", conflicts_with = "json", value_parser = part)]
    pub(crate) part: Option<Part>,

    /// Write the results of cells that parts computed; the same bytes as one run would write
    #[arg(long, requires = "out", conflicts_with_all = ["part", "jobs"])]
    pub(crate) collect: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

fn part(text: &str) -> Result<Part, String> {
    let parts = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    let (number, of) = parts.ok_or("it must be of the form I/N, such as 2/8")?;
    Part::new(number, of).map_err(|error| error.to_string())
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed simulate --out clock --no-rounds                            a run to draw
  truthfed simulate --set rounds.mechanism=alone --out alone           and another
  truthfed plot clock -x step -y regret                                plot.svg, .pdf, .png, .csv
  truthfed plot clock alone -x step -y regret -y reward --out both     two lines, two charts
  truthfed plot clock -x behaviour -y utility --width 3.3in --out bar  bars; a column of a paper
  truthfed sweep sweep.toml --out grid                                 a sweep to draw
  truthfed plot grid -x world.clients -y incentive --log-y --out grow  a line per other key

A value is the mean over seeds, with its standard deviation. NAME-seeds.csv has the value of each
seed. Files of the same names are replaced.

Exit codes: 0 done, 2 the input is wrong.")]
pub(crate) struct PlotArgs {
    /// Folders that simulate or sweep wrote; each is a line, or a group of lines
    #[arg(value_name = "RUN|SWEEP", required = true)]
    pub(crate) folders: Vec<PathBuf>,

    /// The column of the horizontal axis; one of names gives bars
    #[arg(short, value_name = "COLUMN")]
    pub(crate) x: String,

    /// The column of the vertical axis; can be repeated, for a chart each
    #[arg(short, value_name = "COLUMN", required = true)]
    pub(crate) y: Vec<String>,

    /// A line for each value of this column too; can be repeated
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: Vec<String>,

    /// The width of the figure, from 2in to 20in; units are in, cm, mm, pt and px
    #[arg(long, default_value = "8.75in", value_parser = width)]
    pub(crate) width: Width,

    /// A logarithmic horizontal axis
    #[arg(long)]
    pub(crate) log_x: bool,

    /// A logarithmic vertical axis
    #[arg(long)]
    pub(crate) log_y: bool,

    /// What the names of the files begin with, in any folder
    #[arg(long, value_name = "NAME", default_value = "plot")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truthfed view out/reproduce                figures and claims of a reproduction
  truthfed view out/reproduce/claims.json    the claims alone
  truthfed view clock                        a run of simulate: any column over any other
  truthfed view clock greedy                 two runs in one figure
  truthfed view grid --port 7600             a sweep; from elsewhere: ssh -L 7600:127.0.0.1:7600 HOST

Open the link that it prints, on this machine. It opens the page once, and Ctrl-C ends the page. Nothing is changed.

Exit codes: 0 done, 2 the input is wrong.")]
pub(crate) struct ViewArgs {
    /// A folder that reproduce, simulate or sweep wrote, or a claims.json; of runs and sweeps also several
    #[arg(value_name = "DIR|claims.json", required = true)]
    pub(crate) places: Vec<PathBuf>,

    /// The port on 127.0.0.1 [default: any that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
}

/// The width of a figure in pixels, of which an inch has 96.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Width(pub(crate) f64);

fn width(text: &str) -> Result<Width, String> {
    let units = [("in", 96.0), ("cm", 96.0 / 2.54), ("mm", 96.0 / 25.4), ("pt", 96.0 / 72.0), ("px", 1.0)];
    let parsed = units.iter().find_map(|(unit, pixels)| {
        let number: f64 = text.trim().strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * pixels)
    });
    let pixels = parsed.ok_or_else(|| format!("`{text}` is not a width such as 3.3in, 84mm or 400px"))?;
    match (2.0 * 96.0..=20.0 * 96.0).contains(&pixels) {
        true => Ok(Width(pixels)),
        false => Err(format!("{text} must lie between 2in and 20in")),
    }
}

/// Numbers a generated round may hold in all: 4 GiB of them.
const MAX_NUMBERS: usize = 1 << 29;

/// Clients and dimension of a generated round.
fn size(text: &str) -> Result<(usize, usize), String> {
    let expected = || format!("`{text}` is not of the form N,d, such as 1000,5");
    let (clients, dimension) = text.split_once(',').ok_or_else(expected)?;
    let clients: usize = clients.trim().parse().map_err(|_| expected())?;
    let dimension: usize = dimension.trim().parse().map_err(|_| expected())?;
    if !(1..=10_000_000).contains(&clients) {
        return Err(format!("N is {clients}: it must lie in 1..=10000000"));
    }
    if !(1..=512).contains(&dimension) {
        return Err(format!("d is {dimension}: it must lie in 1..=512"));
    }
    let numbers = clients * dimension * (dimension + 1) / 2;
    if numbers > MAX_NUMBERS {
        return Err(format!("N d (d + 1) / 2 is {numbers}: it must be at most {MAX_NUMBERS}"));
    }
    Ok((clients, dimension))
}

fn coverage(text: &str) -> Result<Coverage, String> {
    let ratio = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    Coverage::ratio(ratio).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
