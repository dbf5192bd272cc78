//! The data behind a figure, as CSV (RFC 4180, with bare newlines).

use super::{Bar, BarGroup, Chart, Data, Figure, Point, Series, letter};

const LINE: [&str; 5] = ["chart", "series", "x", "mean", "sd"];
const BAR: [&str; 6] = ["chart", "group", "bar", "height", "sd", "label"];
const BOTH: [&str; 9] = ["chart", "series", "x", "mean", "sd", "group", "bar", "height", "label"];

/// One row: the columns it has, and what is in them.
type Row = Vec<(&'static str, String)>;

impl Figure {
    /// All values, not thinned. Columns `chart,series,x,mean,sd` or `chart,group,bar,height,sd,label`, or both kinds'
    /// columns when the figure has both kinds of charts. What is not finite is left empty.
    pub fn to_csv(&self) -> String {
        let header = header(self);
        let mut out = header.join(",") + "\n";
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

fn header(figure: &Figure) -> &'static [&'static str] {
    let lines = figure.charts.iter().filter(|chart| chart.has_lines()).count();
    match lines {
        0 if !figure.charts.is_empty() => &BAR,
        lines if lines == figure.charts.len() => &LINE,
        _ => &BOTH,
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
                row(&LINE, name, [series.name.clone(), number(point.x), number(point.mean), number(point.sd)])
            };
            points.map(values).collect()
        }
        Data::Bars(groups) => {
            let bars = groups.iter().flat_map(|group| group.bars.iter().map(move |bar| (group, bar)));
            let values = |(group, bar): (&BarGroup, &Bar)| {
                let label = bar.label.clone().unwrap_or_default();
                row(&BAR, name, [group.name.clone(), bar.name.clone(), number(bar.height), number(bar.sd), label])
            };
            bars.map(values).collect()
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
