//! `truthfed simulate`: runs one configuration under some seeds.

use std::path::Path;

use serde::Serialize;
use truthfed_sim::config::{Config, ConfigError, RawConfig, default_toml};
use truthfed_sim::experiment::{Spread, run_seeds};
use truthfed_sim::output::{Documents, OutputFolder, SIMULATION, write_simulation};
use truthfed_sim::totals::{ByName, Figure, SeedTotals, Summary};
use truthfed_sim::world::sample_ratings;

use crate::args::SimulateArgs;
use crate::progress::Progress;
use crate::report::{Report, counted, json, table};
use crate::source;

/// Up to this many seeds get their own column.
const FEW: usize = 5;

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<Report> {
    if args.print_config {
        return Ok(Report::done(default_toml()));
    }
    if args.print_schema {
        return Ok(Report::done(json(&schemars::schema_for!(RawConfig))));
    }
    if args.print_ratings {
        return Ok(Report::done(sample_ratings(1)));
    }
    let config = configuration(args)?;
    // Open the folder first, so that nobody waits for results that cannot be written.
    let folder = args.out.as_deref().map(|path| OutputFolder::open(path, &SIMULATION)).transpose()?;
    let progress = Progress::new("runs", args.seeds);
    let runs = run_seeds(&config, args.seeds, || progress.step())?;
    progress.finish();
    let totals: Vec<SeedTotals> = runs.iter().map(SeedTotals::from).collect();
    let mut text = if args.json { as_object(&config, &totals) } else { as_table(&config, &totals) };
    if let Some(folder) = folder {
        let path = folder.path().display().to_string();
        let documents = if args.no_rounds { Documents::LeftOut } else { Documents::Written };
        let files = write_simulation(folder, &config, &runs, documents)?;
        if !args.json {
            text.push_str(&format!("Wrote {files} files to {path}.\n"));
        }
    }
    Ok(Report::done(text))
}

fn configuration(args: &SimulateArgs) -> anyhow::Result<Config> {
    let read = |path: &Path| source::read(path, source::MAX_CONFIG);
    let text = args.config.as_deref().map_or(Ok(String::new()), read)?;
    Config::read(&text, &args.set).map_err(|error| match culprit(&text, &args.set) {
        Some(change) => anyhow::Error::from(without_line(error)).context(format!("--set {change}")),
        None => anyhow::Error::from(error).context(args.config.as_deref().map_or("defaults".to_owned(), source::name)),
    })
}

/// Removes the line: a `--set` is at fault, not the file.
fn without_line(error: ConfigError) -> ConfigError {
    match error {
        ConfigError::Value { key, problem, .. } => ConfigError::Value { key, problem, line: None },
        error => error,
    }
}

/// The `--set` that made a valid configuration invalid; `None` if the file itself is invalid.
fn culprit<'a>(text: &str, changes: &'a [String]) -> Option<&'a str> {
    let is_valid = |count: usize| Config::read(text, &changes[..count]).is_ok();
    (0..changes.len()).rev().find(|&count| is_valid(count)).map(|count| changes[count].as_str())
}

#[derive(Serialize)]
struct Simulated<'a> {
    config: &'a RawConfig,
    seeds: &'a [SeedTotals],
    mean: ByName,
    sd: ByName,
}

fn as_object(config: &Config, totals: &[SeedTotals]) -> String {
    let summary = Summary::of(totals);
    json(&Simulated { config: config.raw(), seeds: totals, mean: summary.mean(), sd: summary.sd() })
}

fn as_table(config: &Config, totals: &[SeedTotals]) -> String {
    let few = if totals.len() <= FEW { totals } else { &[] };
    let seeds: Vec<String> = few.iter().map(|run| format!("seed {}", run.seed)).collect();
    let header: Vec<&str> = ["", "mean", "sd"].into_iter().chain(seeds.iter().map(String::as_str)).collect();
    let row = |(figure, spread): (&Figure, Spread)| {
        let own = few.iter().map(|run| own(figure, (figure.of)(&run.totals)));
        let mean_and_sd = [figure.title.to_owned(), average(figure, spread.mean), average(figure, spread.sd)];
        mean_and_sd.into_iter().chain(own).collect()
    };
    let rows = Summary::of(totals).iter().map(row).collect();
    let right: Vec<usize> = (1..header.len()).collect();
    format!("{}\n{}", headline(config, totals.len()), table(&header, &right, rows))
}

fn headline(config: &Config, seeds: usize) -> String {
    let world = &config.raw().world;
    let seeds = if seeds == 1 { "seed 1".to_owned() } else { format!("seeds 1 to {seeds}") };
    let (mechanism, clients) = (&config.raw().rounds.mechanism, counted(world.clients, "client"));
    format!("{mechanism}: {clients}, dimension {}, {} steps, {seeds}.", world.dimension, world.steps)
}

/// The value of one run.
fn own(figure: &Figure, value: f64) -> String {
    if figure.is_count { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// A mean or a deviation.
pub(crate) fn average(figure: &Figure, value: f64) -> String {
    if figure.is_count { format!("{value:.1}") } else { format!("{value:.2}") }
}
