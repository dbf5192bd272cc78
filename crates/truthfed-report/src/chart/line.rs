//! The inside of a line chart: bands or error bars, lines, markers.

use super::canvas::{Anchor, Canvas, Lettering, Path, Pen, Rect, Spot};
use super::frame::{LABEL, TICK, below, draw_base, draw_no_data, draw_x, draw_y, height_of, level, paragraph};
use super::look::{Look, Looks};
use super::ruler::{Fit, Ruler, drawn, extent, has_place};
use super::thin::thin;
use super::{Axis, Point, Scale, Series};
use crate::text::{widest, wrap};
use crate::theme::Role;

pub(super) const LINE_WIDTH: f64 = 1.9;
pub(super) const MARKER_RADIUS: f64 = 3.4;

/// A series of at most so many points shows each of them, with error bars: more bars than that touch each other.
const FEW: usize = 15;
/// A longer one has so many markers, enough to follow a line that others cross.
const MARKERS: usize = 7;
/// And is drawn through at most so many points: no plot is 800 pixels wide, so there is one for every two or three.
const MOST: usize = 300;

// Lengths are pixels of a figure that is 840 wide, chosen by eye on the gallery.
/// Light enough that lines show through several bands.
const BAND_OPACITY: f64 = 0.16;
/// Half the width of an error bar's caps.
const CAP: f64 = 3.0;
/// A shorter error bar is hidden by its marker.
const SHORTEST: f64 = 0.5;
/// From tick labels to the label of the axis, and between two tick labels.
const LABEL_GAP: f64 = 9.0;
const TICK_GAP: f64 = 16.0;
/// From the sides of a plot to the first and last point of a short series.
const INSET: f64 = 14.0;
/// Series are drawn this far aside of each other, and together not farther than this: the eye still takes them for one
/// position.
const DODGE: f64 = 3.0;
const DODGE_MOST: f64 = 8.0;
/// An axis starts at zero when the data reach down to this share of their maximum: zero then costs a third of the plot.
const NEAR_ZERO: f64 = 0.35;
/// Steps that start this near to zero, against the last, start at it.
const FIRST_STEP: f64 = 0.02;

/// A line chart whose axes are settled.
#[derive(Debug)]
pub(super) struct LineBody<'a> {
    series: &'a [Series],
    scales: (Scale, Scale),
    x: Ruler,
    pub(super) y: Ruler,
    x_label: Vec<String>,
}

/// A point on the canvas, with the ends of its error.
#[derive(Debug, Clone, Copy)]
struct Placed {
    at: Spot,
    top: f64,
    bottom: f64,
}

impl<'a> LineBody<'a> {
    /// Settles the axes for a plot of about that size.
    pub(super) fn new(x: &Axis, y: &Axis, series: &'a [Series], width: f64, height: f64) -> LineBody<'a> {
        let scales = (x.scale, y.scale);
        LineBody {
            series,
            scales,
            x: x_ruler(series, scales, width),
            y: Ruler::upright(y.scale, y_extent(series, scales, y.covers), height),
            x_label: wrap(&x.label, LABEL, width),
        }
    }

    /// Room needed below the plot.
    pub(super) fn foot(&self) -> f64 {
        below() + LABEL_GAP + height_of(self.x_label.len(), LABEL)
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, looks: &Looks<'_>, plot: Rect) {
        let inner = self.inner(plot);
        draw_x(canvas, &self.x, inner);
        draw_y(canvas, &self.y, plot);
        draw_base(canvas, plot, plot.bottom());
        let label = (plot.x + plot.width / 2.0, plot.bottom() + below() + LABEL_GAP);
        paragraph(canvas, &self.x_label, label, Lettering::new(LABEL, Role::Ink, Anchor::Middle));
        let place = |(index, series): (usize, &Series)| {
            let aside = Rect { x: inner.x + self.dodge(index), ..inner };
            (looks.look(&series.name), self.place(series, aside))
        };
        let lines: Vec<(Look, Vec<Vec<Placed>>)> = self.series.iter().enumerate().map(place).collect();
        if lines.iter().all(|(_, runs)| runs.is_empty()) {
            draw_no_data(canvas, plot);
        }
        // What is drawn later covers what is drawn earlier: bands lie below all lines, markers on top.
        lines.iter().for_each(|(look, runs)| draw_errors(canvas, *look, runs));
        lines.iter().for_each(|(look, runs)| draw_line(canvas, *look, runs));
        lines.iter().for_each(|(look, runs)| draw_markers(canvas, *look, runs));
    }

    /// Where the data lie: the plot, or a little inside when markers and error bars would touch its sides.
    fn inner(&self, plot: Rect) -> Rect {
        let few = self.series.iter().any(|series| (1..=FEW).contains(&series.points.len()));
        let inset = if few { INSET } else { 0.0 };
        Rect { x: plot.x + inset, width: plot.width - 2.0 * inset, ..plot }
    }

    /// How far a series is drawn aside, so that error bars at the same place do not hide each other: a few pixels.
    fn dodge(&self, index: usize) -> f64 {
        let series = self.series;
        let barred = |series: &Series| series.points.len() <= FEW && series.points.iter().any(|p| drawn(p.error) > 0.0);
        if !series.iter().all(barred) || series.len() < 2 {
            return 0.0;
        }
        let step = DODGE.min(2.0 * DODGE_MOST / (series.len() - 1) as f64);
        (index as f64 - (series.len() - 1) as f64 / 2.0) * step
    }

    /// The drawable points of a series, in runs between those that are not.
    fn place(&self, series: &Series, plot: Rect) -> Vec<Vec<Placed>> {
        let drawable = |point: &Point| is_drawable(self.scales, point);
        let total = series.points.iter().filter(|point| drawable(point)).count().max(1);
        let runs = series.points.chunk_by(|a, b| drawable(a) == drawable(b)).filter(|run| drawable(&run[0]));
        let thinned = |run: &[Point]| {
            let placed: Vec<Placed> = run.iter().map(|point| self.place_point(point, plot)).collect();
            let spots: Vec<Spot> = placed.iter().map(|point| point.at).collect();
            let limit = (MOST * run.len() / total).max(3);
            thin(&spots, limit).into_iter().map(|index| placed[index]).collect()
        };
        runs.map(thinned).collect()
    }

    fn place_point(&self, point: &Point, plot: Rect) -> Placed {
        let error = drawn(point.error);
        Placed {
            at: (plot.x + self.x.share(point.x) * plot.width, level(&self.y, plot, point.mean)),
            top: level(&self.y, plot, point.mean + error),
            bottom: level(&self.y, plot, point.mean - error),
        }
    }
}

fn is_drawable((x, y): (Scale, Scale), point: &Point) -> bool {
    has_place(point.x, x) && has_place(point.mean, y)
}

fn drawable(series: &[Series], scales: (Scale, Scale)) -> impl Iterator<Item = &Point> {
    series.iter().flat_map(|series| &series.points).filter(move |point| is_drawable(scales, point))
}

/// What the vertical axis must cover. A linear one starts at zero unless that would squeeze the data.
fn y_extent(series: &[Series], scales: (Scale, Scale), covers: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let scale = scales.1;
    let ends = |point: &Point| {
        let (low, high) = (point.mean - drawn(point.error), point.mean + drawn(point.error));
        // On a log axis a band may reach down to nothing; then its foot is cut off.
        let cut = scale == Scale::Log && low < point.mean / 10.0;
        [if cut { point.mean } else { low }, high]
    };
    let covered = covers.into_iter().flat_map(|(low, high)| [low, high]);
    let (low, high) = extent(drawable(series, scales).flat_map(ends).chain(covered), scale)?;
    Some(match scale {
        Scale::Linear if low >= 0.0 && (low < NEAR_ZERO * high || low == high) => (0.0, high),
        Scale::Linear if high <= 0.0 && (high > NEAR_ZERO * low || low == high) => (low, 0.0),
        _ => (low, high),
    })
}

/// What the horizontal axis must cover. Time that starts at step 1 is shown from 0.
fn x_extent(series: &[Series], scales: (Scale, Scale)) -> Option<(f64, f64)> {
    let (low, high) = extent(drawable(series, scales).map(|point| point.x), scales.0)?;
    let from_zero = scales.0 == Scale::Linear && low > 0.0 && low < FIRST_STEP * high;
    Some((if from_zero { 0.0 } else { low }, high))
}

/// As many ticks as have room.
fn x_ruler(series: &[Series], scales: (Scale, Scale), width: f64) -> Ruler {
    let extent = x_extent(series, scales);
    let ruler = |count: usize| Ruler::new(scales.0, extent, count, Fit::Tight);
    let fits = |ruler: &Ruler| {
        let label = widest(ruler.ticks.iter().map(|tick| tick.label.as_str()), TICK);
        ruler.ticks.len() as f64 * (label + TICK_GAP) <= width
    };
    let most = ((width / 40.0) as usize).clamp(2, 10);
    (2..=most).rev().map(ruler).find(fits).unwrap_or_else(|| ruler(1))
}

fn shows_each(runs: &[Vec<Placed>]) -> bool {
    runs.iter().map(Vec::len).sum::<usize>() <= FEW
}

fn draw_errors(canvas: &mut Canvas, look: Look, runs: &[Vec<Placed>]) {
    let mut path = Path::default();
    if shows_each(runs) {
        for point in runs.iter().flatten().filter(|point| point.bottom - point.top >= SHORTEST) {
            path.error_bar(point.at.0, point.top, point.bottom, CAP);
        }
        return canvas.stroke(&path, Pen::solid(look.role(), 1.2));
    }
    for run in runs.iter().filter(|run| run.len() > 1 && run.iter().any(|point| point.top < point.bottom)) {
        let there = run.iter().map(|point| (point.at.0, point.top));
        let back = run.iter().rev().map(|point| (point.at.0, point.bottom));
        path.polygon(&there.chain(back).collect::<Vec<Spot>>());
    }
    canvas.fill(&path, look.role(), BAND_OPACITY);
}

fn draw_line(canvas: &mut Canvas, look: Look, runs: &[Vec<Placed>]) {
    let mut path = Path::default();
    for run in runs.iter().filter(|run| run.len() > 1) {
        run.iter().for_each(|point| path.push(point.at));
        path.lift();
    }
    canvas.stroke(&path, Pen { role: look.role(), width: LINE_WIDTH, dash: look.dash() });
}

fn draw_markers(canvas: &mut Canvas, look: Look, runs: &[Vec<Placed>]) {
    let all: Vec<Spot> = runs.iter().flatten().map(|point| point.at).collect();
    let spots = if shows_each(runs) { all } else { sparse(&all, look.stagger()) };
    let mut path = Path::default();
    spots.into_iter().for_each(|spot| look.mark(&mut path, spot, MARKER_RADIUS));
    canvas.fill_edged(&path, look.role());
}

/// A few spots of many, evenly spread, at other places for other series.
fn sparse(spots: &[Spot], stagger: usize) -> Vec<Spot> {
    let offset = (stagger * 3 % 8) as f64 / 8.0 + 0.1;
    let index = |marker: usize| ((marker as f64 + offset) / MARKERS as f64 * spots.len() as f64) as usize;
    (0..MARKERS).filter_map(|marker| spots.get(index(marker)).copied()).collect()
}
