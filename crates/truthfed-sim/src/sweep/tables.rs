//! The results of a sweep as files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::{Serialize, Serializer};
use toml::Value;

use super::Sweep;
use super::grid::Axis;
use crate::config::RawConfig;
use crate::output::{
    OutputError, OutputFolder, Writer, csv_field, figure_names, figure_values, hash_inputs, input_files,
};
use crate::totals::{FIGURES, SeedTotals, Summary};

/// Writes the tables of a sweep whose cells are all there, and the manifest. Returns how many files there are.
pub fn write_results(folder: OutputFolder, sweep: &Sweep, totals: &[SeedTotals]) -> Result<usize, OutputError> {
    #[derive(Serialize)]
    struct Details<'a> {
        config: &'a RawConfig,
        grid: Grid<'a>,
        seeds: u64,
        inputs: BTreeMap<String, String>,
    }
    folder.write("sweep.toml", |out| out.write_all(sweep.text.as_bytes()))?;
    folder.write("results.csv", |out| results(out, sweep, totals))?;
    folder.write("summary.csv", |out| summary(out, sweep, totals))?;
    let paths: BTreeSet<_> = sweep.points().iter().flat_map(|point| input_files(&point.config)).collect();
    let inputs = hash_inputs(paths)?;
    folder.finish(Details { config: sweep.base().raw(), grid: Grid(&sweep.axes), seeds: sweep.seeds(), inputs })
}

/// The lists of the grid, in their order.
struct Grid<'a>(&'a [Axis]);

impl Serialize for Grid<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|axis| (&axis.key, &axis.values)))
    }
}

/// Every cell: the keys of the grid, the seed, and all totals.
fn results(out: &mut Writer<'_>, sweep: &Sweep, totals: &[SeedTotals]) -> io::Result<()> {
    write_keys(out, sweep)?;
    write!(out, "seed,steps")?;
    figure_names(out)?;
    for (point, runs) in sweep.points().iter().zip(totals.chunks(sweep.seeds() as usize)) {
        for run in runs {
            write_values(out, &point.values)?;
            write!(out, "{},{}", run.seed, run.totals.steps)?;
            figure_values(out, &run.totals)?;
        }
    }
    Ok(())
}

/// Every point: the keys of the grid, and mean and standard deviation of each figure.
fn summary(out: &mut Writer<'_>, sweep: &Sweep, totals: &[SeedTotals]) -> io::Result<()> {
    write_keys(out, sweep)?;
    write!(out, "seeds")?;
    FIGURES.iter().try_for_each(|figure| write!(out, ",{0}_mean,{0}_sd", figure.name))?;
    writeln!(out)?;
    for (point, runs) in sweep.points().iter().zip(totals.chunks(sweep.seeds() as usize)) {
        write_values(out, &point.values)?;
        write!(out, "{}", runs.len())?;
        Summary::of(runs).iter().try_for_each(|(_, spread)| write!(out, ",{},{}", spread.mean, spread.sd))?;
        writeln!(out)?;
    }
    Ok(())
}

fn write_keys(out: &mut Writer<'_>, sweep: &Sweep) -> io::Result<()> {
    sweep.keys().try_for_each(|key| write!(out, "{},", csv_field(key)))
}

fn write_values(out: &mut Writer<'_>, values: &[Value]) -> io::Result<()> {
    values.iter().try_for_each(|value| match value {
        Value::String(text) => write!(out, "{},", csv_field(text)),
        other => write!(out, "{other},"),
    })
}
