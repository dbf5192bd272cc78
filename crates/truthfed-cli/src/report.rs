//! The output of a verb: text, JSON, tables.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use serde::Serialize;
use serde_json::value::RawValue;

/// Text for standard output, and the exit code that goes with it.
#[derive(Debug)]
pub struct Report {
    pub text: String,
    pub code: u8,
}

impl Report {
    /// Exit code 0.
    pub fn done(text: String) -> Report {
        Report { text, code: 0 }
    }

    /// Exit code 1: the work is done and the answer is no.
    pub fn refuted(text: String) -> Report {
        Report { text, code: 1 }
    }
}

/// One JSON object and a line end.
pub fn json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("our own structs are JSON");
    text.push('\n');
    text
}

/// An exact decimal as a JSON number.
pub fn decimal(amount: &impl ToString) -> Box<RawValue> {
    RawValue::from_string(amount.to_string()).expect("a decimal is JSON")
}

/// Tables have a rule under the header and no other lines.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table whose columns named in `right` are aligned to the right.
pub fn table(header: &[&str], right: &[usize], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_header(header);
    table.add_rows(rows);
    for &column in right {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// A row of a table.
pub fn cells(values: &[&dyn ToString]) -> Vec<String> {
    values.iter().map(|value| value.to_string()).collect()
}

/// A number of things: `1 client`, `2 clients`.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A duration with a unit that suits its size.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} us", s * 1e6),
    }
}
