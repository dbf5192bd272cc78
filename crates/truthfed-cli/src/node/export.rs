//! `truthfed ledger export`: every movement of money for a spreadsheet or a program, or the whole journal.

use serde::Serialize;
use truthfed_node::federation::line;
use truthfed_node::ledger::{Moved, csv, movements};
use truthfed_node::store::Store;

use super::args::ExportArgs;
use super::recorded;
use crate::report::{Report, json};

/// Rows of the journal read at once.
const CHUNK: usize = 512;

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<Report> {
    let mut store = recorded(&args.folder)?;
    if args.journal {
        return Ok(Report::done(lines(store.as_mut())?));
    }
    let (period, mut moved) = (args.period.period()?, Vec::new());
    movements(store.as_mut(), |movement| {
        if period.contains(movement.at) {
            moved.push(Moved::from(movement));
        }
    })?;
    Ok(Report::done(if args.csv { csv(&moved) } else { json(&MovedList { movements: moved }) }))
}

#[derive(Serialize)]
struct MovedList {
    movements: Vec<Moved>,
}

/// The journal, a line for each entry.
fn lines(store: &mut dyn Store) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut after = 0;
    loop {
        let rows = store.rows(after, CHUNK)?;
        let Some(last) = rows.last() else { return Ok(text) };
        after = last.number;
        for row in &rows {
            text.push_str(&line(row)?);
        }
    }
}
