//! Rows that belong together: the same series, at the same place of the axis, under the same seed.

use std::collections::BTreeMap;

use anyhow::anyhow;
use truthfed_sim::experiment::Spread;

use super::tables::{Chosen, Table};

/// A place on the horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) number: Option<f64>,
}

/// Sum and number of the values of a seed.
type Sum = (f64, u64);

/// All values of one column, by series, place and seed.
#[derive(Debug)]
pub(super) struct Groups {
    /// In the order of the axis: numbers ascending, names as they appear.
    places: Vec<Place>,
    /// Names of series, as they appear.
    series: Vec<String>,
    /// By number of series, number of place, and seed.
    sums: BTreeMap<(usize, usize, String), Sum>,
}

impl Groups {
    /// The values of the column `y` over the column `x`; rows without a value are left out. Fails when a value is no number.
    pub(super) fn of(chosen: &Chosen, x: &str, y: &str) -> anyhow::Result<Groups> {
        let mut groups = Groups { places: Vec::new(), series: Vec::new(), sums: BTreeMap::new() };
        let varying = varying(chosen);
        let (mut series, mut places) = (Numbers::default(), Numbers::default());
        for (folder, table) in &chosen.tables {
            let [x, y] = [x, y].map(|name| table.column(name).expect("the table was chosen by its columns"));
            let seed = table.column("seed");
            for (index, row) in
                table.rows.iter().enumerate().filter(|(_, row)| !row[x].is_empty() && !row[y].is_empty())
            {
                let value: f64 = row[y].parse().map_err(|_| {
                    let (path, column) = (table.path.display(), &table.columns[y]);
                    anyhow!("{path}, record {}: column `{column}` holds `{}`, which is no number", index + 2, row[y])
                })?;
                let series = series.of(series_name(folder, table, row, &varying));
                let place = places.of(row[x].clone());
                let seed = seed.map_or(String::new(), |seed| row[seed].clone());
                let sum = groups.sums.entry((series, place, seed)).or_insert((0.0, 0));
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
        groups.series = series.names;
        groups.places = places.names.into_iter().map(Place::new).collect();
        Ok(groups.in_order())
    }

    /// Sorts the places by their numbers, if all have one.
    fn in_order(mut self) -> Groups {
        if !self.is_numeric() {
            return self;
        }
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_by(|&a, &b| self.places[a].number.unwrap_or(0.0).total_cmp(&self.places[b].number.unwrap_or(0.0)));
        let mut new = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &old)| new[old] = place);
        self.places = order.iter().map(|&old| self.places[old].clone()).collect();
        let moved = |((series, place, seed), sum)| ((series, new[place], seed), sum);
        self.sums = self.sums.into_iter().map(moved).collect();
        self
    }

    pub(super) fn is_numeric(&self) -> bool {
        self.places.iter().all(|place| place.number.is_some())
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    pub(super) fn series(&self) -> &[String] {
        &self.series
    }

    /// Most seeds behind a value.
    pub(super) fn seeds(&self) -> usize {
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        self.sums.keys().for_each(|(series, place, _)| *counts.entry((*series, *place)).or_default() += 1);
        counts.into_values().max().unwrap_or(0)
    }

    /// Mean and deviation over the seeds, by number of series and place; none if the series has nothing there.
    pub(super) fn spread(&self, series: usize, place: usize) -> Option<Spread> {
        let range = (series, place, String::new())..(series, place + 1, String::new());
        let values: Vec<f64> = self.sums.range(range).map(|(_, (sum, count))| sum / *count as f64).collect();
        (!values.is_empty()).then(|| Spread::of(values))
    }

    /// Series, place, seed and value, in this order.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, &Place, &str, f64)> {
        self.sums.iter().map(|((series, place, seed), (sum, count))| {
            (self.series[*series].as_str(), &self.places[*place], seed.as_str(), sum / *count as f64)
        })
    }
}

impl Place {
    fn new(name: String) -> Place {
        Place { number: name.parse().ok().filter(|number: &f64| number.is_finite()), name }
    }
}

/// Numbers for names, in the order in which they appear.
#[derive(Default)]
struct Numbers {
    names: Vec<String>,
    known: BTreeMap<String, usize>,
}

impl Numbers {
    fn of(&mut self, name: String) -> usize {
        let next = self.names.len();
        let number = *self.known.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }
}

/// Those columns of `by` whose values differ: the others tell nothing apart.
fn varying(chosen: &Chosen) -> Vec<&str> {
    let differs = |name: &&String| {
        let values = chosen.tables.iter().flat_map(|(_, table)| {
            let column = table.column(name);
            table.rows.iter().map(move |row| column.map(|column| row[column].as_str()))
        });
        let mut values = values.peekable();
        let first = values.peek().copied();
        values.any(|value| Some(value) != first)
    };
    chosen.by.iter().filter(differs).map(String::as_str).collect()
}

/// The folder and the values of the columns that differ: `clock`, or `clock, 0.5`.
fn series_name(folder: &str, table: &Table, row: &[String], by: &[&str]) -> String {
    let value = |name: &&str| table.column(name).map(|column| row[column].as_str());
    let folder = (!folder.is_empty()).then_some(folder);
    let parts: Vec<&str> = folder.into_iter().chain(by.iter().filter_map(value)).collect();
    parts.join(", ")
}
