//! One chart with everything around it: title, legend, plot, axis labels, note.
//!
//! A panel first says how much room it needs; the figure aligns the plots of a row and of a column, and then has the
//! panels drawn.

use super::bar::BarBody;
use super::canvas::{Anchor, Canvas, Lettering, Rect, Spot};
use super::frame::{LABEL, TITLE, height_of, left_of, paragraph};
use super::legend::Legend;
use super::line::LineBody;
use super::look::Looks;
use super::{Chart, Data};
use crate::text::{CAP_HEIGHT, wrap};
use crate::theme::Role;

/// Room to the right of a plot, for half of the last tick label.
pub(super) const RIGHT: f64 = 16.0;

/// What the vertical axis is assumed to take before its labels are known: a label of five digits and its name.
const LEFT_GUESS: f64 = 60.0;
const GAP: f64 = 8.0;

/// A chart whose axes are settled.
#[derive(Debug)]
pub(super) struct Panel<'a> {
    title: Vec<String>,
    legend: Legend,
    y_label: Vec<String>,
    body: Body<'a>,
    /// Room that the labels of the ticks need to the left of the plot, and the body below it.
    ticks: f64,
    pub(super) foot: f64,
}

#[derive(Debug)]
enum Body<'a> {
    Line(LineBody<'a>),
    Bar(BarBody<'a>),
}

/// The size of a panel: its whole width, the height of its plot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) width: f64,
    pub(super) plot_height: f64,
}

impl<'a> Panel<'a> {
    pub(super) fn new(chart: &'a Chart, letter: Option<&str>, legend: Legend, size: Size) -> Panel<'a> {
        let plot_width = size.width - LEFT_GUESS - RIGHT;
        let heading = match letter {
            Some(letter) => format!("({letter}) {}", chart.title),
            None => chart.title.clone(),
        };
        let (body, ticks, foot) = match &chart.data {
            Data::Lines { x, series } => {
                let body = LineBody::new(x, &chart.y, series, plot_width, size.plot_height);
                let (ticks, foot) = (left_of(&body.y), body.foot());
                (Body::Line(body), ticks, foot)
            }
            Data::Bars(groups) => {
                let body = BarBody::new(groups, chart.y.scale, plot_width, size.plot_height);
                let (ticks, foot) = (left_of(&body.y), body.foot());
                (Body::Bar(body), ticks, foot)
            }
        };
        Panel {
            title: wrap(&heading, TITLE, size.width),
            legend,
            y_label: wrap(&chart.y.label, LABEL, size.plot_height + 20.0),
            body,
            ticks,
            foot,
        }
    }

    /// Room needed above the plot.
    pub(super) fn head(&self) -> f64 {
        let title = if self.title.is_empty() { 0.0 } else { height_of(self.title.len(), TITLE) + GAP / 2.0 };
        let legend = if self.legend.height() > 0.0 { self.legend.height() + GAP / 2.0 } else { 0.0 };
        title + legend + GAP
    }

    /// Room needed to the left of the plot.
    pub(super) fn left(&self, size: Size) -> f64 {
        let axis = self.ticks + height_of(self.y_label.len(), LABEL) + GAP / 2.0;
        match &self.body {
            Body::Line(_) => axis,
            Body::Bar(body) => axis.max(body.left(size.width - axis - RIGHT)),
        }
    }

    /// Draws the panel with its upper left corner at the spot, and its plot in the rectangle.
    pub(super) fn draw(&self, canvas: &mut Canvas, looks: &Looks<'_>, (x, y): Spot, plot: Rect) {
        paragraph(canvas, &self.title, (x, y), Lettering::new(TITLE, Role::Ink, Anchor::Start));
        let legend = plot.y - GAP - GAP / 2.0 - self.legend.height();
        self.legend.draw(canvas, (x, legend));
        self.draw_y_label(canvas, x, plot);
        match &self.body {
            Body::Line(body) => body.draw(canvas, looks, plot),
            Body::Bar(body) => body.draw(canvas, looks, plot),
        }
    }

    fn draw_y_label(&self, canvas: &mut Canvas, x: f64, plot: Rect) {
        let lettering = Lettering::new(LABEL, Role::Ink, Anchor::Middle).turned(-90.0);
        let middle = plot.y + plot.height / 2.0;
        for (index, line) in self.y_label.iter().enumerate() {
            canvas.text(line, (x + height_of(index, LABEL) + LABEL * CAP_HEIGHT, middle), lettering);
        }
    }
}
