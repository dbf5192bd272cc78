//! A page as HTML: its head, its contents, and the items of its sections.

use super::inline::{inline, plain, sentence};
use super::style::{POLICY, sheet};
use super::{Detail, Item, Matrix, Page, Row, Section, Table, Verdict, VerdictKind};
use crate::chart::Figure;
use crate::markup::{Attributes, Markup, escape};
use crate::theme::Theme;

/// The files of a figure, which [`figure_files`](crate::export::figure_files) makes.
const FILES: [(&str, &str); 5] =
    [("SVG", ".svg"), ("PDF", ".pdf"), ("column PDF", "-column.pdf"), ("PNG", ".png"), ("CSV", ".csv")];

const KINDS: [VerdictKind; 3] = [VerdictKind::Reproduced, VerdictKind::NotReproduced, VerdictKind::Refuted];

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
        let mut numbers = Numbers { figures: 0, tables: 0 };
        for part in &self.sections {
            section(&mut html, part, &mut numbers);
        }
        html.close("main");
        html.open("footer", &[]);
        for paragraph in self.footer.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            html.wrap("p", &[], &inline(paragraph));
        }
        html.close("footer");
        html.close("body");
        html.close("html");
        html.finish()
    }

    fn head(&self, html: &mut Markup) {
        let mut items = self.sections.iter().flat_map(|section| &section.items);
        let has_figures = items.any(|item| matches!(item, Item::Figure(_)));
        html.open("head", &[]);
        html.raw("<meta charset=\"utf-8\">\n");
        html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
        html.raw(POLICY);
        html.leaf("title", &[], &plain(&self.title));
        html.wrap("style", &[], &sheet(has_figures));
        html.close("head");
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
}

/// Of the last figure and the last table so far.
struct Numbers {
    figures: usize,
    tables: usize,
}

fn section(html: &mut Markup, section: &Section, numbers: &mut Numbers) {
    let heading = format!("{}-title", section.id);
    html.open("section", &[("id", &section.id), ("aria-labelledby", &heading)]);
    html.wrap("h2", &[("id", &heading)], &inline(&section.title));
    for paragraph in &section.text {
        html.wrap("p", &[], &inline(paragraph));
    }
    for item in &section.items {
        match item {
            Item::Figure(drawn) => {
                numbers.figures += 1;
                figure(html, drawn, numbers.figures);
            }
            Item::Table(listed) => {
                numbers.tables += 1;
                table(html, listed, numbers.tables);
            }
            Item::Verdicts(all) => verdicts(html, all),
            Item::Matrix(all) => matrix(html, all),
            Item::List(lines) => list(html, lines),
        }
    }
    html.close("section");
}

/// The drawing, its caption, links to its files.
fn figure(html: &mut Markup, figure: &Figure, number: usize) {
    html.open("figure", &[("id", &format!("fig-{}", figure.id))]);
    // Drawn twice: the style sheet shows the one that fits.
    for (class, drawn) in [("canvas wide", figure), ("canvas narrow", &figure.for_column())] {
        html.open("div", &[("class", class)]);
        html.raw(&drawn.render(Theme::Page));
        html.close("div");
    }
    html.open("figcaption", &[]);
    let title = inline(&sentence(&format!("Figure {number}. {}", figure.title)));
    html.wrap("p", &[], &format!("<strong>{title}</strong> {}", inline(&figure.caption)));
    html.open("p", &[("class", "files")]);
    let seeds = figure.has_values().then_some(("CSV by seed", "-seeds.csv"));
    for (name, ending) in FILES.into_iter().chain(seeds) {
        let address = format!("figures/{}{ending}", figure.id);
        html.leaf("a", &[("href", &address), ("aria-label", &format!("Figure {number} as {name}"))], name);
    }
    html.close("p");
    html.close("figcaption");
    html.close("figure");
}

/// A wide table scrolls by itself, so that the page does not.
fn table(html: &mut Markup, table: &Table, number: usize) {
    let id = format!("table-{number}");
    html.open("div", &[("class", "scroll"), ("role", "region"), ("aria-labelledby", &id), ("tabindex", "0")]);
    html.open("table", &[]);
    let caption = format!("<strong>Table {number}.</strong> {}", inline(&sentence(&table.caption)));
    html.wrap("caption", &[("id", &id)], &caption);
    html.open("thead", &[]);
    row(html, table, "th", &table.header);
    html.close("thead");
    html.open("tbody", &[]);
    for cells in &table.rows {
        row(html, table, "td", cells);
    }
    html.close("tbody");
    html.close("table");
    html.close("div");
}

fn row(html: &mut Markup, table: &Table, tag: &str, cells: &[String]) {
    html.open("tr", &[]);
    for (index, cell) in cells.iter().enumerate() {
        let attributes: Attributes<'_> = match (table.numeric.contains(&index), tag) {
            (true, "th") => &[("scope", "col"), ("class", "number")],
            (false, "th") => &[("scope", "col")],
            (true, _) => &[("class", "number")],
            (false, _) => &[],
        };
        html.wrap(tag, attributes, &inline(cell));
    }
    html.close("tr");
}

fn list(html: &mut Markup, lines: &[String]) {
    html.open("ul", &[("class", "summary")]);
    for line in lines {
        html.wrap("li", &[], &inline(line));
    }
    html.close("ul");
}

/// What the columns mean, then a row of marks for each claim with its details folded away.
fn matrix(html: &mut Markup, matrix: &Matrix) {
    html.open("dl", &[("class", "readings")]);
    for column in &matrix.columns {
        html.wrap("dt", &[], &inline(&column.name));
        html.wrap("dd", &[], &inline(&column.about));
    }
    html.close("dl");
    html.open("ul", &[("class", "tally")]);
    for kind in kinds(matrix.rows.iter().flat_map(|row| &row.marks)) {
        html.wrap("li", &[], &badge(kind));
    }
    html.close("ul");
    html.open("table", &[("class", "matrix")]);
    html.open("thead", &[]);
    html.open("tr", &[]);
    html.leaf("th", &[("scope", "col")], "Statement");
    for column in &matrix.columns {
        html.leaf("th", &[("scope", "col"), ("class", "mark"), ("title", &column.about)], &column.name);
    }
    html.close("tr");
    html.close("thead");
    html.open("tbody", &[]);
    matrix.rows.iter().for_each(|row| matrix_row(html, matrix, row));
    html.close("tbody");
    html.close("table");
}

fn matrix_row(html: &mut Markup, matrix: &Matrix, row: &Row) {
    html.open("tr", &[("id", &format!("claim-{}", row.id))]);
    html.open("th", &[("scope", "row")]);
    let name = format!("{} · {}", row.source, row.id);
    html.leaf("span", &[("class", "claim")], &name);
    html.wrap("p", &[], &inline(&row.claim));
    html.open("details", &[]);
    html.wrap("summary", &[], &inline(&row.synthesis));
    row.details.iter().for_each(|it| detail(html, it));
    html.close("details");
    html.close("th");
    for (column, kind) in matrix.columns.iter().zip(&row.marks) {
        let (class, word, _) = look(*kind);
        let label = format!("{}: {word}", column.name);
        html.wrap(
            "td",
            &[("class", "mark"), ("title", &label)],
            &format!("<span class=\"dot {class}\">{}{}</span>", sign(*kind), hidden(word)),
        );
    }
    html.close("tr");
}

fn detail(html: &mut Markup, detail: &Detail) {
    html.open("div", &[("class", "detail")]);
    html.wrap("p", &[], &format!("<strong>{}</strong> {}", inline(&detail.columns), badge(detail.verdict)));
    html.wrap("p", &[], &inline(&detail.measured));
    html.wrap("p", &[], &command(&detail.command));
    html.close("div");
}

/// For those who hear the page.
fn hidden(word: &str) -> String {
    format!("<span class=\"heard\">{}</span>", escape(word))
}

/// A tally, then one row for each claim.
fn verdicts(html: &mut Markup, verdicts: &[Verdict]) {
    html.open("ul", &[("class", "tally")]);
    for kind in kinds(verdicts.iter().map(|verdict| &verdict.verdict)) {
        let count = verdicts.iter().filter(|verdict| verdict.verdict == kind).count();
        html.wrap("li", &[], &format!("<strong>{count}</strong> {}", badge(kind)));
    }
    html.close("ul");
    html.open("table", &[("class", "verdicts")]);
    html.open("thead", &[]);
    html.open("tr", &[]);
    for name in ["Claim", "Measured", "Verdict", "Measure it again"] {
        html.leaf("th", &[("scope", "col")], name);
    }
    html.close("tr");
    html.close("thead");
    html.open("tbody", &[]);
    for verdict in verdicts {
        html.open("tr", &[("id", &format!("claim-{}", verdict.id))]);
        let name = format!("<span class=\"claim\">{}</span> {}", escape(&verdict.id), inline(&verdict.claim));
        html.wrap("th", &[("scope", "row")], &name);
        html.wrap("td", &[("data-label", "Measured")], &inline(&verdict.measured));
        html.wrap("td", &[("data-label", "Verdict")], &badge(verdict.verdict));
        html.wrap("td", &[("data-label", "Measure it again")], &command(&verdict.command));
        html.close("tr");
    }
    html.close("tbody");
    html.close("table");
}

/// A command that one click selects. Lines break between its words only, not after the hyphens of an option.
fn command(command: &str) -> String {
    let words: Vec<String> = command.split(' ').map(|word| format!("<span>{}</span>", escape(word))).collect();
    format!("<code class=\"command\">{}</code>", words.join(" "))
}

/// The kinds that a tally shows: what is undecided only if something is.
fn kinds<'a>(mut found: impl Iterator<Item = &'a VerdictKind>) -> Vec<VerdictKind> {
    let undecided = found.any(|kind| *kind == VerdictKind::Undecided).then_some(VerdictKind::Undecided);
    KINDS.into_iter().chain(undecided).collect()
}

/// A word and a sign in a colour.
fn badge(kind: VerdictKind) -> String {
    let (class, word, _) = look(kind);
    format!("<span class=\"badge {class}\">{}{word}</span>", sign(kind))
}

fn sign(kind: VerdictKind) -> String {
    let (.., sign) = look(kind);
    format!("<svg viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"{sign}\"/></svg>")
}

/// Class, word, and the lines of the sign.
fn look(kind: VerdictKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        VerdictKind::Reproduced => ("reproduced", "Reproduced", "M3.5 8.5l3 3 6-7"),
        VerdictKind::NotReproduced => ("not-reproduced", "Not reproduced", "M3.5 6h9M3.5 10h9M10.5 3l-5 10"),
        VerdictKind::Refuted => ("refuted", "Refuted", "M4 4l8 8M12 4l-8 8"),
        VerdictKind::Undecided => ("undecided", "Undecided", "M5 6a3 3 0 1 1 4.2 2.7c-.8.4-1.2 1-1.2 1.8M8 13v.1"),
    }
}
