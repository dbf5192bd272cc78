//! The data behind a figure, as CSV (RFC 4180, with bare newlines).

use super::{Bar, BarGroup, Chart, Data, Figure, Point, Series, Value, letter};

/// Stands for the column of the figure's errors.
const ERROR: &str = "error";
const LINE: [&str; 5] = ["chart", "series", "x", "mean", ERROR];
const BAR: [&str; 6] = ["chart", "group", "bar", "height", ERROR, "label"];
const BOTH: [&str; 9] = ["chart", "series", "x", "mean", ERROR, "group", "bar", "height", "label"];

// The same for every repetition.
const LINE_SEEDS: [&str; 5] = ["chart", "series", "x", "seed", "value"];
const BAR_SEEDS: [&str; 5] = ["chart", "group", "bar", "seed", "value"];
const BOTH_SEEDS: [&str; 7] = ["chart", "series", "x", "group", "bar", "seed", "value"];

/// One row: the columns it has, and what is in them.
type Row = Vec<(&'static str, String)>;

impl Figure {
    /// All values, not thinned. Columns `chart,series,x,mean,sd` or `chart,group,bar,height,sd,label`, or both kinds'
    /// columns when the figure has both kinds of charts; `half_95` instead of `sd` if its [`Errors`](super::Errors) are
    /// intervals. What is not finite is left empty.
    pub fn to_csv(&self) -> String {
        self.table([&LINE, &BAR, &BOTH], rows)
    }

    /// The repetitions behind all means, one to a row: columns `chart,series,x,seed,value` or `chart,group,bar,seed,value`, or
    /// both kinds' columns. `None` if no mean has any.
    pub fn to_seeds_csv(&self) -> Option<String> {
        self.has_values().then(|| self.table([&LINE_SEEDS, &BAR_SEEDS, &BOTH_SEEDS], seed_rows))
    }

    pub(crate) fn has_values(&self) -> bool {
        self.charts.iter().any(|chart| match &chart.data {
            Data::Lines { series, .. } => series.iter().flat_map(|line| &line.points).any(|it| !it.values.is_empty()),
            Data::Bars(groups) => groups.iter().flat_map(|group| &group.bars).any(|it| !it.values.is_empty()),
        })
    }

    fn table(&self, headers: [&[&'static str]; 3], rows: fn(&Chart, &str) -> Vec<Row>) -> String {
        let header = header(self, headers);
        let title = |column: &&'static str| if *column == ERROR { self.errors.column() } else { column };
        let mut out = header.iter().map(title).collect::<Vec<_>>().join(",") + "\n";
        for (index, chart) in self.charts.iter().enumerate() {
            for row in rows(chart, &name(chart, index)) {
                let cell = |column: &&str| row.iter().find(|(key, _)| key == column).map_or("", |(_, value)| value);
                let cells: Vec<String> = header.iter().map(|column| quoted(cell(column))).collect();
                out += &(cells.join(",") + "\n");
            }
        }
        out
    }
}

fn header<'a>(figure: &Figure, [line, bar, both]: [&'a [&'static str]; 3]) -> &'a [&'static str] {
    let lines = figure.charts.iter().filter(|chart| chart.has_lines()).count();
    match lines {
        0 if !figure.charts.is_empty() => bar,
        lines if lines == figure.charts.len() => line,
        _ => both,
    }
}

fn name(chart: &Chart, index: usize) -> String {
    if chart.title.is_empty() { letter(index) } else { chart.title.clone() }
}

fn rows(chart: &Chart, name: &str) -> Vec<Row> {
    match &chart.data {
        Data::Lines { series, .. } => {
            let points = series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)));
            let values = |(series, point): (&Series, &Point)| {
                row(&LINE, name, [series.name.clone(), number(point.x), number(point.mean), number(point.error)])
            };
            points.map(values).collect()
        }
        Data::Bars(groups) => {
            let bars = groups.iter().flat_map(|group| group.bars.iter().map(move |bar| (group, bar)));
            let values = |(group, bar): (&BarGroup, &Bar)| {
                let label = bar.label.clone().unwrap_or_default();
                row(&BAR, name, [group.name.clone(), bar.name.clone(), number(bar.height), number(bar.error), label])
            };
            bars.map(values).collect()
        }
    }
}

fn seed_rows(chart: &Chart, name: &str) -> Vec<Row> {
    let each = |columns: &'static [&'static str], of: [String; 2], values: &[Value]| -> Vec<Row> {
        let [first, second] = of;
        let cells = |it: &Value| [first.clone(), second.clone(), it.seed.to_string(), number(it.value)];
        values.iter().map(|it| row(columns, name, cells(it))).collect()
    };
    match &chart.data {
        Data::Lines { series, .. } => {
            let points = series.iter().flat_map(|line| line.points.iter().map(move |point| (line, point)));
            let of = |(line, point): (&Series, &Point)| [line.name.clone(), number(point.x)];
            points.flat_map(|it| each(&LINE_SEEDS, of(it), &it.1.values)).collect()
        }
        Data::Bars(groups) => {
            let bars = groups.iter().flat_map(|group| group.bars.iter().map(move |bar| (group, bar)));
            let of = |(group, bar): (&BarGroup, &Bar)| [group.name.clone(), bar.name.clone()];
            bars.flat_map(|it| each(&BAR_SEEDS, of(it), &it.1.values)).collect()
        }
    }
}

fn row<const N: usize>(columns: &[&'static str], chart: &str, values: [String; N]) -> Row {
    let all = std::iter::once(chart.to_owned()).chain(values);
    columns.iter().copied().zip(all).collect()
}

/// The shortest text that reads back as the same number; empty when it is not finite.
fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        String::new()
    } else if size != 0.0 && !(1e-5..1e15).contains(&size) {
        format!("{value:e}")
    } else {
        value.to_string()
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}
