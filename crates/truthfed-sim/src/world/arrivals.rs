//! Which client acts at each step.

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
}

/// The clients in the order in which they act.
#[derive(Debug)]
pub struct Arrival {
    arrivals: Arrivals,
    clients: usize,
    step: usize,
    stream: Stream,
    rates: Vec<f64>,
    next: Vec<f64>,
}

impl Arrival {
    pub fn new(arrivals: Arrivals, clients: usize, mut stream: Stream) -> Arrival {
        let (mut rates, mut next) = (Vec::new(), Vec::new());
        if arrivals == Arrivals::Poisson {
            rates = (0..clients).map(|_| 0.5 + 1.5 * stream.uniform()).collect();
            next = rates.iter().map(|rate| waiting(&mut stream, *rate)).collect();
        }
        Arrival { arrivals, clients, step: 0, stream, rates, next }
    }

    fn poisson(&mut self) -> usize {
        let first = (0..self.clients).min_by(|&a, &b| self.next[a].total_cmp(&self.next[b])).unwrap_or(0);
        self.next[first] += waiting(&mut self.stream, self.rates[first]);
        first
    }
}

impl Iterator for Arrival {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let client = match self.arrivals {
            Arrivals::InTurn => self.step % self.clients,
            Arrivals::Uniform => self.stream.between(0, self.clients - 1),
            Arrivals::Poisson => self.poisson(),
        };
        self.step += 1;
        Some(client)
    }
}

/// An exponential waiting time.
fn waiting(stream: &mut Stream, rate: f64) -> f64 {
    -libm::log1p(-stream.uniform()) / rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyone_acts_under_every_law() {
        for law in [Arrivals::InTurn, Arrivals::Uniform, Arrivals::Poisson] {
            let mut seen = [0; 5];
            Arrival::new(law, 5, Stream::new(3, 0)).take(1000).for_each(|client| seen[client] += 1);
            assert!(seen.iter().all(|&count| count > 50), "{law:?}: {seen:?}");
        }
    }
}
