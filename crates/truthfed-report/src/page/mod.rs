//! A report as one HTML file.
//!
//! Figures are inline SVG, the style sheet and the font of the figures are inside, there is no script: the file can be
//! mailed, archived and read without a network. It follows the reader's light or dark setting and prints well.
//! Promises: all text is escaped; nothing is loaded from elsewhere; verdicts are told by word and sign, not by colour
//! alone.
//!
//! Not here: the files that captions link to, `figures/<id>.svg` and so on ([`export`](super::export) writes them).

mod figure;
mod inline;
mod style;
mod table;
mod verdict;

use serde::Serialize;

use super::chart::Figure;
use super::markup::Markup;
use inline::{inline, plain};

/// A report.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Title of the report.
    pub title: String,
    /// One short paragraph below it.
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
    /// Its heading.
    pub title: String,
    /// Paragraphs before the items.
    pub text: Vec<String>,
    /// Figures, tables and verdicts.
    pub items: Vec<Item>,
}

/// What a section shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A figure with its caption and links to its files.
    Figure(Figure),
    /// A table.
    Table(Table),
    /// Claims and what became of them.
    Verdicts(Vec<Verdict>),
}

/// A table of text; cells may hold code between backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// The rows, each with a cell for every column.
    pub rows: Vec<Vec<String>>,
    /// Columns that hold numbers, from 0: they are set to the right.
    pub numeric: Vec<usize>,
}

/// A claim and what was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Short name of the claim, unique in the page; also its anchor.
    pub id: String,
    /// What is claimed, and by whom.
    pub claim: String,
    /// What was measured.
    pub measured: String,
    /// What follows.
    pub verdict: VerdictKind,
    /// The command that measures it again.
    pub command: String,
}

/// What a measurement says about a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The claim holds in the measurement.
    Reproduced,
    /// The claim does not show in the measurement; another setting might show it.
    NotReproduced,
    /// A counterexample: the claim is false as stated.
    Refuted,
}

/// Numbers of figures and tables so far.
#[derive(Debug, Default)]
struct Counts {
    figures: usize,
    tables: usize,
}

impl Page {
    /// The page as one HTML document.
    pub fn to_html(&self) -> String {
        let mut html = Markup::default();
        html.raw("<!doctype html>\n");
        html.open("html", &[("lang", "en")]);
        self.head(&mut html);
        html.open("body", &[]);
        html.leaf("a", &[("class", "skip"), ("href", "#main")], "Skip to the content");
        html.open("header", &[]);
        html.wrap("h1", &[], &inline(&self.title));
        html.wrap("p", &[("class", "lead")], &inline(&self.lead));
        html.close("header");
        self.contents(&mut html);
        html.open("main", &[("id", "main")]);
        let mut counts = Counts::default();
        for section in &self.sections {
            section.write(&mut html, &mut counts);
        }
        html.close("main");
        self.foot(&mut html);
        html.close("body");
        html.close("html");
        html.finish()
    }

    fn head(&self, html: &mut Markup) {
        html.open("head", &[]);
        html.raw("<meta charset=\"utf-8\">\n");
        html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
        html.raw(style::POLICY);
        html.leaf("title", &[], &plain(&self.title));
        html.wrap("style", &[], &style::sheet(self.has_figures()));
        html.close("head");
    }

    fn has_figures(&self) -> bool {
        self.sections.iter().flat_map(|section| &section.items).any(|item| matches!(item, Item::Figure(_)))
    }

    fn contents(&self, html: &mut Markup) {
        if self.sections.is_empty() {
            return;
        }
        html.open("nav", &[("aria-label", "Contents")]);
        html.open("ol", &[]);
        for section in &self.sections {
            html.open("li", &[]);
            html.wrap("a", &[("href", &format!("#{}", section.id))], &inline(&section.title));
            html.close("li");
        }
        html.close("ol");
        html.close("nav");
    }

    fn foot(&self, html: &mut Markup) {
        html.open("footer", &[]);
        for paragraph in self.footer.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            html.wrap("p", &[], &inline(paragraph));
        }
        html.close("footer");
    }
}

impl Section {
    fn write(&self, html: &mut Markup, counts: &mut Counts) {
        let heading = format!("{}-title", self.id);
        html.open("section", &[("id", &self.id), ("aria-labelledby", &heading)]);
        html.wrap("h2", &[("id", &heading)], &inline(&self.title));
        for paragraph in &self.text {
            html.wrap("p", &[], &inline(paragraph));
        }
        for item in &self.items {
            match item {
                Item::Figure(figure) => {
                    counts.figures += 1;
                    figure::write(html, figure, counts.figures);
                }
                Item::Table(table) => {
                    counts.tables += 1;
                    table::write(html, table, counts.tables);
                }
                Item::Verdicts(verdicts) => verdict::write(html, verdicts),
            }
        }
        html.close("section");
    }
}

#[cfg(test)]
mod tests;
