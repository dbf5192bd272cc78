//! One chart with everything around it: title, legend, plot, axis labels, note.
//!
//! A panel first says how much room it needs; the figure aligns the plots of a row and of a column, and then has the
//! panels drawn.

use super::Chart;
use super::bar::BarBody;
use super::canvas::{Anchor, Canvas, Lettering, Rect, Spot};
use super::frame::{LABEL, NOTE, TITLE, height_of, left_of, paragraph};
use super::legend::Legend;
use super::line::LineBody;
use super::look::Looks;
use super::ruler::Ruler;
use crate::text::{CAP_HEIGHT, wrap};
use crate::theme::Role;

/// Room to the right of a plot, for half of the last tick label.
pub(super) const RIGHT: f64 = 16.0;

/// What the vertical axis is assumed to take before its labels are known.
const LEFT_GUESS: f64 = 60.0;
const GAP: f64 = 8.0;

/// A chart whose axes are settled.
#[derive(Debug)]
pub(super) struct Panel<'a> {
    title: Vec<String>,
    legend: Legend,
    y_label: Vec<String>,
    body: Body<'a>,
    note: Vec<String>,
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
            Some(letter) => format!("({letter}) {}", chart.title()),
            None => chart.title().to_owned(),
        };
        Panel {
            title: wrap(&heading, TITLE, size.width),
            legend,
            y_label: wrap(&chart.y().label, LABEL, size.plot_height + 20.0),
            body: match chart {
                Chart::Line(chart) => Body::Line(LineBody::new(chart, plot_width, size.plot_height)),
                Chart::Bar(chart) => Body::Bar(BarBody::new(chart, plot_width, size.plot_height)),
            },
            note: wrap(chart.note().unwrap_or_default(), NOTE, size.width),
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
        let axis = left_of(self.y()) + height_of(self.y_label.len(), LABEL) + GAP / 2.0;
        match &self.body {
            Body::Line(_) => axis,
            Body::Bar(body) => axis.max(body.left(size.width - axis - RIGHT)),
        }
    }

    /// Room needed below the plot.
    pub(super) fn foot(&self) -> f64 {
        let note = if self.note.is_empty() { 0.0 } else { GAP + height_of(self.note.len(), NOTE) };
        note + self.body_foot()
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
        let note = (x, plot.bottom() + self.body_foot() + GAP);
        paragraph(canvas, &self.note, note, Lettering::new(NOTE, Role::Muted, Anchor::Start));
    }

    fn draw_y_label(&self, canvas: &mut Canvas, x: f64, plot: Rect) {
        let lettering = Lettering::new(LABEL, Role::Ink, Anchor::Middle).turned(-90.0);
        let middle = plot.y + plot.height / 2.0;
        for (index, line) in self.y_label.iter().enumerate() {
            canvas.text(line, (x + height_of(index, LABEL) + LABEL * CAP_HEIGHT, middle), lettering);
        }
    }

    fn y(&self) -> &Ruler {
        match &self.body {
            Body::Line(body) => &body.y,
            Body::Bar(body) => &body.y,
        }
    }

    fn body_foot(&self) -> f64 {
        match &self.body {
            Body::Line(body) => body.foot(),
            Body::Bar(body) => body.foot(),
        }
    }
}
