//! `truthfed-proof load`: measures a coordinator under load and attack, and compares the figures with their bounds.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::ensure;
use clap::ValueEnum;
use truthfed_cli::progress::say;
use truthfed_cli::report::{Report, json};
use truthfed_node::testing::{Database, Place};
use truthfed_proof::load::figures::{Figure, Figures};
use truthfed_proof::load::plan::Plan;
use truthfed_proof::load::world::{Shape, World};
use truthfed_proof::load::{attack, burst, ledger, machine, outage, page, takeover, wide};

use crate::args::{JournalArgs, LoadArgs, Part};

const NO_DATABASE: &str = "there is no PostgreSQL to measure with: `make load` and scripts/postgres.sh start one";

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
        if matches!(part, Part::Takeover | Part::Outage) && !Database::is_there() {
            ensure!(args.only.is_empty(), NO_DATABASE);
            say(&format!("{part:?} is left out: {NO_DATABASE}"));
            continue;
        }
        figures.figures.extend(run.part(*part)?);
    }
    let text = if args.json { json(&figures) } else { figures.table() };
    Ok(if figures.hold() { Report::done(text) } else { Report::refuted(text) })
}

/// Makes a federation as the page is measured with.
pub(crate) fn make_journal(JournalArgs { folder, rounds, members }: &JournalArgs) -> anyhow::Result<Report> {
    let world = World::make(folder, &page_shape(usize::from(*members))?)?;
    let entries = page::fill(&world, *rounds)?;
    let folder = folder.display();
    Ok(Report::done(format!("{folder} has {rounds} rounds of {members} members, {entries} entries.\n")))
}

fn page_shape(members: usize) -> std::io::Result<Shape> {
    Shape::new(members, 2 * members, page::COVERAGE).at_free_ports()
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
            Part::Wide => self.wide(),
            Part::Takeover => self.takeover(),
            Part::Outage => self.outage(),
            Part::Ledger => self.ledger(),
            Part::Page => self.page(),
        }
    }

    fn burst(&self, agents: usize) -> anyhow::Result<Vec<Figure>> {
        let world = self.world(&format!("burst-{agents}"), &Shape::new(agents, 2 * agents, burst::COVERAGE))?;
        self.runtime.block_on(burst::burst(&world, &self.program))
    }

    fn attack(&self) -> anyhow::Result<Vec<Figure>> {
        let members = attack::members(&self.plan);
        // Strangers have half of the seats; newcomers open two more each.
        let connections = 2 * (self.plan.hostile + members + self.plan.honest);
        let world = self.world("attack", &Shape::new(members, connections, attack::COVERAGE))?;
        self.runtime.block_on(attack::attack(&world, &self.program, &self.plan))
    }

    fn wide(&self) -> anyhow::Result<Vec<Figure>> {
        let world = self.world("wide", &wide::shape(&self.plan))?;
        self.runtime.block_on(wide::wide(&world, &self.program, &self.plan))
    }

    fn takeover(&self) -> anyhow::Result<Vec<Figure>> {
        let database = Database::create();
        let world = self.world("takeover", &takeover::shape(&self.plan, database.address()))?;
        let figures = self.runtime.block_on(takeover::takeover(&world, &self.program, &self.plan))?;
        world.check_ledger()?;
        Ok(figures)
    }

    fn outage(&self) -> anyhow::Result<Vec<Figure>> {
        let database = Database::create();
        let (gate, address) = outage::Gate::to(database.address())?;
        let world = self.world("outage", &outage::shape(&address))?;
        let figures = self.runtime.block_on(outage::outage(&world, &self.program, &gate, &self.plan))?;
        world.check_ledger()?;
        Ok(figures)
    }

    fn ledger(&self) -> anyhow::Result<Vec<Figure>> {
        let Plan { members, rows, .. } = self.plan;
        let world = self.world("ledger", &Shape::new(members, 2 * members, ledger::COVERAGE))?;
        let started = Instant::now();
        let entries = ledger::fill(&world, rows)?;
        say(&format!("made a journal of {entries} entries in {:.0} s", started.elapsed().as_secs_f64()));
        let mut figures = vec![self.runtime.block_on(ledger::restart(&world, &self.program))?];
        figures.extend(ledger::verify(&world)?);
        Ok(figures)
    }

    fn page(&self) -> anyhow::Result<Vec<Figure>> {
        let Plan { members, rounds, .. } = self.plan;
        let world = self.world("page", &page_shape(members)?)?;
        let started = Instant::now();
        let entries = page::fill(&world, rounds)?;
        say(&format!("made a journal of {entries} entries in {:.0} s", started.elapsed().as_secs_f64()));
        self.runtime.block_on(page::views(&world, &self.program, rounds))
    }

    fn world(&self, name: &str, shape: &Shape) -> anyhow::Result<World> {
        machine::allow_connections(shape.connections as u64)?;
        let started = Instant::now();
        let world = World::make(&self.place.join(name), shape)?;
        let (members, took) = (shape.members, started.elapsed().as_secs_f64());
        say(&format!("{name}: made a federation of {members} members in {took:.0} s"));
        Ok(world)
    }
}
