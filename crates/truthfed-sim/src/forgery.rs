//! What a liar offers and delivers in the place of what it observed.
//!
//! A liar knows the terms and what is settled, as every member does. It asks nothing, so that it wins whenever its data
//! counts; whatever it is paid, it is paid for nothing.

use truthfed::auction::Offer;
use truthfed::bandit::Config;
use truthfed::generate::Stream;
use truthfed::protocol::{Request, RoundId};
use truthfed::statistics::{Factor, Gram, Statistics};

/// How a member lies about its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgery {
    /// Delivers its moments with the wrong sign.
    Negate,
    /// Without any observation: offers what makes the determinant of all that is settled 2.6 times as large, and delivers the
    /// opposite of what the others believe.
    Invert,
    /// Offers the same, and delivers what the others believe already, with noise.
    Echo,
    /// Offers and delivers its own sums times this.
    Amplify(u32),
    /// Offers its own, and delivers rewards of a world it made up.
    Random,
    /// Is honest in its first so many rounds, and delivers moments with the wrong sign from then on.
    Turn(u32),
}

/// A member that lies.
pub(crate) struct Forger {
    forgery: Forgery,
    dice: Stream,
    /// Rounds it offered in, and the last of them.
    rounds: u32,
    last: Option<RoundId>,
    /// The moment that goes with what it offered last, if it made that up.
    moment: Vec<f64>,
    /// How many times its own it offered last.
    factor: f64,
    /// The parameter of a world it made up.
    made_up: Vec<f64>,
}

/// What everyone knows.
pub(crate) struct Public<'a> {
    pub(crate) config: Config,
    pub(crate) settled: &'a Statistics,
    /// Most samples in one offer.
    pub(crate) samples: u64,
}

impl Forger {
    pub(crate) fn new(forgery: Forgery, mut dice: Stream, dimension: usize) -> Forger {
        let made_up = dice.context(dimension);
        Forger { forgery, dice, rounds: 0, last: None, moment: Vec::new(), factor: 1.0, made_up }
    }

    /// What it sends in the place of this.
    pub(crate) fn forge(&mut self, request: Request, public: &Public<'_>) -> Request {
        match request {
            Request::Offer { round, samples, offer } => self.offer(round, samples, offer, public),
            Request::Deliver(round, moment) => Request::Deliver(round, self.deliver(moment)),
            request => request,
        }
    }

    fn offer(&mut self, round: RoundId, samples: u64, offer: Offer, public: &Public<'_>) -> Request {
        let is_new = self.last.replace(round) != Some(round);
        self.rounds += u32::from(is_new);
        let times = |gram: &Gram, factor: f64| {
            let lower = gram.lower().iter().map(|entry| factor * entry).collect();
            Gram::from_lower(gram.dimension(), lower).expect("a multiple of sums that were read")
        };
        match self.forgery {
            Forgery::Negate | Forgery::Turn(_) => Request::Offer { round, samples, offer },
            Forgery::Random => {
                self.moment = product(&offer.gram, &self.made_up);
                Request::Offer { round, samples, offer }
            }
            Forgery::Amplify(factor) => {
                let factor = u64::from(factor).min(public.samples / samples.max(1)).max(1);
                self.factor = factor as f64;
                let gram = times(&offer.gram, self.factor);
                Request::Offer { round, samples: samples * factor, offer: Offer { gram, ..offer } }
            }
            Forgery::Invert | Forgery::Echo => {
                let d = offer.gram.dimension();
                let all = public.settled.gram().ridge(public.config.lambda());
                let wanted = libm::pow(2.6, 1.0 / d as f64) - 1.0;
                // Contexts are not longer than 1, and there are at most so many of them.
                let factor = wanted.min(0.999 * public.samples as f64 / all.trace());
                let gram = times(&all, factor);
                let samples = (gram.trace().ceil() as u64).max(d as u64);
                if is_new {
                    self.moment = self.invent(&gram, public);
                }
                Request::Offer { round, samples, offer: Offer { gram, ..offer } }
            }
        }
    }

    /// The moment of data that nobody observed.
    fn invent(&mut self, gram: &Gram, public: &Public<'_>) -> Vec<f64> {
        let known =
            Factor::new(&public.settled.gram().ridge(public.config.lambda())).expect("a ridge makes it positive");
        let believed = product(gram, &known.solve(public.settled.moment()));
        if self.forgery == Forgery::Invert {
            return believed.iter().map(|entry| -0.999 * entry).collect();
        }
        // Noise as the rewards of these contexts would have it: of covariance sigma^2 G, where G = c (V + lambda I).
        let share = gram.trace() / public.settled.gram().ridge(public.config.lambda()).trace();
        let noise = known.times_lower(&self.dice.normals(believed.len()));
        let scale = public.config.sigma() * share.sqrt();
        believed.iter().zip(noise).map(|(entry, noise)| entry + scale * noise).collect()
    }

    fn deliver(&self, moment: Vec<f64>) -> Vec<f64> {
        let times = |factor: f64| moment.iter().map(|entry| factor * entry).collect();
        match self.forgery {
            Forgery::Negate => times(-1.0),
            Forgery::Turn(rounds) if self.rounds > rounds => times(-1.0),
            Forgery::Turn(_) => moment,
            Forgery::Amplify(_) => times(self.factor),
            Forgery::Invert | Forgery::Echo | Forgery::Random => self.moment.clone(),
        }
    }
}

fn product(gram: &Gram, x: &[f64]) -> Vec<f64> {
    gram.rows().iter().map(|row| row.iter().zip(x).map(|(entry, x)| entry * x).sum()).collect()
}
