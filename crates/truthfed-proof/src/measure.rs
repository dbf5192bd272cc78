//! `truthfed-proof load`: measures a coordinator under load and attack, and compares the figures with their bounds.

use std::path::PathBuf;
use std::time::Instant;

use clap::ValueEnum;
use truthfed_cli::progress::say;
use truthfed_cli::report::{Report, json};
use truthfed_proof::load::figures::{Figure, Figures};
use truthfed_proof::load::plan::Plan;
use truthfed_proof::load::world::World;
use truthfed_proof::load::{attack, burst, ledger, machine};

use crate::args::{LoadArgs, Part};

pub(crate) fn run(args: &LoadArgs) -> anyhow::Result<Report> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let place = tempfile::tempdir_in(&args.folder)?;
    let run =
        Run { plan: args.plan.clone(), runtime, program: std::env::current_exe()?, place: place.path().to_owned() };
    if args.keep {
        say(&format!("federations are left in {}", place.keep().display()));
    }
    let mut figures = Figures { figures: machine::describe(&run.place)? };
    let parts = if args.only.is_empty() { Part::value_variants() } else { &args.only };
    for part in parts {
        figures.figures.extend(run.part(*part)?);
    }
    let text = if args.json { json(&figures) } else { figures.table() };
    Ok(if figures.hold() { Report::done(text) } else { Report::refuted(text) })
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
            Part::Burst => {
                let bursts: anyhow::Result<Vec<_>> =
                    self.plan.bursts.iter().map(|&agents| self.burst(agents)).collect();
                Ok(bursts?.concat())
            }
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
        // Strangers have half of the seats; newcomers open two more each.
        let connections = 2 * (self.plan.hostile + members + self.plan.honest);
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
