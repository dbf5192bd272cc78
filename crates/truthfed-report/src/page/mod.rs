//! A report as one HTML file.
//!
//! Figures are inline SVG, the style sheet and the font of the figures are inside, there is no script: the file can be
//! mailed, archived and read without a network. It follows the reader's light or dark setting and prints well.
//! Promises: all text is escaped; nothing is loaded from elsewhere; verdicts are told by word and sign, not by colour
//! alone.
//!
//! Not here: the files that captions link to, `figures/<id>.svg` and so on ([`export`](super::export) writes them).

mod html;
mod inline;
mod style;

use serde::{Deserialize, Serialize};

use super::chart::Figure;

#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub title: String,
    /// One short paragraph below the title.
    pub lead: String,
    /// The parts, in order; they make the table of contents.
    pub sections: Vec<Section>,
    /// What stands at the very end; empty lines separate paragraphs.
    pub footer: String,
}

/// A part of a report. In its text, words between backticks are set as code.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its anchor, unique in the page.
    pub id: String,
    pub title: String,
    /// Paragraphs before the items.
    pub text: Vec<String>,
    pub items: Vec<Item>,
}

/// What a section shows. A figure comes with its caption and links to its files.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Figure(Figure),
    Table(Table),
    Verdicts(Vec<Verdict>),
    Matrix(Matrix),
    /// Lines that stand out, such as a summary.
    List(Vec<String>),
}

/// Claims by conditions: a mark in each cell, and behind each row what was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// A letter or a short word.
    pub name: String,
    pub about: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Short name of the claim, unique in the page; also its anchor.
    pub id: String,
    /// Where it is claimed.
    pub source: String,
    pub claim: String,
    /// What the cells say together.
    pub synthesis: String,
    /// One for each column.
    pub marks: Vec<VerdictKind>,
    pub details: Vec<Detail>,
}

/// What was measured under one or more columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// The columns, in words.
    pub columns: String,
    pub verdict: VerdictKind,
    pub measured: String,
    /// The command that measures it again.
    pub command: String,
}

/// A table of text; cells may hold code between backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub caption: String,
    pub header: Vec<String>,
    /// The rows, each with a cell for every column.
    pub rows: Vec<Vec<String>>,
    /// Columns that hold numbers, from 0: they are set to the right.
    pub numeric: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Short name of the claim, unique in the page; also its anchor.
    pub id: String,
    /// What is claimed, and by whom.
    pub claim: String,
    pub measured: String,
    pub verdict: VerdictKind,
    /// The command that measures it again.
    pub command: String,
}

/// What a measurement says about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The claim holds in the measurement.
    Reproduced,
    /// The claim does not show in the measurement; another setting might show it.
    NotReproduced,
    /// A counterexample: the claim is false as stated.
    Refuted,
    /// The measurement does not tell.
    Undecided,
}

impl From<Figure> for Item {
    fn from(figure: Figure) -> Item {
        Item::Figure(figure)
    }
}

impl From<Table> for Item {
    fn from(table: Table) -> Item {
        Item::Table(table)
    }
}

impl Table {
    /// A table whose numbers, if any, are not set to the right: see [`Table::with_numeric`].
    pub fn new(
        caption: impl Into<String>,
        header: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Table {
        let header = header.into_iter().map(Into::into).collect();
        Table { caption: caption.into(), header, rows: rows.into_iter().collect(), numeric: Vec::new() }
    }

    #[must_use]
    pub fn with_numeric(self, columns: impl IntoIterator<Item = usize>) -> Table {
        Table { numeric: columns.into_iter().collect(), ..self }
    }
}

impl Verdict {
    pub fn new(id: &str, claim: &str, measured: impl Into<String>, verdict: VerdictKind, command: &str) -> Verdict {
        let [id, claim, command] = [id, claim, command].map(str::to_owned);
        Verdict { id, claim, measured: measured.into(), verdict, command }
    }
}

impl Section {
    pub fn new(
        id: &str,
        title: &str,
        text: impl IntoIterator<Item = impl Into<String>>,
        items: impl IntoIterator<Item = Item>,
    ) -> Section {
        let text = text.into_iter().map(Into::into).collect();
        Section { id: id.to_owned(), title: title.to_owned(), text, items: items.into_iter().collect() }
    }
}

#[cfg(test)]
mod tests;
