//! The legend: which look belongs to which name. It stands above what it explains, never on it.

use super::canvas::{Anchor, Canvas, Lettering, Path, Pen, Rect, Spot};
use super::frame::{LABEL, centred, height_of};
use super::line::{LINE_WIDTH, MARKER_RADIUS};
use super::look::{Look, Looks};
use super::{Chart, bar};
use crate::text::{widest, wrap};
use crate::theme::Role;

const ROW: f64 = 20.0;
/// Long enough to show the longest dash and its gap twice, beside a marker.
const LINE_KEY: f64 = 34.0;
const BAR_KEY: f64 = 15.0;
const KEY_GAP: f64 = 6.0;
const ENTRY_GAP: f64 = 20.0;

#[derive(Debug, Default)]
pub(super) struct Legend {
    rows: Vec<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// The name, broken when it is wider than the legend.
    name: Vec<String>,
    look: Look,
    line: bool,
    bar: bool,
}

impl Legend {
    /// A legend of all names of some charts, at most that wide.
    pub(super) fn new(charts: &[&Chart], looks: &Looks<'_>, limit: f64) -> Legend {
        let mut rows: Vec<Vec<Entry>> = Vec::new();
        let mut used = f64::INFINITY;
        for entry in entries(charts, looks, limit) {
            if used + ENTRY_GAP + entry.width() > limit {
                rows.push(Vec::new());
                used = -ENTRY_GAP;
            }
            used += ENTRY_GAP + entry.width();
            rows.last_mut().expect("the first entry opened a row").push(entry);
        }
        Legend { rows }
    }

    pub(super) fn height(&self) -> f64 {
        self.rows.iter().map(|row| row_height(row)).sum()
    }

    /// Draws the legend with its upper left corner at the spot.
    pub(super) fn draw(&self, canvas: &mut Canvas, at: Spot) {
        let mut y = at.1;
        for row in &self.rows {
            let mut x = at.0;
            for entry in row {
                entry.draw(canvas, (x, y + row_height(row) / 2.0));
                x += entry.width() + ENTRY_GAP;
            }
            y += row_height(row);
        }
    }
}

impl Entry {
    fn keys(&self) -> f64 {
        let line = if self.line { LINE_KEY + KEY_GAP } else { 0.0 };
        let bar = if self.bar { BAR_KEY + KEY_GAP } else { 0.0 };
        line + bar
    }

    fn width(&self) -> f64 {
        self.keys() + widest(self.name.iter().map(String::as_str), LABEL)
    }

    /// Draws keys and name; the spot is the middle of the left side.
    fn draw(&self, canvas: &mut Canvas, (x, y): Spot) {
        let mut at = x;
        if self.line {
            self.draw_line(canvas, (at, y));
            at += LINE_KEY + KEY_GAP;
        }
        if self.bar {
            let rect = Rect { x: at, y: y - 6.0, width: BAR_KEY, height: 12.0 };
            bar::draw_block(canvas, rect, self.look);
        }
        centred(canvas, &self.name, (x + self.keys(), y), Lettering::new(LABEL, Role::Ink, Anchor::Start));
    }

    fn draw_line(&self, canvas: &mut Canvas, (x, y): Spot) {
        let pen = Pen { role: self.look.role(), width: LINE_WIDTH, dash: self.look.dash() };
        canvas.line((x, y), (x + LINE_KEY, y), pen);
        let mut marker = Path::default();
        self.look.mark(&mut marker, (x + LINE_KEY / 2.0, y), MARKER_RADIUS);
        canvas.fill_edged(&marker, self.look.role());
    }
}

fn row_height(row: &[Entry]) -> f64 {
    let deepest = row.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    ROW.max(height_of(deepest, LABEL) + 4.0)
}

fn entries(charts: &[&Chart], looks: &Looks<'_>, limit: f64) -> Vec<Entry> {
    let uses =
        |name: &str, line: bool| charts.iter().any(|chart| chart.has_lines() == line && chart.names().contains(&name));
    let entry = |name: &&str| {
        let mut entry = Entry { name: vec![], look: looks.look(name), line: uses(name, true), bar: uses(name, false) };
        entry.name = wrap(name, LABEL, limit - entry.keys());
        entry
    };
    looks.names().iter().map(entry).filter(|entry| entry.line || entry.bar).collect()
}
