//! A table on a page. A wide one scrolls by itself, so that the page does not.

use super::Table;
use super::inline::{inline, sentence};
use crate::markup::{Attributes, Markup};

pub(super) fn write(html: &mut Markup, table: &Table, number: usize) {
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
