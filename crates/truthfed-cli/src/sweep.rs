//! `truthfed sweep`: runs a grid of configurations, each under some seeds.

use std::path::Path;

use anyhow::Context;
use serde::{Serialize, Serializer};
use truthfed::Stop;
use truthfed_sim::config::RawConfig;
use truthfed_sim::experiment::Spread;
use truthfed_sim::output::{OutputFolder, SWEEP};
use truthfed_sim::sweep::{Event, Part, Plan, Point, Sweep, collect, run as run_sweep, run_part, write_results};
use truthfed_sim::totals::{ByName, FIGURES, Figure, SeedTotals, Summary};

use crate::args::SweepArgs;
use crate::progress::Progress;
use crate::report::{Report, counted, json, table};
use crate::simulate::average;
use crate::source;

/// Most rows of the table; the rest is counted.
const SHOWN: usize = 40;

const LISTED: [&str; 6] = ["regret", "rounds", "scalars", "participations", "social_cost", "incentive"];

pub(crate) fn run(args: &SweepArgs) -> anyhow::Result<Report> {
    let sweep =
        Sweep::read(&source::read(&args.sweep, source::MAX_CONFIG)?).with_context(|| source::name(&args.sweep))?;
    if let (Some(part), Some(out)) = (args.part, &args.out) {
        return compute(&sweep, part, out, args.jobs);
    }
    let folder = args.out.as_deref().map(|path| OutputFolder::open(path, &SWEEP)).transpose()?;
    let progress = Progress::new("cells", sweep.cells() as u64);
    let tell = |event: Event<'_>| tell(&progress, event);
    let totals = match &folder {
        Some(folder) if args.collect => collect(&sweep, folder, &tell)?,
        folder => run_sweep(&sweep, folder.as_ref(), jobs(args.jobs), &tell)?,
    };
    progress.finish();
    let mut text = if args.json { as_object(&sweep, &totals) } else { as_table(&sweep, &totals) };
    if let Some(folder) = folder {
        let path = folder.path().display().to_string();
        let files = write_results(folder, &sweep, &totals)?;
        if !args.json {
            text.push_str(&format!("Wrote {files} files to {path}.\n"));
        }
    }
    Ok(Report::done(text))
}

fn jobs(asked: Option<u16>) -> usize {
    asked.map_or_else(rayon::current_num_threads, usize::from)
}

/// Computes a part of the cells. The results wait for the others.
fn compute(sweep: &Sweep, part: Part, out: &Path, asked: Option<u16>) -> anyhow::Result<Report> {
    let folder = OutputFolder::share(out, &SWEEP)?;
    let own = (0..sweep.cells()).filter(|&cell| part.has(cell)).count();
    let progress = Progress::new("cells", own.max(1) as u64);
    let plan = Plan { part, jobs: jobs(asked), stop: Stop::never() };
    run_part(sweep, Some(&folder), &plan, &|event| tell(&progress, event))?;
    progress.finish();
    Ok(Report::done(format!("{own} of {} are in {}.\n", counted(sweep.cells(), "cell"), out.display())))
}

fn tell(progress: &Progress, event: Event<'_>) {
    match event {
        Event::Unfit { name, problem } => progress.note(&format!("computing cells/{name} again: {problem}")),
        Event::Unknown { cells } => {
            progress.note(&format!("cells on disk that belong to no point of this sweep, removed at the end: {cells}"));
        }
        Event::Started { kept, cells } => {
            progress.start(kept as u64);
            if kept > 0 {
                progress.note(&format!("{kept} of {cells} cells are already done"));
            }
        }
        Event::Done { .. } => progress.step(),
    }
}

/// Each point with the totals of its runs.
fn points<'a>(sweep: &'a Sweep, totals: &'a [SeedTotals]) -> impl Iterator<Item = (&'a Point, &'a [SeedTotals])> {
    sweep.points().iter().zip(totals.chunks(sweep.seeds() as usize))
}

fn as_table(sweep: &Sweep, totals: &[SeedTotals]) -> String {
    let listed: Vec<&Figure> =
        LISTED.iter().filter_map(|name| FIGURES.iter().find(|figure| figure.name == *name)).collect();
    let header: Vec<&str> = sweep.keys().chain(listed.iter().map(|figure| figure.title)).collect();
    let row = |(point, runs): (&Point, &[SeedTotals])| {
        let spread = |figure: &&Figure| {
            let spread = Spread::of(runs.iter().map(|run| (figure.of)(&run.totals)));
            format!("{} ± {}", average(figure, spread.mean), average(figure, spread.sd))
        };
        point.values.iter().map(plain).chain(listed.iter().map(spread)).collect()
    };
    let rows = points(sweep, totals).take(SHOWN).map(row).collect();
    let right: Vec<usize> = (header.len() - listed.len()..header.len()).collect();
    let (count, seeds) = (sweep.points().len(), counted(sweep.seeds() as usize, "seed"));
    let table = table(&header, &right, rows);
    let mut text = format!("{count} points, {seeds} each (mean ± standard deviation).\n{table}");
    if let Some(more @ 1..) = count.checked_sub(SHOWN) {
        text.push_str(&format!("and {more} more points (all with --out or --json)\n"));
    }
    text
}

/// A value of the grid without quotes.
fn plain(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[derive(Serialize)]
struct Swept<'a> {
    config: &'a RawConfig,
    points: Vec<SweptPoint<'a>>,
}

#[derive(Serialize)]
struct SweptPoint<'a> {
    grid: Settings<'a>,
    seeds: &'a [SeedTotals],
    mean: ByName,
    sd: ByName,
}

/// The keys of the grid with the values of a point, in their order.
struct Settings<'a> {
    sweep: &'a Sweep,
    point: &'a Point,
}

impl Serialize for Settings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.sweep.keys().zip(&self.point.values))
    }
}

fn as_object(sweep: &Sweep, totals: &[SeedTotals]) -> String {
    let point = |(point, runs): (_, _)| {
        let summary = Summary::of(runs);
        SweptPoint { grid: Settings { sweep, point }, seeds: runs, mean: summary.mean(), sd: summary.sd() }
    };
    json(&Swept { config: sweep.base().raw(), points: points(sweep, totals).map(point).collect() })
}
