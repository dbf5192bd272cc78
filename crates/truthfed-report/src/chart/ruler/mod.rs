//! One axis as a ruler: its range, its ticks, and where a value lies on it.
//!
//! Ticks of a linear axis are multiples of 1, 2 or 5 times a power of ten; those of a logarithmic one are decades, or
//! 1, 2 and 5 within a decade when there are few. Promise: a range always has a length, whatever the data.
//!
//! Not here: how labels are written ([`number`](super::number)).

use super::Scale;
use super::number::{decade_labels, floor_log10, linear_labels, power_of_ten, value_label};

/// Beyond these no figure is meant, and arithmetic on ranges could overflow.
const LARGEST: f64 = 1e290;
const SMALLEST: f64 = 1e-290;
/// Values whose ratio is nearer to 1 than this are taken for equal, so that the rounding of a sum adds no tick.
const SLACK: f64 = 1e-9;
/// Pixels between two ticks of a vertical axis: labels do not touch, and a value can still be read off.
const TICKS_APART: (f64, f64) = (30.0, 60.0);

/// Whether the axis ends at the data or at the next tick beyond it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// At the data.
    Tight,
    /// At the next tick.
    Round,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

#[derive(Debug, Clone)]
pub(super) struct Ruler {
    scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<Tick>,
    /// Ticks without a label.
    pub(super) minor: Vec<f64>,
}

/// True when a value has a place on an axis of that scale.
pub(super) fn has_place(value: f64, scale: Scale) -> bool {
    let finite = value.is_finite() && value.abs() <= LARGEST;
    finite && (scale == Scale::Linear || value >= SMALLEST)
}

/// An error as it is drawn: 0 unless it is a positive number.
pub(super) fn drawn(error: f64) -> f64 {
    if has_place(error, Scale::Linear) { error.max(0.0) } else { 0.0 }
}

/// Lowest and highest of those values that have a place.
pub(super) fn extent(values: impl Iterator<Item = f64>, scale: Scale) -> Option<(f64, f64)> {
    let placed = values.filter(|value| has_place(*value, scale));
    placed.fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

impl Ruler {
    /// A ruler over an extent with about `count` ticks. Without an extent: from 0 to 1, or 1 to 10.
    pub(super) fn new(scale: Scale, extent: Option<(f64, f64)>, count: usize, fit: Fit) -> Ruler {
        match scale {
            Scale::Linear => linear(extent.unwrap_or((0.0, 1.0)), count.max(1), fit),
            Scale::Log => logarithmic(extent.unwrap_or((1.0, 10.0)), count.max(1), fit),
        }
    }

    /// A ruler for a vertical axis of that height, rounded to ticks and with the least room left over.
    pub(super) fn upright(scale: Scale, extent: Option<(f64, f64)>, height: f64) -> Ruler {
        let (fewest, most) = ((height / TICKS_APART.1) as usize, (height / TICKS_APART.0) as usize);
        match scale {
            Scale::Log => Ruler::new(scale, extent, most, Fit::Round),
            Scale::Linear => {
                let rulers = (fewest..=most).map(|count| Ruler::new(scale, extent, count, Fit::Round));
                let length = |ruler: &Ruler| ruler.high - ruler.low;
                // Of equally long ones the first is taken, which has the fewest ticks.
                let best = rulers.min_by(|a, b| length(a).total_cmp(&length(b)));
                best.unwrap_or_else(|| Ruler::new(scale, extent, most, Fit::Round))
            }
        }
    }

    /// Where a value lies, from 0 at the low end to 1 at the high end; values beyond an end lie at it.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => {
                let (low, high) = (libm::log10(self.low), libm::log10(self.high));
                (libm::log10(value.max(SMALLEST)) - low) / (high - low)
            }
        };
        share.clamp(0.0, 1.0)
    }
}

/// A step between ticks: `mantissa * 10^exponent`.
#[derive(Debug, Clone, Copy)]
struct Step {
    mantissa: f64,
    exponent: i32,
}

impl Step {
    fn at_least(length: f64) -> Step {
        let exponent = floor_log10(length);
        let fits = |mantissa: &f64| Step { mantissa: *mantissa, exponent }.times(1.0) >= length * (1.0 - SLACK);
        match [1.0, 2.0, 5.0].into_iter().find(fits) {
            Some(mantissa) => Step { mantissa, exponent },
            None => Step { mantissa: 1.0, exponent: exponent + 1 },
        }
    }

    /// A multiple of the step, correctly rounded: dividing by a power of ten is exact where multiplying is not.
    fn times(self, count: f64) -> f64 {
        if self.exponent < 0 {
            count * self.mantissa / power_of_ten(-self.exponent)
        } else {
            count * self.mantissa * power_of_ten(self.exponent)
        }
    }
}

fn linear(extent: (f64, f64), count: usize, fit: Fit) -> Ruler {
    let (low, high) = widened(extent);
    let step = Step::at_least((high - low) / count as f64);
    let (from, to) = (low / step.times(1.0), high / step.times(1.0));
    let (first, last) = match fit {
        Fit::Round => ((from + SLACK).floor(), (to - SLACK).ceil()),
        Fit::Tight => ((from - SLACK).ceil(), (to + SLACK).floor()),
    };
    let values: Vec<f64> = (0..=(last - first) as usize).map(|index| step.times(first + index as f64)).collect();
    let labels = linear_labels(&values, step.exponent);
    let (low, high) = match fit {
        Fit::Round => (step.times(first), step.times(last)),
        Fit::Tight => (low, high),
    };
    Ruler { scale: Scale::Linear, low, high, ticks: labelled(values, labels), minor: Vec::new() }
}

/// Gives a range a length that arithmetic can resolve.
fn widened((low, high): (f64, f64)) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    if size < SMALLEST {
        (0.0, 1.0)
    } else if high - low <= size * SLACK {
        let margin = (size * 0.1).max(0.5_f64.min(size));
        (low - margin, high + margin)
    } else {
        (low, high)
    }
}

fn logarithmic((low, high): (f64, f64), count: usize, fit: Fit) -> Ruler {
    let (low, high) = if high / low < 1.0 + SLACK { (low / 2.0, high * 2.0) } else { (low, high) };
    let (low, high) = match fit {
        Fit::Tight => (low, high),
        Fit::Round => (round_down(low), round_up(high)),
    };
    let inside = |value: &f64| *value >= low * (1.0 - SLACK) && *value <= high * (1.0 + SLACK);
    let exponents: Vec<i32> = (floor_log10(low)..=floor_log10(high) + 1).collect();
    let decades: Vec<i32> = exponents.iter().copied().filter(|exponent| inside(&power_of_ten(*exponent))).collect();
    let minor: &[u8] = if decades.len() > 8 { &[1] } else { &[2, 3, 4, 5, 6, 7, 8, 9] };
    let ticks = if decades.len() >= 3 { decade_ticks(&decades, count) } else { mixed_ticks(&exponents, low, high) };
    let ticks: Vec<Tick> = ticks.into_iter().filter(|tick| inside(&tick.value)).collect();
    let unlabelled = |value: &f64| inside(value) && ticks.iter().all(|tick| tick.value != *value);
    let minor = within_decades(&exponents, minor).into_iter().filter(unlabelled).collect();
    Ruler { scale: Scale::Log, low, high, minor, ticks }
}

fn decade_ticks(decades: &[i32], count: usize) -> Vec<Tick> {
    let stride = decades.len().div_ceil(count.max(2) + 1).max(1);
    let chosen: Vec<i32> = decades.iter().copied().step_by(stride).collect();
    labelled(chosen.iter().map(|exponent| power_of_ten(*exponent)).collect(), decade_labels(&chosen))
}

/// Ticks of a range of less than three decades: 1, 2 and 5, or evenly spaced ones when even these are too few.
fn mixed_ticks(exponents: &[i32], low: f64, high: f64) -> Vec<Tick> {
    let values = within_decades(exponents, &[1, 2, 5]);
    let label = |value: &f64| {
        let exponent = floor_log10(*value);
        value_label(exponent, (value / power_of_ten(exponent)).round() as u8)
    };
    let labels = values.iter().map(label).collect();
    if values.iter().filter(|value| (low..=high).contains(*value)).count() >= 2 {
        labelled(values, labels)
    } else {
        linear((low, high), 4, Fit::Tight).ticks
    }
}

fn within_decades(exponents: &[i32], mantissas: &[u8]) -> Vec<f64> {
    let value = |exponent: i32, mantissa: u8| Step { mantissa: f64::from(mantissa), exponent }.times(1.0);
    exponents.iter().flat_map(|exponent| mantissas.iter().map(move |mantissa| value(*exponent, *mantissa))).collect()
}

fn round_down(value: f64) -> f64 {
    let exponent = floor_log10(value);
    let steps = within_decades(&[exponent], &[5, 2, 1]);
    steps.into_iter().find(|step| *step <= value * (1.0 + SLACK)).unwrap_or(value)
}

fn round_up(value: f64) -> f64 {
    let exponent = floor_log10(value);
    let steps = within_decades(&[exponent, exponent + 1], &[1, 2, 5]);
    steps.into_iter().find(|step| *step >= value * (1.0 - SLACK)).unwrap_or(value)
}

fn labelled(values: Vec<f64>, labels: Vec<String>) -> Vec<Tick> {
    values.into_iter().zip(labels).map(|(value, label)| Tick { value, label }).collect()
}

#[cfg(test)]
mod tests;
