//! What there is to see in the places that were named, and the answers to what the page asks about it.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Value, json};
use truthfed_node::viewer::Question;
use truthfed_report::chart::{Chart, Data, Figure};
use truthfed_sim::output::{SIMULATION, SWEEP};

use super::claims::Claims;
use crate::plot::{Folder, Table, Wanted, choose, draw, kind_of, title};
use crate::reproduce::{CLAIMS, FIGURES, REPRODUCTION};
use crate::source;

/// Largest `figures.json`, in bytes: a hundred times what a thorough reproduction writes.
const MAX_FIGURES: u64 = 256 << 20;
/// Values that a browser draws in well under a second.
const MAX_VALUES: usize = 50_000;
/// Series and bars that a legend can list.
const MAX_NAMES: usize = 64;

pub(super) struct Shown {
    /// What was named on the command line.
    name: String,
    /// The command that wrote it.
    command: &'static str,
    /// The configuration or the sweep, of each place.
    config: Vec<String>,
    folders: Vec<Folder>,
    /// What can be chosen: the tables of the first folder with their columns.
    tables: Vec<Value>,
    figures: Vec<Figure>,
    claims: Option<Claims>,
    /// Why figures of a reproduction are missing.
    missing: Option<String>,
}

impl Shown {
    pub(super) fn open(places: &[PathBuf]) -> anyhow::Result<Shown> {
        let names: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        let mut shown = Shown {
            name: names.join(", "),
            command: REPRODUCTION.command,
            config: Vec::new(),
            folders: Vec::new(),
            tables: Vec::new(),
            figures: Vec::new(),
            claims: None,
            missing: None,
        };
        for place in places {
            let kind = match place.is_file() {
                true => None,
                false => Some(kind_of(place, &[&SIMULATION, &SWEEP, &REPRODUCTION])?),
            };
            let is_alone = kind.is_none_or(|kind| kind.schema == REPRODUCTION.schema);
            ensure!(
                places.len() == 1 || !is_alone,
                "{} is shown by itself: name it alone, or several folders of `{}` and `{}`",
                place.display(),
                SIMULATION.command,
                SWEEP.command
            );
            match kind {
                None => shown.claims = Some(Claims::read(place)?),
                Some(_) if is_alone => shown.read_report(place)?,
                Some(kind) => {
                    shown.command = kind.command;
                    let config = kind.files.first().expect("a kind has files");
                    shown.config.push(source::read(&place.join(config), source::MAX_CONFIG)?);
                    shown.folders.push(Folder::open(place)?);
                }
            }
        }
        shown.tables =
            shown.folders.first().into_iter().flat_map(|folder| &folder.tables).map(|it| described(it)).collect();
        Ok(shown)
    }

    fn read_report(&mut self, folder: &Path) -> anyhow::Result<()> {
        self.claims = Some(Claims::read(&folder.join(CLAIMS))?);
        self.config.push(source::read(&folder.join("config.toml"), source::MAX_CONFIG)?);
        let path = folder.join(FIGURES);
        if !path.exists() {
            let missing = format!(
                "{FIGURES} is missing: an earlier program wrote this folder. Run `truthfed reproduce` again for figures here; those in its page are whole."
            );
            self.missing = Some(missing);
            return Ok(());
        }
        let text = source::read(&path, MAX_FIGURES)?;
        let figures = serde_json::from_str(&text);
        self.figures = figures.with_context(|| format!("{} does not hold figures", path.display()))?;
        Ok(())
    }

    /// What the page asks; an error says what is wrong with the question.
    pub(super) fn answer(&self, question: &Question) -> Result<Value, String> {
        let answer = match question.name.as_str() {
            "contents" => Ok(self.contents()),
            "figure" => self.figure(&question.fields),
            name => Err(anyhow!("there is no `{name}` to see")),
        };
        answer.map_err(|error| format!("{error:#}"))
    }

    fn contents(&self) -> Value {
        let figures = self.figures.iter().map(|figure| json!({ "id": figure.id, "title": figure.title }));
        json!({
            "name": self.name,
            "command": self.command,
            "config": self.config,
            "tables": self.tables,
            "figures": figures.collect::<Vec<_>>(),
            "claims": self.claims,
            "missing": self.missing,
        })
    }

    /// A figure of a reproduction by its `id`, or one of the columns `x`, `y` and `by` of a table.
    fn figure(&self, fields: &[(String, String)]) -> anyhow::Result<Value> {
        let all = |name: &str| {
            let values = fields.iter().filter(|(field, _)| field == name);
            values.map(|(_, value)| value.clone()).collect::<Vec<String>>()
        };
        let one = |name: &str| all(name).into_iter().next();
        if let Some(id) = one("id") {
            let figure = self.figures.iter().find(|figure| figure.id == id);
            return Ok(drawn(figure.ok_or_else(|| anyhow!("there is no figure `{id}`"))?));
        }
        let (Some(x), ys) = (one("x"), all("y")) else { bail!("name a column for the horizontal axis") };
        ensure!((1..=4).contains(&ys.len()), "name 1 to 4 columns for vertical axes, not {}", ys.len());
        let wanted = Wanted { x: &x, ys: &ys, by: &all("by"), is_log: [false; 2] };
        let chosen = choose(&self.folders, &wanted, one("file").as_deref())?;
        let figure = draw(&chosen, &wanted, "view")?.figure;
        let values: usize = figure.charts.iter().map(values).sum();
        ensure!(
            values <= MAX_VALUES,
            "{values} values, of {MAX_VALUES} that can be shown at a time: choose other columns"
        );
        let names = figure.looks().len();
        ensure!(
            names <= MAX_NAMES,
            "{names} lines, of {MAX_NAMES} that can be told apart: choose another column for lines"
        );
        Ok(drawn(&figure))
    }
}

/// A table with its columns, as the page chooses from them.
fn described(table: &Table) -> Value {
    let column = |(at, name): (usize, &String)| {
        let (title, is_number) = (title(name), is_number(table, at));
        json!({ "name": name, "title": title, "is_number": is_number })
    };
    let columns: Vec<Value> = table.columns.iter().enumerate().map(column).collect();
    json!({ "file": table.file(), "rows": table.rows.len(), "keys": table.keys(), "columns": columns })
}

fn drawn(figure: &Figure) -> Value {
    json!({ "figure": figure, "looks": figure.looks() })
}

fn values(chart: &Chart) -> usize {
    match &chart.data {
        Data::Lines { series, .. } => series.iter().map(|series| series.points.len()).sum(),
        Data::Bars(groups) => groups.iter().map(|group| group.bars.len()).sum(),
    }
}

/// Whether a column can stand on a vertical axis: it holds numbers and nothing else, where it holds anything.
fn is_number(table: &Table, column: usize) -> bool {
    let mut held = table.rows.iter().map(|row| row[column].as_str()).filter(|value| !value.is_empty()).peekable();
    held.peek().is_some() && held.all(|value| value.parse::<f64>().is_ok())
}
