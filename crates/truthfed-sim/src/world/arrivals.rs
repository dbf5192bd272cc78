//! Which client acts at each step.

use std::iter::repeat_with;

use truthfed::generate::Stream;

/// How the order of clients is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrivals {
    /// One after another in turn (the default).
    #[default]
    InTurn,
    /// A uniformly drawn client at each step.
    Uniform,
    /// Each client acts at the times of its own Poisson process, with a rate drawn from U(0.5, 2).
    Poisson,
    /// The same, each busy by day and all but idle by night, and each in a time zone of its own. A day has about 500 steps.
    DayAndNight,
}

/// The clients in the order in which they act, without end.
pub fn arrivals(law: Arrivals, clients: usize, mut stream: Stream) -> Box<dyn Iterator<Item = usize> + Send> {
    match law {
        Arrivals::InTurn => Box::new((0..clients).cycle()),
        Arrivals::Uniform => Box::new(repeat_with(move || stream.between(0, clients - 1))),
        Arrivals::DayAndNight => {
            let zones: Vec<f64> = (0..clients).map(|_| stream.uniform()).collect();
            let mut steps = 0_u64;
            // At each step one of the clients acts, drawn by how busy they are then.
            Box::new(repeat_with(move || {
                steps += 1;
                let time = steps as f64 / DAY_STEPS;
                let busy = |zone: &f64| 1.0 + 0.9 * libm::sin(std::f64::consts::TAU * (time + zone));
                let mut drawn = stream.uniform() * zones.iter().map(busy).sum::<f64>();
                let acts = zones.iter().position(|zone| {
                    drawn -= busy(zone);
                    drawn < 0.0
                });
                acts.unwrap_or(clients - 1)
            }))
        }
        Arrivals::Poisson => {
            let rates: Vec<f64> = (0..clients).map(|_| 0.5 + 1.5 * stream.uniform()).collect();
            let mut next: Vec<f64> = rates.iter().map(|rate| waiting(&mut stream, *rate)).collect();
            Box::new(repeat_with(move || {
                let first = (0..clients).min_by(|&a, &b| next[a].total_cmp(&next[b])).unwrap_or(0);
                next[first] += waiting(&mut stream, rates[first]);
                first
            }))
        }
    }
}

/// Steps of a day: some ten rounds in the usual settings.
const DAY_STEPS: f64 = 500.0;

/// An exponential waiting time.
fn waiting(stream: &mut Stream, rate: f64) -> f64 {
    -libm::log1p(-stream.uniform()) / rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_acts_under_every_law() {
        for law in [Arrivals::InTurn, Arrivals::Uniform, Arrivals::Poisson, Arrivals::DayAndNight] {
            let mut seen = [0; 5];
            arrivals(law, 5, Stream::new(3, 0)).take(1000).for_each(|client| seen[client] += 1);
            assert!(seen.iter().all(|&count| count > 50), "{law:?}: {seen:?}");
        }
    }
}
