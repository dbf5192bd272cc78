//! The inside of a bar chart: bars, error bars, values on top, names below.

use super::canvas::{Anchor, Canvas, Lettering, Path, Pen, Rect};
use super::frame::{LABEL, TICK, VALUE, draw_base, draw_no_data, draw_y, height_of, level, paragraph, patched};
use super::look::{Look, Looks};
use super::ruler::{Fit, Ruler, drawn, extent, has_place};
use super::{Bar, BarGroup, Scale};
use crate::text::{CAP_HEIGHT, widest, wrap};
use crate::theme::Role;

// Lengths are pixels of a figure that is 840 wide, chosen by eye on the gallery.
/// Share of a group's room that its bars fill: what is left must separate groups at a glance.
const FILLED: f64 = 0.86;
/// Share of its own room that a bar fills: neighbours do not touch, so that their hatches stay apart.
const BREADTH: f64 = 0.9;
/// A lone bar that filled its group would read as a block of colour.
const WIDEST_BAR: f64 = 54.0;
/// Half the width of an error bar's caps.
const CAP: f64 = 3.5;
/// From the axis to the names of groups, and from a bar to its value.
const NAME_GAP: f64 = 8.0;
const VALUE_GAP: f64 = 4.5;
/// Sizes of values: the first at which all fit over their bars. Smaller ones are hard to read, so values turn upright.
const VALUE_SIZES: [f64; 2] = [VALUE, 9.5];
/// Names that need more lines lean instead.
const MOST_LINES: usize = 5;
/// Width at which leaning names are broken.
const LEANING_ROOM: f64 = 150.0;
/// Degrees by which names lean when they have no room to stand, its sine and cosine: constants, so that no platform's
/// mathematics decides where a name lies.
const LEAN: (f64, f64, f64) = (-35.0, 0.5736, 0.8192);
/// Pixels between the labels of two ticks, when values stand over the bars and the axis says less.
const TICK_ROOM: f64 = 40.0;
const LOG_TICK_ROOM: f64 = 25.0;

/// A bar chart whose axis and lettering are settled.
#[derive(Debug)]
pub(super) struct BarBody<'a> {
    groups: &'a [BarGroup],
    scale: Scale,
    pub(super) y: Ruler,
    names: Names,
    values: Values,
}

/// How the names of groups are set: lines of each, and their size.
#[derive(Debug)]
struct Names {
    lines: Vec<Vec<String>>,
    size: f64,
    leaning: bool,
}

/// How values at the ends of bars are set: small, or upright when they are still wider than their bars. Where even upright
/// ones would touch each other, they are left to the CSV.
#[derive(Debug, Clone, Copy)]
struct Values {
    size: f64,
    upright: bool,
    hidden: bool,
}

impl<'a> BarBody<'a> {
    /// Settles axis and lettering for a plot of about that size.
    pub(super) fn new(groups: &'a [BarGroup], scale: Scale, plot_width: f64, height: f64) -> BarBody<'a> {
        let slot = plot_width / groups.len().max(1) as f64;
        let values = values(groups, slot);
        let extent = y_extent(groups, scale);
        let y = if !values.hidden && bars(groups).any(|bar| bar.label.is_some()) {
            let extent = extent.map(|extent| with_headroom(groups, scale, extent, height, values));
            let spacing = if scale == Scale::Log { LOG_TICK_ROOM } else { TICK_ROOM };
            Ruler::new(scale, extent, (height / spacing) as usize, Fit::Tight)
        } else {
            Ruler::upright(scale, extent, height)
        };
        BarBody { groups, scale, y, names: names(groups, slot), values }
    }

    /// Room needed below the plot.
    pub(super) fn foot(&self) -> f64 {
        let deepest = self.names.lines.iter().map(Vec::len).max().unwrap_or(0);
        let lines = height_of(deepest, self.names.size);
        NAME_GAP + if self.names.leaning { self.names.widest() * LEAN.1 + lines * LEAN.2 } else { lines }
    }

    /// Room that leaning names need to the left of the plot.
    pub(super) fn left(&self, plot_width: f64) -> f64 {
        let slot = plot_width / self.groups.len().max(1) as f64;
        if self.names.leaning { self.names.widest() * LEAN.2 - slot / 2.0 } else { 0.0 }
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, looks: &Looks<'_>, plot: Rect) {
        draw_y(canvas, &self.y, plot);
        let slot = plot.width / self.groups.len().max(1) as f64;
        for (index, group) in self.groups.iter().enumerate() {
            let middle = plot.x + (index as f64 + 0.5) * slot;
            self.draw_group(canvas, looks, group, (middle, slot), plot);
            self.draw_name(canvas, &self.names.lines[index], middle, plot.bottom() + NAME_GAP);
        }
        draw_base(canvas, plot, self.base(plot));
        if self.groups.iter().all(|group| group.bars.is_empty()) {
            draw_no_data(canvas, plot);
        }
    }

    fn draw_group(&self, canvas: &mut Canvas, looks: &Looks<'_>, group: &BarGroup, place: (f64, f64), plot: Rect) {
        let (middle, slot) = place;
        let pitch = pitch(group, slot);
        let left = middle - pitch * group.bars.len() as f64 / 2.0;
        for (index, bar) in group.bars.iter().enumerate() {
            let centre = left + (index as f64 + 0.5) * pitch;
            self.draw_bar(canvas, looks.look(&bar.name), bar, (centre, pitch * BREADTH), plot);
        }
    }

    fn draw_bar(&self, canvas: &mut Canvas, look: Look, bar: &Bar, (centre, breadth): (f64, f64), plot: Rect) {
        let base = self.base(plot);
        if !has_place(bar.height, self.scale) {
            return self.draw_value(canvas, "n/a", (centre, base), false);
        }
        let end = level(&self.y, plot, bar.height);
        let rect = Rect { x: centre - breadth / 2.0, y: end.min(base), width: breadth, height: (end - base).abs() };
        draw_block(canvas, rect, look);
        let error = drawn(bar.error);
        let (top, bottom) = (level(&self.y, plot, bar.height + error), level(&self.y, plot, bar.height - error));
        if error > 0.0 {
            let mut path = Path::default();
            path.error_bar(centre, top, bottom, CAP);
            canvas.stroke(&path, Pen::solid(Role::Ink, 1.2));
        }
        if let Some(label) = bar.label.as_ref().filter(|_| !self.values.hidden) {
            let down = bar.height < 0.0;
            let edge = if down { bottom.max(end) } else { top.min(end) };
            self.draw_value(canvas, label, (centre, edge), down);
        }
    }

    /// Writes a value beyond the end of a bar: above it, or below when the bar points down.
    fn draw_value(&self, canvas: &mut Canvas, label: &str, (centre, edge): (f64, f64), down: bool) {
        let cap = self.values.size * CAP_HEIGHT;
        let gap = if down { VALUE_GAP } else { -VALUE_GAP };
        if self.values.upright {
            let anchor = if down { Anchor::End } else { Anchor::Start };
            let lettering = Lettering::new(self.values.size, Role::Ink, anchor).turned(-90.0);
            patched(canvas, label, (centre + cap / 2.0, edge + gap), lettering);
        } else {
            let baseline = if down { edge + gap + cap } else { edge + gap };
            patched(canvas, label, (centre, baseline), Lettering::new(self.values.size, Role::Ink, Anchor::Middle));
        }
    }

    fn draw_name(&self, canvas: &mut Canvas, lines: &[String], middle: f64, top: f64) {
        let size = self.names.size;
        if !self.names.leaning {
            return paragraph(canvas, lines, (middle, top), Lettering::new(size, Role::Ink, Anchor::Middle));
        }
        let lettering = Lettering::new(size, Role::Ink, Anchor::End).turned(LEAN.0);
        // Lines of a leaning name lie side by side; together they are centred below the group.
        let first = -height_of(lines.len().saturating_sub(1), size) / 2.0;
        for (index, line) in lines.iter().enumerate() {
            let aside = first + height_of(index, size);
            let spot = (middle + 4.0 + aside * LEAN.1, top + size * CAP_HEIGHT / 2.0 + (aside - first) * LEAN.2);
            canvas.text(line, spot, lettering);
        }
    }

    /// Where bars begin: at zero, or at the low end of a logarithmic axis.
    fn base(&self, plot: Rect) -> f64 {
        match self.scale {
            Scale::Linear => level(&self.y, plot, 0.0),
            Scale::Log => plot.bottom(),
        }
    }
}

impl Names {
    fn widest(&self) -> f64 {
        widest(self.lines.iter().flatten().map(String::as_str), self.size)
    }
}

/// Draws the block of a bar, or of its key in a legend.
pub(super) fn draw_block(canvas: &mut Canvas, rect: Rect, look: Look) {
    let mut block = Path::default();
    block.rect(rect);
    canvas.fill(&block, look.role(), 1.0);
    canvas.stroke(&look.hatch(rect), Pen::solid(Role::Ground, 0.9));
}

fn bars(groups: &[BarGroup]) -> impl Iterator<Item = &Bar> {
    groups.iter().flat_map(|group| &group.bars)
}

fn y_extent(groups: &[BarGroup], scale: Scale) -> Option<(f64, f64)> {
    let placed = bars(groups).filter(|bar| has_place(bar.height, scale));
    match scale {
        Scale::Linear => {
            let ends = placed.flat_map(|bar| [0.0, bar.height - drawn(bar.error), bar.height + drawn(bar.error)]);
            // Error bars of upward bars may reach below zero; they are cut there unless some bar points down.
            let down = bars(groups).any(|bar| bar.height < 0.0);
            extent(ends, scale).map(|(low, high)| (if down { low } else { 0.0 }, high))
        }
        // The lowest bar must have a height to be seen.
        Scale::Log => extent(placed.flat_map(|bar| [bar.height / 2.0, bar.height + drawn(bar.error)]), scale),
    }
}

/// Makes room for the values at the ends of bars.
fn with_headroom(
    groups: &[BarGroup],
    scale: Scale,
    (low, high): (f64, f64),
    height: f64,
    values: Values,
) -> (f64, f64) {
    let labels = |down: bool| {
        let labels = bars(groups).filter(move |bar| (bar.height < 0.0) == down).filter_map(|bar| bar.label.as_deref());
        let widest = widest(labels, values.size);
        let extent = if values.upright { widest } else { values.size };
        if widest > 0.0 { (extent + 2.0 * VALUE_GAP).min(height / 3.0) } else { 0.0 }
    };
    let (above, below) = (labels(false), labels(true));
    match scale {
        Scale::Linear => {
            let unit = (high - low) / (height - above - below);
            (low - below * unit, high + above * unit)
        }
        Scale::Log => (low, high * libm::pow(high / low, above / (height - above))),
    }
}

fn pitch(group: &BarGroup, slot: f64) -> f64 {
    (slot * FILLED / group.bars.len().max(1) as f64).min(WIDEST_BAR)
}

/// The largest lettering with which every value fits over its bar.
fn values(groups: &[BarGroup], slot: f64) -> Values {
    let fits = |group: &BarGroup, size: f64| {
        let room = if group.bars.len() == 1 { slot } else { pitch(group, slot) };
        widest(group.bars.iter().filter_map(|bar| bar.label.as_deref()), size) <= room - 1.0
    };
    let size = VALUE_SIZES.into_iter().find(|size| groups.iter().all(|group| fits(group, *size)));
    let narrowest = groups.iter().map(|group| pitch(group, slot)).fold(f64::INFINITY, f64::min);
    Values { size: size.unwrap_or(VALUE), upright: size.is_none(), hidden: size.is_none() && narrowest < VALUE }
}

/// The largest lettering with which every name fits below its group, else leaning names.
fn names(groups: &[BarGroup], slot: f64) -> Names {
    let wrapped = |size: f64, room: f64, leaning: bool| Names {
        lines: groups.iter().map(|group| wrap(&group.name, size, room)).collect(),
        size,
        leaning,
    };
    let room = slot - 5.0;
    let fits = |names: &Names| names.widest() <= room && names.lines.iter().all(|lines| lines.len() <= MOST_LINES);
    let level = [LABEL, TICK].into_iter().map(|size| wrapped(size, room, false)).find(fits);
    level.unwrap_or_else(|| wrapped(TICK, LEANING_ROOM, true))
}
