//! A figure on a page: the drawing, its caption, links to its files.

use super::inline::{inline, sentence};
use crate::chart::Figure;
use crate::markup::Markup;
use crate::theme::Theme;

/// The files that [`write_figure`](crate::export::write_figure) makes.
const FILES: [(&str, &str); 4] = [("SVG", "svg"), ("PDF", "pdf"), ("PNG", "png"), ("CSV", "csv")];

pub(super) fn write(html: &mut Markup, figure: &Figure, number: usize) {
    html.open("figure", &[("id", &format!("fig-{}", figure.id))]);
    html.open("div", &[("class", "canvas")]);
    html.raw(&figure.render(Theme::Page));
    html.close("div");
    html.open("figcaption", &[]);
    let title = inline(&sentence(&format!("Figure {number}. {}", figure.title)));
    html.wrap("p", &[], &format!("<strong>{title}</strong> {}", inline(&figure.caption)));
    html.open("p", &[("class", "files")]);
    for (name, extension) in FILES {
        let address = format!("figures/{}.{extension}", figure.id);
        html.leaf("a", &[("href", &address), ("aria-label", &format!("Figure {number} as {name}"))], name);
    }
    html.close("p");
    html.close("figcaption");
    html.close("figure");
}
