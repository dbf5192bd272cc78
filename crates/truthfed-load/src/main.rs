//! `load`: measures a coordinator under load and attack, and compares the figures with their bounds.
//!
//! Exit codes: 0 all bounds are kept, 1 one is missed, 2 something could not be measured.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand, ValueEnum};
use truthfed_load::figures::{Figure, Figures};
use truthfed_load::plan::Plan;
use truthfed_load::world::World;
use truthfed_load::{attack, burst, ledger, machine, server};

/// As in `truthfed`: memory is often given back by another thread than took it, for which the system's allocator takes locks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Load and attacks on a real coordinator over loopback
#[derive(Debug, Parser)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// What to measure; all of it unless told
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,

    /// Agents of each burst
    #[arg(long, value_delimiter = ',', default_values_t = Plan::default().bursts, value_parser = at_least_two)]
    agents: Vec<usize>,

    /// Slow and half open connections
    #[arg(long, default_value_t = Plan::default().hostile)]
    hostile: usize,

    /// How long rounds go on, quiet and under each attack
    #[arg(long, value_name = "SECONDS", default_value_t = Plan::default().attacked.as_secs())]
    attacked: u64,

    /// Entries of the long journal
    #[arg(long, default_value_t = Plan::default().rows)]
    rows: u64,

    /// Members of the long journal
    #[arg(long, default_value_t = Plan::default().members, value_parser = at_least_two)]
    members: usize,

    /// Where federations are made, and removed again: on the disk that is to be measured
    #[arg(long, value_name = "FOLDER", default_value_os_t = std::env::temp_dir())]
    folder: PathBuf,

    /// Leaves the federations where they were made, with the coordinators' logs
    #[arg(long)]
    keep: bool,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The coordinator's process
    #[command(hide = true)]
    Serve {
        /// The folder of a federation
        folder: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Everyone offers at once; memory of connections
    Burst,
    /// Rounds among slow connections and floods
    Attack,
    /// A long journal: restart and verification
    Ledger,
}

fn at_least_two(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 2..=10_000) => Ok(count),
        _ => Err("it must be a number from 2 to 10000".to_owned()),
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Some(Command::Serve { folder }) => server::serve(folder).map(|()| ExitCode::SUCCESS),
        None => measure(&args),
    };
    done.unwrap_or_else(|error| {
        // Nothing is left to do when standard error is closed too.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(2)
    })
}

fn measure(args: &Args) -> anyhow::Result<ExitCode> {
    let plan = Plan {
        bursts: args.agents.clone(),
        hostile: args.hostile,
        attacked: Duration::from_secs(args.attacked),
        rows: args.rows,
        members: args.members,
        ..Plan::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let place = tempfile::tempdir_in(&args.folder)?;
    let run = Run { plan, runtime, program: std::env::current_exe()?, place: place.path().to_owned() };
    if args.keep {
        say(&format!("federations are left in {}", place.keep().display()));
    }
    let mut figures = Figures { figures: machine::describe(&run.place)? };
    let parts = if args.only.is_empty() { Part::value_variants() } else { &args.only };
    for part in parts {
        figures.figures.extend(run.part(*part)?);
    }
    let text = if args.json { figures.json() } else { figures.table() };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(if figures.hold() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// How much is measured, by what, and where.
struct Run {
    plan: Plan,
    runtime: tokio::runtime::Runtime,
    program: PathBuf,
    place: PathBuf,
}

impl Run {
    fn part(&self, part: Part) -> anyhow::Result<Vec<Figure>> {
        match part {
            Part::Burst => self.plan.bursts.iter().try_fold(Vec::new(), |mut figures, &agents| {
                figures.extend(self.burst(agents)?);
                Ok(figures)
            }),
            Part::Attack => self.attack(),
            Part::Ledger => self.ledger(),
        }
    }

    fn burst(&self, agents: usize) -> anyhow::Result<Vec<Figure>> {
        let world = self.world(&format!("burst-{agents}"), agents, 2 * agents, burst::COVERAGE)?;
        self.runtime.block_on(burst::burst(&world, &self.program))
    }

    fn attack(&self) -> anyhow::Result<Vec<Figure>> {
        let members = attack::members(&self.plan);
        // Newcomers open two more each.
        let connections = self.plan.hostile + 2 * (members + self.plan.honest);
        let world = self.world("attack", members, connections, attack::COVERAGE)?;
        self.runtime.block_on(attack::attack(&world, &self.program, &self.plan))
    }

    fn ledger(&self) -> anyhow::Result<Vec<Figure>> {
        let Plan { members, rows, .. } = self.plan;
        let world = self.world("ledger", members, 2 * members, ledger::COVERAGE)?;
        let started = Instant::now();
        let entries = ledger::fill(&world, rows)?;
        say(&format!("made a journal of {entries} entries in {:.0} s", started.elapsed().as_secs_f64()));
        let mut figures = vec![self.runtime.block_on(ledger::restart(&world, &self.program))?];
        figures.extend(ledger::verify(&world)?);
        Ok(figures)
    }

    fn world(&self, name: &str, members: usize, connections: usize, coverage: f64) -> anyhow::Result<World> {
        machine::allow_connections(connections as u64)?;
        let started = Instant::now();
        let world = World::make(&self.place.join(name), members, connections, coverage)?;
        say(&format!("made a federation of {members} members in {:.0} s", started.elapsed().as_secs_f64()));
        Ok(world)
    }
}

/// Progress, on standard error.
fn say(text: &str) {
    // Who does not listen misses nothing.
    let _ = writeln!(std::io::stderr(), "{text}");
}
