//! How series and bars are told apart: colour, and dash, marker or hatch besides, so that a grey print still reads.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use super::canvas::{Path, Rect, Spot};
use super::{Chart, Figure, distinct};
use crate::theme::{Role, SERIES_COLOURS};

/// The names of a figure in order of first appearance; the palette and then the order decide the looks.
#[derive(Debug)]
pub(super) struct Looks<'a> {
    names: Vec<&'a str>,
    palette: Vec<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    colour: usize,
    /// Number of the dash, the marker and the hatch.
    shape: usize,
}

const DASHES: [&str; 8] = ["", "7 2.5", "2.5 1.8", "9 2 2.5 2", "13 2.5", "6 2 1.8 2 1.8 2", "4.5 2.5", "1.5 2.5"];

/// The look of what has no name, beside others that have: grey.
const NEUTRAL: Look = Look { colour: 7, shape: 0 };

impl<'a> Looks<'a> {
    pub(super) fn of(figure: &'a Figure) -> Looks<'a> {
        let names = distinct(figure.charts.iter().flat_map(Chart::names));
        Looks { names, palette: figure.palette.iter().map(String::as_str).collect() }
    }

    pub(super) fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// The look of a name. What has no name is grey beside others that have, so as not to seem one of them.
    pub(super) fn look(&self, name: &str) -> Look {
        let nameless = if self.names.is_empty() { Look::new(0) } else { NEUTRAL };
        if !self.names.contains(&name) {
            return nameless;
        }
        if let Some(colour) = self.owner(name) {
            // Of several with one colour, the first has the shape that goes with it.
            let kin = self.names.iter().filter(|known| self.owner(known) == Some(colour));
            let place = kin.take_while(|known| **known != name).count();
            return Look { colour, shape: (colour + place) % DASHES.len() };
        }
        // Names outside the palette have the colours that it leaves, or all if it leaves none.
        let others = self.names.iter().filter(|known| self.owner(known).is_none());
        let place = others.take_while(|known| **known != name).count();
        let used = if self.names.iter().any(|known| self.owner(known).is_some()) { self.palette.len() } else { 0 };
        Look::new(used % SERIES_COLOURS + place)
    }

    /// The number of the palette's name that a name is, or begins with before a comma.
    fn owner(&self, name: &str) -> Option<usize> {
        let is_owner =
            |own: &&str| name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "));
        self.palette.iter().position(is_owner)
    }
}

impl Look {
    /// The look of the name of that number. Beyond the last colour shapes shift, so that pairs stay unique for long.
    fn new(number: usize) -> Look {
        Look { colour: number, shape: (number + number / SERIES_COLOURS) % DASHES.len() }
    }

    pub(super) fn role(self) -> Role {
        Role::Series(self.colour)
    }

    /// Which of the series colours it has.
    pub(super) fn colour(self) -> usize {
        self.colour % SERIES_COLOURS
    }

    /// Where this series starts with its markers, so that those of several series do not cover each other.
    pub(super) fn stagger(self) -> usize {
        self.colour
    }

    pub(super) fn dash(self) -> &'static str {
        DASHES[self.shape]
    }

    /// Adds the marker around a spot.
    pub(super) fn mark(self, path: &mut Path, (x, y): Spot, radius: f64) {
        let r = radius;
        match self.shape {
            0 => path.circle((x, y), r),
            1 => path.rect(Rect { x: x - 0.88 * r, y: y - 0.88 * r, width: 1.76 * r, height: 1.76 * r }),
            2 => path.polygon(&[(x, y - 1.25 * r), (x + 1.15 * r, y + 0.8 * r), (x - 1.15 * r, y + 0.8 * r)]),
            3 => path.polygon(&[(x, y - 1.3 * r), (x + 1.3 * r, y), (x, y + 1.3 * r), (x - 1.3 * r, y)]),
            4 => path.polygon(&[(x, y + 1.25 * r), (x + 1.15 * r, y - 0.8 * r), (x - 1.15 * r, y - 0.8 * r)]),
            5 => plus(path, (x, y), r, false),
            6 => plus(path, (x, y), r, true),
            _ => path.rect(Rect { x: x - 1.3 * r, y: y - 0.55 * r, width: 2.6 * r, height: 1.1 * r }),
        }
    }

    /// The hatch of a bar: lines to be drawn over its fill. Empty for the first look.
    pub(super) fn hatch(self, rect: Rect) -> Path {
        let mut path = Path::default();
        match self.shape {
            0 => {}
            1 => diagonals(&mut path, rect, 6.0, Slant::Rising),
            2 => diagonals(&mut path, rect, 6.0, Slant::Falling),
            3 => levels(&mut path, rect, 5.0),
            4 => {
                diagonals(&mut path, rect, 8.0, Slant::Rising);
                diagonals(&mut path, rect, 8.0, Slant::Falling);
            }
            5 => columns(&mut path, rect, 5.0),
            6 => diagonals(&mut path, rect, 3.5, Slant::Rising),
            _ => {
                levels(&mut path, rect, 6.0);
                columns(&mut path, rect, 6.0);
            }
        }
        path
    }
}

#[derive(Debug, Clone, Copy)]
enum Slant {
    Rising,
    Falling,
}

/// A thick plus sign, upright or as a cross.
fn plus(path: &mut Path, (x, y): Spot, radius: f64, cross: bool) {
    let (long, thin) = (1.35 * radius, 0.42 * radius);
    // One arm, and the other three by quarter turns.
    let mut arm = [(-thin, -long), (thin, -long), (thin, -thin)];
    let mut upright = Vec::new();
    for _ in 0..4 {
        upright.extend(arm);
        arm = arm.map(|(a, b)| (-b, a));
    }
    let turn = |(a, b): Spot| if cross { ((a - b) * FRAC_1_SQRT_2, (a + b) * FRAC_1_SQRT_2) } else { (a, b) };
    let spots: Vec<Spot> = upright.into_iter().map(turn).map(|(a, b)| (x + a, y + b)).collect();
    path.polygon(&spots);
}

/// Slanted lines, cut at the rectangle: `/` or `\\`.
fn diagonals(path: &mut Path, rect: Rect, gap: f64, slant: Slant) {
    let gap = gap * SQRT_2;
    let count = ((rect.width + rect.height) / gap) as usize;
    for index in 0..=count {
        // From the corner at the bottom: the line meets the bottom this far sideways, and the side this far up.
        let reach = (index as f64 + 0.5) * gap;
        let (start, end) = ((reach - rect.height).max(0.0), reach.min(rect.width));
        if start >= end {
            continue;
        }
        let spot = |along: f64| {
            let x = match slant {
                Slant::Falling => rect.x + along,
                Slant::Rising => rect.right() - along,
            };
            (x, rect.bottom() - (reach - along))
        };
        path.segment(spot(start), spot(end));
    }
}

fn levels(path: &mut Path, rect: Rect, gap: f64) {
    for index in 1..=(rect.height / gap) as usize {
        let y = rect.bottom() - (index as f64 - 0.5) * gap;
        path.segment((rect.x, y), (rect.right(), y));
    }
}

fn columns(path: &mut Path, rect: Rect, gap: f64) {
    let count = (rect.width / gap) as usize;
    for index in 0..count {
        let x = rect.x + (index as f64 + 0.5) * rect.width / count as f64;
        path.segment((x, rect.y), (x, rect.bottom()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_32_looks_differ_in_colour_or_in_dash() {
        let mut seen = Vec::new();
        for look in (0..32).map(Look::new) {
            let pair = (look.colour % SERIES_COLOURS, look.dash());
            assert!(!seen.contains(&pair), "look {} repeats", look.colour);
            seen.push(pair);
        }
    }

    #[test]
    fn a_hatch_stays_inside_its_bar() {
        let rect = Rect { x: 10.0, y: 20.0, width: 13.0, height: 57.0 };
        for look in (1..8).map(Look::new) {
            let svg = format!("{:?}", look.hatch(rect));
            let numbers = svg.split(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
            let numbers: Vec<f64> = numbers.filter_map(|number| number.parse().ok()).collect();
            let spots = &numbers[..numbers.len() - 1];
            assert!(spots.len() > 4);
            for spot in spots.chunks_exact(2) {
                assert!((10.0..=23.0).contains(&spot[0]) && (20.0..=77.0).contains(&spot[1]), "{look:?}: {spot:?}");
            }
        }
    }
}
