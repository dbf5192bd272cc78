//! The grid of a sweep, from TOML.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::SweepError;
use crate::config::{Config, ConfigError, Parts, RawConfig, from_table, line_at, put};

/// Most cells of a sweep: each is a file, and names have five digits.
const MAX_CELLS: u64 = 100_000;

/// A valid sweep: every point of its grid is a valid configuration.
#[derive(Debug, Clone)]
pub struct Sweep {
    pub(super) text: String,
    base: Config,
    seeds: u64,
    pub(super) axes: Vec<Axis>,
    points: Vec<Point>,
}

#[derive(Debug, Clone)]
pub struct Point {
    /// The values of the keys of the grid, in their order.
    pub values: Vec<Value>,
    pub config: Config,
}

#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub(super) key: String,
    pub(super) values: Vec<Value>,
    line: usize,
}

#[derive(Deserialize)]
struct File {
    sweep: Option<RawSweep>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSweep {
    #[serde(default = "five")]
    seeds: u64,
    #[serde(default)]
    grid: BTreeMap<Spanned<String>, Value>,
}

fn five() -> u64 {
    5
}

impl Sweep {
    /// Reads a sweep and checks every point of it. The error names the key or the point, what is allowed, and the line.
    pub fn read(text: &str) -> Result<Sweep, SweepError> {
        Sweep::read_with(text, &Parts::default())
    }

    /// The same with mechanisms, a cost or a world of the caller's own.
    pub fn read_with(text: &str, parts: &Parts) -> Result<Sweep, SweepError> {
        let file: File = toml::from_str(text).map_err(ConfigError::from)?;
        let raw = file.sweep.filter(|sweep| !sweep.grid.is_empty()).ok_or(SweepError::NoGrid)?;
        let plain = without_sweep(text)?;
        let base = Config::read_with(&plain, &[], parts)?;
        let table: Table = toml::from_str(&plain).map_err(ConfigError::from)?;
        let axes = axes(text, raw.grid)?;
        check_size(&axes, raw.seeds)?;
        axes.iter().try_for_each(|axis| axis.check(&table))?;
        let points = points(&table, &axes, parts)?;
        Ok(Sweep { text: text.to_owned(), base, seeds: raw.seeds, axes, points })
    }

    /// The configuration that the points change.
    pub fn base(&self) -> &Config {
        &self.base
    }

    /// Every point is run under seeds `1..=seeds`.
    pub fn seeds(&self) -> u64 {
        self.seeds
    }

    /// The keys of the grid, as they are written.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(|axis| axis.key.as_str())
    }

    /// The points of the grid; the last key changes first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    pub fn cells(&self) -> usize {
        self.points.len() * self.seeds as usize
    }
}

impl Axis {
    /// Every value must be of the type of the key, and different from the others.
    fn check(&self, table: &Table) -> Result<(), SweepError> {
        let wrong = |problem| SweepError::Key { line: self.line, key: self.key.clone(), problem };
        let mut seen = BTreeSet::new();
        for value in &self.values {
            let raw = changed(table, [(self.key.as_str(), value)]).map_err(wrong)?;
            if !seen.insert(serde_json::to_string(&raw).expect("a configuration is JSON")) {
                return Err(wrong(format!("{value} stands there twice")));
            }
        }
        Ok(())
    }
}

/// The text with the lines of its sweep left empty, so that all others keep their numbers.
fn without_sweep(text: &str) -> Result<String, SweepError> {
    let mut inside = false;
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        if let Some(header) = line.trim_start().strip_prefix('[') {
            let name = header.split([']', '.']).next().unwrap_or(header);
            inside = name.trim() == "sweep";
        }
        plain.push_str(if inside { "" } else { line });
        plain.push('\n');
    }
    let mut expected: Table = toml::from_str(text).map_err(ConfigError::from)?;
    expected.remove("sweep");
    match toml::from_str::<Table>(&plain) {
        Ok(table) if table == expected => Ok(plain),
        _ => Err(SweepError::NotATable),
    }
}

/// The axes, in the order in which they are written.
fn axes(text: &str, grid: BTreeMap<Spanned<String>, Value>) -> Result<Vec<Axis>, SweepError> {
    let mut grid: Vec<_> = grid.into_iter().collect();
    grid.sort_by_key(|(key, _)| key.span().start);
    grid.into_iter().map(|(key, values)| axis(text, key, values)).collect()
}

fn axis(text: &str, key: Spanned<String>, values: Value) -> Result<Axis, SweepError> {
    let line = line_at(text, key.span().start);
    let key = key.into_inner();
    let problem = match values {
        Value::Array(values) if !values.is_empty() => return Ok(Axis { key, values, line }),
        Value::Array(_) => "the list is empty".to_owned(),
        Value::Table(inner) => {
            let inner = inner.keys().next().map_or("key", String::as_str);
            format!("the whole key stands in quotes: \"{key}.{inner}\" = [...]")
        }
        value => format!("is {value}: it must be a list, such as [{value}]"),
    };
    Err(SweepError::Key { line, key, problem })
}

fn check_size(axes: &[Axis], seeds: u64) -> Result<(), SweepError> {
    let cells = axes.iter().fold(seeds, |cells, axis| cells.saturating_mul(axis.values.len() as u64));
    match cells {
        0 => Err(SweepError::NoSeeds),
        1..=MAX_CELLS => Ok(()),
        _ => Err(SweepError::TooManyCells(cells)),
    }
}

/// Every point of the grid, checked.
fn points(table: &Table, axes: &[Axis], parts: &Parts) -> Result<Vec<Point>, SweepError> {
    let count: usize = axes.iter().map(|axis| axis.values.len()).product();
    let points: Vec<_> = (0..count).into_par_iter().map(|index| point(table, axes, index, parts)).collect();
    points.into_iter().collect()
}

fn point(table: &Table, axes: &[Axis], index: usize, parts: &Parts) -> Result<Point, SweepError> {
    let mut rest = index;
    let mut values = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        values.push(axis.values[rest % axis.values.len()].clone());
        rest /= axis.values.len();
    }
    values.reverse();
    let settings = || axes.iter().map(|axis| axis.key.as_str()).zip(&values);
    let config = changed(table, settings()).map_err(ConfigError::Toml).and_then(|raw| Config::check(raw, parts));
    let config = config.map_err(|error| {
        let point: Vec<String> = settings().map(|(key, value)| format!("{key} = {value}")).collect();
        SweepError::Point { point: point.join(", "), error }
    })?;
    Ok(Point { values, config })
}

/// The table with some `section.key` changed.
fn changed<'a>(table: &Table, changes: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Result<RawConfig, String> {
    let mut table = table.clone();
    for (path, value) in changes {
        put(&mut table, path, value.clone()).ok_or("a key is of the form section.key, such as world.clients")?;
    }
    from_table(table)
}
