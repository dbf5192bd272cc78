//! A whole figure: panels in rows and columns, plots aligned, one legend when all panels share it.

use super::canvas::{Canvas, Rect};
use super::legend::Legend;
use super::look::Looks;
use super::panel::{Panel, RIGHT, Size};
use super::{Chart, Figure, letter};
use crate::Theme;
use crate::markup::{Markup, px};
use crate::text::FAMILIES;
use crate::theme::Role;

const MARGIN: f64 = 8.0;
const COLUMN_GAP: f64 = 22.0;
const ROW_GAP: f64 = 24.0;
const LEGEND_GAP: f64 = 16.0;
/// Least width of a chart: less is too little for an axis and its labels. Of the usual width, four fit side by side.
const LEAST_PANEL: f64 = 150.0;

impl Figure {
    /// The figure as SVG: a document of its own, or an element for a page.
    pub fn render(&self, theme: Theme) -> String {
        let mut canvas = Canvas::new(theme);
        let height = draw(self, &Looks::of(self), &mut canvas);
        document(self, theme, height, &canvas.finish())
    }
}

/// Draws all panels; the result is the height of the figure.
fn draw<'a>(figure: &'a Figure, looks: &Looks<'a>, canvas: &mut Canvas) -> f64 {
    let inner = figure.width - 2.0 * MARGIN;
    let most = ((inner + COLUMN_GAP) / (LEAST_PANEL + COLUMN_GAP)) as usize;
    let columns = figure.columns.clamp(1, most.max(1)).min(figure.charts.len().max(1));
    let size = panel_size(columns, inner);
    let shared = shared_legend(figure, looks);
    let panels = panels(figure, looks, shared.is_some(), size);
    let mut top = MARGIN;
    if let Some(legend) = shared {
        legend.draw(canvas, (MARGIN, top));
        top += legend.height() + LEGEND_GAP;
    }
    let in_column = |column: usize| panels.iter().skip(column).step_by(columns);
    let left = |column: usize| in_column(column).map(|panel| panel.left(size)).fold(0.0, f64::max);
    let lefts: Vec<f64> = (0..columns).map(left).collect();
    for row in panels.chunks(columns) {
        let head = row.iter().map(Panel::head).fold(0.0, f64::max);
        let foot = row.iter().map(|panel| panel.foot).fold(0.0, f64::max);
        for (column, panel) in row.iter().enumerate() {
            let x = MARGIN + column as f64 * (size.width + COLUMN_GAP);
            let left = lefts[column];
            let width = size.width - left - RIGHT;
            panel.draw(canvas, looks, (x, top), Rect { x: x + left, y: top + head, width, height: size.plot_height });
        }
        top += head + size.plot_height + foot + ROW_GAP;
    }
    top - if panels.is_empty() { 0.0 } else { ROW_GAP } + MARGIN
}

fn panel_size(columns: usize, inner: f64) -> Size {
    let width = (inner - (columns - 1) as f64 * COLUMN_GAP) / columns as f64;
    // Narrow panels are lower, so that several rows of them fit a page.
    let plot_height = match width {
        600.0.. => 340.0,
        350.0.. => 225.0,
        _ => 180.0,
    };
    Size { width, plot_height }
}

/// One legend for all panels, when each has names and one of them has all there are.
fn shared_legend<'a>(figure: &'a Figure, looks: &Looks<'a>) -> Option<Legend> {
    let charts: Vec<&Chart> = figure.charts.iter().collect();
    let complete = charts.iter().any(|chart| chart.names().len() == looks.names().len());
    let named = charts.iter().all(|chart| !chart.names().is_empty());
    (charts.len() > 1 && complete && named).then(|| Legend::new(&charts, looks, figure.width - 2.0 * MARGIN))
}

fn panels<'a>(figure: &'a Figure, looks: &Looks<'a>, shared: bool, size: Size) -> Vec<Panel<'a>> {
    let panel = |(index, chart): (usize, &'a Chart)| {
        let name = (figure.charts.len() > 1).then(|| letter(index));
        let legend = if shared { Legend::default() } else { Legend::new(&[chart], looks, size.width) };
        Panel::new(chart, name.as_deref(), legend, size)
    };
    figure.charts.iter().enumerate().map(panel).collect()
}

/// Puts the drawing into its root element.
fn document(figure: &Figure, theme: Theme, height: f64, drawing: &str) -> String {
    let (width, height) = (px(figure.width), px(height.ceil()));
    let view = format!("0 0 {width} {height}");
    let mut markup = Markup::default();
    let size = [("width", width.as_str()), ("height", height.as_str())];
    let common = [("viewBox", view.as_str()), ("font-family", FAMILIES)];
    match theme {
        Theme::Paper => {
            markup.open("svg", &[&[("xmlns", "http://www.w3.org/2000/svg")], &size[..], &common].concat());
            markup.leaf("title", &[], &figure.title);
            markup.leaf("desc", &[], &figure.caption);
            let ground = theme.paint(Role::Ground);
            markup.empty("rect", &[&size[..], &[("fill", ground.as_str())]].concat());
        }
        Theme::Page => markup.open("svg", &[&common[..], &[("role", "img"), ("aria-label", &figure.title)]].concat()),
    }
    markup.raw(drawing);
    markup.close("svg");
    markup.finish()
}
