//! What charts are drawn with: lines, shapes and text in the colours of a theme.

use crate::markup::{Attributes, Markup, px};
use crate::theme::{Role, Theme};

/// A position: right and down, in pixels.
pub(super) type Spot = (f64, f64);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rect {
    pub(super) fn right(self) -> f64 {
        self.x + self.width
    }

    pub(super) fn bottom(self) -> f64 {
        self.y + self.height
    }
}

/// Which part of a text lies at its spot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Lettering {
    pub(super) size: f64,
    pub(super) role: Role,
    pub(super) anchor: Anchor,
    /// Degrees clockwise around the spot.
    pub(super) turn: f64,
}

impl Lettering {
    pub(super) fn new(size: f64, role: Role, anchor: Anchor) -> Lettering {
        Lettering { size, role, anchor, turn: 0.0 }
    }

    pub(super) fn turned(self, turn: f64) -> Lettering {
        Lettering { turn, ..self }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Pen {
    pub(super) role: Role,
    pub(super) width: f64,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub(super) dash: &'static str,
}

impl Pen {
    pub(super) fn solid(role: Role, width: f64) -> Pen {
        Pen { role, width, dash: "" }
    }
}

#[derive(Debug)]
pub(super) struct Canvas {
    markup: Markup,
    theme: Theme,
}

impl Canvas {
    pub(super) fn new(theme: Theme) -> Canvas {
        Canvas { markup: Markup::default(), theme }
    }

    pub(super) fn line(&mut self, from: Spot, to: Spot, pen: Pen) {
        let mut path = Path::default();
        path.segment(from, to);
        self.stroke(&path, pen);
    }

    pub(super) fn stroke(&mut self, path: &Path, pen: Pen) {
        let (paint, width) = (self.theme.paint(pen.role), px(pen.width));
        let mut attributes = vec![("fill", "none"), ("stroke", paint.as_str()), ("stroke-width", width.as_str())];
        if !pen.dash.is_empty() {
            attributes.push(("stroke-dasharray", pen.dash));
        }
        if path.spots > 2 {
            attributes.push(("stroke-linejoin", "round"));
        }
        self.path(path, &attributes);
    }

    /// Fills a path, wholly (opacity 1) or translucently.
    pub(super) fn fill(&mut self, path: &Path, role: Role, opacity: f64) {
        let (paint, opacity) = (self.theme.paint(role), px(opacity));
        let mut attributes = vec![("fill", paint.as_str())];
        if opacity != "1" {
            attributes.push(("fill-opacity", opacity.as_str()));
        }
        self.path(path, &attributes);
    }

    /// Fills a path and edges it with the ground, so that it stands out from what it covers.
    pub(super) fn fill_edged(&mut self, path: &Path, role: Role) {
        let (paint, ground) = (self.theme.paint(role), self.theme.paint(Role::Ground));
        self.path(path, &[("fill", paint.as_str()), ("stroke", ground.as_str()), ("stroke-width", "1")]);
    }

    fn path(&mut self, path: &Path, attributes: Attributes<'_>) {
        if !path.data.is_empty() {
            self.markup.empty("path", &[&[("d", path.data.as_str())], attributes].concat());
        }
    }

    /// Writes one line of text; the spot is on its baseline.
    pub(super) fn text(&mut self, text: &str, at: Spot, lettering: Lettering) {
        let (x, y, size) = (px(at.0), px(at.1), px(lettering.size));
        let (paint, turn) = (self.theme.paint(lettering.role), format!("rotate({} {x} {y})", px(lettering.turn)));
        let mut attributes =
            vec![("x", x.as_str()), ("y", y.as_str()), ("font-size", size.as_str()), ("fill", paint.as_str())];
        match lettering.anchor {
            Anchor::Start => {}
            Anchor::Middle => attributes.push(("text-anchor", "middle")),
            Anchor::End => attributes.push(("text-anchor", "end")),
        }
        if lettering.turn != 0.0 {
            attributes.push(("transform", turn.as_str()));
        }
        self.markup.leaf("text", &attributes, text);
    }

    pub(super) fn finish(self) -> String {
        self.markup.finish()
    }
}

/// An outline, built up from spots.
#[derive(Debug, Clone, Default)]
pub(super) struct Path {
    data: String,
    open: bool,
    spots: usize,
}

impl Path {
    /// Goes on to a spot, or starts there.
    pub(super) fn push(&mut self, (x, y): Spot) {
        self.data.push(if self.open { 'L' } else { 'M' });
        self.data.push_str(&format!("{} {}", px(x), px(y)));
        self.open = true;
        self.spots += 1;
    }

    /// Ends the line here; the next spot starts another.
    pub(super) fn lift(&mut self) {
        self.open = false;
    }

    /// Adds a line of its own.
    pub(super) fn segment(&mut self, from: Spot, to: Spot) {
        self.push(from);
        self.push(to);
        self.lift();
    }

    /// Adds an upright line with caps that reach that far to both sides.
    pub(super) fn error_bar(&mut self, x: f64, top: f64, bottom: f64, cap: f64) {
        self.segment((x, top), (x, bottom));
        for end in [top, bottom] {
            self.segment((x - cap, end), (x + cap, end));
        }
    }

    pub(super) fn polygon(&mut self, spots: &[Spot]) {
        spots.iter().for_each(|spot| self.push(*spot));
        self.data.push('Z');
        self.lift();
    }

    pub(super) fn circle(&mut self, (x, y): Spot, radius: f64) {
        let (r, across) = (px(radius), px(2.0 * radius));
        let (left, y) = (px(x - radius), px(y));
        self.data.push_str(&format!("M{left} {y}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0 -{across} 0Z"));
        self.spots += 3;
        self.lift();
    }

    pub(super) fn rect(&mut self, rect: Rect) {
        let (left, right, top, bottom) = (rect.x, rect.right(), rect.y, rect.bottom());
        self.polygon(&[(left, top), (right, top), (right, bottom), (left, bottom)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut canvas = Canvas::new(Theme::Paper);
        canvas.text("a<b & \"c\"", (1.0, 2.0), Lettering::new(10.0, Role::Ink, Anchor::Start));
        assert!(canvas.finish().contains(">a&lt;b &amp; &quot;c&quot;</text>"));
    }

    #[test]
    fn a_path_starts_anew_after_it_was_lifted_or_closed() {
        let mut path = Path::default();
        path.segment((0.0, 0.0), (1.0, 0.5));
        path.polygon(&[(2.0, 2.0), (3.0, 3.0)]);
        path.push((4.0, 4.0));
        assert_eq!(path.data, "M0 0L1 0.5M2 2L3 3ZM4 4");
    }
}
