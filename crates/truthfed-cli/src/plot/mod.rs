//! `truthfed plot`: draws columns of the tables that `simulate` and `sweep` wrote.
//!
//! A value of a figure is a mean over seeds with its standard deviation; rows of one seed at the same place are averaged
//! first. The seeds behind every value are written beside the figure.
//!
//! Not here: which tables a folder has ([`tables`]), which rows belong together ([`groups`]).

mod groups;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::Context;
use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure, Point, Series};
use truthfed_report::export::figure_files;
use truthfed_sim::totals::FIGURES;

use crate::args::PlotArgs;
use crate::report::{Report, counted};
use crate::source;
use groups::{Groups, Place};
pub(crate) use tables::{Chosen, Folder, Table, choose, kind_of};

pub(crate) fn run(args: &PlotArgs) -> anyhow::Result<Report> {
    let wanted = Wanted { x: &args.x, ys: &args.y, by: &args.by, is_log: [args.log_x, args.log_y] };
    let folders = args.folders.iter().map(|path| Folder::open(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let chosen = choose(&folders, &wanted, None)?;
    let (folder, id) = destination(&args.out)?;
    let Drawn { figure, groups } = draw(&chosen, &wanted, &id)?;
    let figure = figure.with_width(args.width.0).in_columns(2);
    let mut files = figure_files(&figure)?;
    files.push((format!("{id}-seeds.csv"), per_seed(args, &groups).into_bytes()));
    for (name, bytes) in &files {
        let path = folder.join(name);
        source::write_whole(&path, |out| out.write_all(bytes))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let names: Vec<String> = files.iter().map(|(name, _)| folder.join(name).display().to_string()).collect();
    let (what, of_seeds) = (&figure.title, of_seeds(&groups));
    Ok(Report::done(format!("{what}, from {}: {of_seeds}.\nWrote {}.\n", chosen.name(), names.join(", "))))
}

/// Which columns a figure shows.
pub(crate) struct Wanted<'a> {
    pub(crate) x: &'a str,
    /// A chart for each.
    pub(crate) ys: &'a [String],
    /// A line for each of their values.
    pub(crate) by: &'a [String],
    /// Whether the horizontal axis, and the vertical ones, are logarithmic.
    pub(crate) is_log: [bool; 2],
}

/// A figure, and the values behind each of its charts.
pub(crate) struct Drawn {
    pub(crate) figure: Figure,
    groups: Vec<Groups>,
}

pub(crate) fn draw(chosen: &Chosen, wanted: &Wanted, id: &str) -> anyhow::Result<Drawn> {
    let groups = wanted.ys.iter().map(|y| Groups::of(chosen, wanted.x, y)).collect::<anyhow::Result<Vec<_>>>()?;
    let ys: Vec<&str> = wanted.ys.iter().map(|y| title(y)).collect();
    let what = format!("{} by {}", ys.join(", "), title(wanted.x));
    let caption = format!("{what}: {}.", of_seeds(&groups));
    let charts = wanted.ys.iter().zip(&groups).map(|(y, groups)| chart(wanted, y, groups));
    Ok(Drawn { figure: Figure::new(id, &what, &caption, charts), groups })
}

fn of_seeds(groups: &[Groups]) -> String {
    let seeds = groups.iter().map(Groups::seeds).max().unwrap_or(0);
    format!("mean and standard deviation of {}", counted(seeds, "seed"))
}

/// Where the files go, and what their names begin with.
fn destination(out: &Path) -> anyhow::Result<(PathBuf, String)> {
    let id = out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let can_name = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    anyhow::ensure!(
        !id.is_empty() && id.chars().all(can_name),
        "--out {}: it must end in a name of letters, digits, - and _, without an ending: all kinds of files are written",
        out.display()
    );
    Ok((out.parent().unwrap_or(Path::new("")).to_owned(), id.to_owned()))
}

/// What people call a column: the title of a figure, or the column's own name.
pub(crate) fn title(column: &str) -> &str {
    FIGURES.iter().find(|figure| figure.name == column).map_or(column, |figure| figure.title)
}

fn axis(column: &str, is_log: bool) -> Axis {
    if is_log { Axis::log(title(column)) } else { Axis::linear(title(column)) }
}

/// Lines over numbers, bars over names.
fn chart(wanted: &Wanted, y: &str, groups: &Groups) -> Chart {
    let heading = if wanted.ys.len() > 1 { title(y) } else { "" };
    let [log_x, log_y] = wanted.is_log;
    let series = || groups.series().iter().enumerate();
    let places = || groups.places().iter().enumerate();
    if groups.is_numeric() {
        let point = |line, (at, place): (usize, &Place)| {
            let (spread, x) = (groups.spread(line, at)?, place.number?);
            Some(Point::new(x, spread.mean, spread.sd))
        };
        let line = |(line, name): (usize, &String)| Series::new(name, places().filter_map(|place| point(line, place)));
        return Chart::lines(heading, axis(wanted.x, log_x), axis(y, log_y), series().map(line));
    }
    let bar = |at, (line, name): (usize, &String)| {
        let spread = groups.spread(line, at)?;
        Some(Bar::new(name, spread.mean, spread.sd))
    };
    let group =
        |(at, place): (usize, &Place)| BarGroup::new(&place.name, series().filter_map(|series| bar(at, series)));
    Chart::bars(heading, axis(y, log_y), places().map(group))
}

/// The values behind the figure: a row for each series, place and seed.
fn per_seed(args: &PlotArgs, groups: &[Groups]) -> String {
    let field = |text: &str| match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let mut text = format!("series,{},seed,figure,value\n", field(&args.x));
    for (y, groups) in args.y.iter().zip(groups) {
        for (series, place, seed, value) in groups.values() {
            text += &format!("{},{},{},{},{value}\n", field(series), field(&place.name), field(seed), field(y));
        }
    }
    text
}

/// The chosen table in words.
impl Chosen {
    fn name(&self) -> String {
        let names: Vec<String> = self.tables.iter().map(|(_, table)| table.path.display().to_string()).collect();
        names.join(" and ")
    }
}
