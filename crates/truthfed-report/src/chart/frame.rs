//! What surrounds the data of a chart: grid, axes, ticks and their labels.

use super::canvas::{Anchor, Canvas, Lettering, Path, Pen, Rect, Spot};
use super::ruler::Ruler;
use crate::text::{CAP_HEIGHT, LEADING, widest};
use crate::theme::Role;

/// Font sizes, from the title of a chart down to the values over bars.
pub(super) const TITLE: f64 = 14.0;
pub(super) const LABEL: f64 = 12.5;
pub(super) const TICK: f64 = 11.5;
pub(super) const VALUE: f64 = 10.5;

const TICK_LENGTH: f64 = 4.0;
const MINOR_LENGTH: f64 = 2.5;
const TICK_GAP: f64 = 4.0;

/// Room that tick labels need to the left of the plot.
pub(super) fn left_of(y: &Ruler) -> f64 {
    widest(y.ticks.iter().map(|tick| tick.label.as_str()), TICK) + TICK_LENGTH + TICK_GAP
}

/// Room that one line of tick labels needs below the plot.
pub(super) fn below() -> f64 {
    TICK_LENGTH + TICK_GAP + TICK * CAP_HEIGHT
}

/// Room that some lines of text need.
pub(super) fn height_of(lines: usize, size: f64) -> f64 {
    lines as f64 * size * LEADING
}

/// Height of a value on the plot.
pub(super) fn level(y: &Ruler, plot: Rect, value: f64) -> f64 {
    plot.bottom() - y.share(value) * plot.height
}

/// Writes lines of text one below the other; the first lies just below the spot.
pub(super) fn paragraph(canvas: &mut Canvas, lines: &[String], at: Spot, lettering: Lettering) {
    for (index, line) in lines.iter().enumerate() {
        let baseline = at.1 + height_of(index, lettering.size) + lettering.size * CAP_HEIGHT;
        canvas.text(line, (at.0, baseline), lettering);
    }
}

/// Writes lines of text one below the other; the spot is at half their height.
pub(super) fn centred(canvas: &mut Canvas, lines: &[String], at: Spot, lettering: Lettering) {
    let height = height_of(lines.len().saturating_sub(1), lettering.size) + lettering.size * CAP_HEIGHT;
    paragraph(canvas, lines, (at.0, at.1 - height / 2.0), lettering);
}

/// Horizontal grid lines, the vertical axis and its labels.
pub(super) fn draw_y(canvas: &mut Canvas, y: &Ruler, plot: Rect) {
    let lettering = Lettering::new(TICK, Role::Muted, Anchor::End);
    for tick in &y.ticks {
        let at = level(y, plot, tick.value);
        canvas.line((plot.x, at), (plot.right(), at), Pen::solid(Role::Grid, 1.0));
        canvas.line((plot.x - TICK_LENGTH, at), (plot.x, at), Pen::solid(Role::Axis, 1.0));
        let baseline = at + TICK * CAP_HEIGHT / 2.0;
        canvas.text(&tick.label, (plot.x - TICK_LENGTH - TICK_GAP, baseline), lettering);
    }
    for value in &y.minor {
        let at = level(y, plot, *value);
        canvas.line((plot.x - MINOR_LENGTH, at), (plot.x, at), Pen::solid(Role::Axis, 0.75));
    }
    canvas.line((plot.x, plot.y), (plot.x, plot.bottom()), Pen::solid(Role::Axis, 1.0));
}

/// Vertical grid lines, the ticks of the horizontal axis and their labels.
pub(super) fn draw_x(canvas: &mut Canvas, x: &Ruler, plot: Rect) {
    let lettering = Lettering::new(TICK, Role::Muted, Anchor::Middle);
    let bottom = plot.bottom();
    for tick in &x.ticks {
        let at = plot.x + x.share(tick.value) * plot.width;
        canvas.line((at, plot.y), (at, bottom), Pen::solid(Role::Grid, 1.0));
        canvas.line((at, bottom), (at, bottom + TICK_LENGTH), Pen::solid(Role::Axis, 1.0));
        canvas.text(&tick.label, (at, bottom + below()), lettering);
    }
    for value in &x.minor {
        let at = plot.x + x.share(*value) * plot.width;
        canvas.line((at, bottom), (at, bottom + MINOR_LENGTH), Pen::solid(Role::Axis, 0.75));
    }
}

pub(super) fn draw_base(canvas: &mut Canvas, plot: Rect, at: f64) {
    canvas.line((plot.x, at), (plot.right(), at), Pen::solid(Role::Axis, 1.0));
}

/// Writes one line of text on a patch of ground, so that no grid line runs through it.
pub(super) fn patched(canvas: &mut Canvas, text: &str, at: Spot, lettering: Lettering) {
    let (width, height) = (widest([text], lettering.size), lettering.size * CAP_HEIGHT);
    let start = match lettering.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    // Turned by -90 degrees, what runs to the right runs up.
    let patch = if lettering.turn == 0.0 {
        Rect { x: at.0 + start - 1.0, y: at.1 - height - 1.0, width: width + 2.0, height: height + 2.0 }
    } else {
        Rect { x: at.0 - height - 1.0, y: at.1 - start - width - 1.0, width: height + 2.0, height: width + 2.0 }
    };
    let mut path = Path::default();
    path.rect(patch);
    canvas.fill(&path, Role::Ground, 1.0);
    canvas.text(text, at, lettering);
}

pub(super) fn draw_no_data(canvas: &mut Canvas, plot: Rect) {
    let spot = (plot.x + plot.width / 2.0, plot.y + plot.height / 2.0);
    patched(canvas, "no data", spot, Lettering::new(LABEL, Role::Muted, Anchor::Middle));
}
