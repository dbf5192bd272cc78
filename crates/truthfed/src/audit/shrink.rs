//! Makes a counterexample small: what a reader can check by hand.
//!
//! One thing after another is made simpler: a client or a dimension left out, nothing settled, round numbers in place
//! of long ones. The property is then looked for anew; a step is kept if it is still broken, and by at least a tenth as
//! much relative to the asks.

use super::counterexample::Counterexample;
use super::finding::{Lie, Verdict, Violation};
use super::{Audit, Effort};
use crate::Amount;
use crate::auction::{ClientId, Coverage, Mechanism, Offer, RawMechanism, Round, RoundDocument, RoundSpec};
use crate::statistics::Gram;

/// How hard the property is looked for after each step: between quick and thorough, as rounds are small and steps many.
const EFFORT: Effort =
    Effort { asks: 160, runs: 8, groups: 12, every_combination: true, group_runs: 60, log_dets: 100_000 };
/// Most steps that are tried: the limit on the time, in a count that is the same on every machine.
const MOST_STEPS: usize = 600;
/// How much of the gain must be left, relative to the largest ask: a step must not trade the point of the example for a shorter one.
const SHARE_LEFT: f64 = 0.1;

impl Verdict {
    /// The worst violation, or the one in the smallest round if that becomes smaller, made small. `mechanism` is the one
    /// that was audited. None when nothing was found.
    pub fn counterexample(&self, mechanism: &dyn Mechanism) -> Option<Counterexample> {
        let shrunk = |violation: &Violation| shrink(mechanism, violation.clone());
        let [worst, smallest] = [&self.worst, &self.smallest].map(|violation| violation.as_ref().map(shrunk));
        let found = [worst?, smallest?].into_iter().min_by_key(Violation::size)?;
        Some(counterexample(mechanism, found))
    }
}

fn counterexample(mechanism: &dyn Mechanism, violation: Violation) -> Counterexample {
    let Violation { property, lies, round, .. } = violation;
    Counterexample { mechanism: RawMechanism::of(mechanism), property, lies, round }
}

fn shrink(mechanism: &dyn Mechanism, violation: Violation) -> Violation {
    let least = SHARE_LEFT * relative_gain(&violation);
    let mut shrinking = Shrinking { mechanism, least, left: MOST_STEPS, smallest: violation };
    while STEPS.iter().fold(false, |changed, step| shrinking.repeat(*step) | changed) {}
    shrinking.plain_lies();
    renamed(&shrinking.smallest)
}

/// Ways to make a round simpler; each gives several, the boldest first.
type Step = fn(&RoundSpec) -> Vec<RoundSpec>;
const STEPS: [Step; 7] =
    [fewer_clients, fewer_dimensions, nothing_settled, plain_terms, plain_asks, plain_data, plain_entries];

struct Shrinking<'m> {
    mechanism: &'m dyn Mechanism,
    least: f64,
    left: usize,
    smallest: Violation,
}

impl Shrinking<'_> {
    /// Takes a step as often as it helps; whether it did.
    fn repeat(&mut self, step: Step) -> bool {
        let mut changed = false;
        'again: loop {
            let spec = self.smallest.round.spec();
            for simpler in step(&spec) {
                if weight(&simpler) < weight(&spec) && self.accepts(simpler) {
                    changed = true;
                    continue 'again;
                }
            }
            return changed;
        }
    }

    fn accepts(&mut self, spec: RoundSpec) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        let Ok(round) = Round::new(spec) else { return false };
        self.left = left;
        let audit = Audit::new([self.smallest.property]).with_effort(EFFORT);
        let found = audit.worst(self.mechanism, &round);
        let Some(found) = found.filter(|found| relative_gain(found) >= self.least) else { return false };
        // The fault may be in a round with another ask: it must still be simpler, and as clever.
        let is_simpler = weight(&found.round.spec()) < weight(&self.smallest.round.spec())
            && found.is_withdrawal() <= self.smallest.is_withdrawal();
        if is_simpler {
            self.smallest = found;
        }
        is_simpler
    }

    /// Lies of few digits, as long as they do.
    fn plain_lies(&mut self) {
        for place in 0..self.smallest.lies.len() {
            let digits = (1..=6).map(|digits| rounded(self.smallest.lies[place].ask, digits)).collect::<Vec<_>>();
            let plainer = digits.into_iter().find_map(|ask| self.with_lie(place, ask));
            self.smallest = plainer.unwrap_or_else(|| self.smallest.clone());
        }
    }

    fn with_lie(&self, place: usize, ask: Amount) -> Option<Violation> {
        let mut violation = self.smallest.clone();
        violation.lies[place].ask = ask;
        let replay = counterexample(self.mechanism, violation.clone()).replay(self.mechanism).ok()?;
        violation.gain = replay.gain?;
        let is_as_clever = violation.is_withdrawal() <= self.smallest.is_withdrawal();
        (is_as_clever && relative_gain(&violation) >= self.least).then_some(violation)
    }
}

/// What a reader has to read: clients, dimensions, then the length of the document.
fn weight(spec: &RoundSpec) -> (usize, usize, usize) {
    (spec.offers.len(), spec.base.dimension(), RoundDocument::of(spec).to_string().len())
}

fn relative_gain(violation: &Violation) -> f64 {
    let round = &violation.round;
    let asks = round.seats().map(|seat| round.ask(seat)).chain(round.turned_away().iter().map(|offer| offer.ask));
    let largest = asks.max().unwrap_or_default().max(Amount::STEP);
    violation.gain.micros() as f64 / largest.micros() as f64
}

/// Without half of the clients, a quarter, ..., one.
fn fewer_clients(spec: &RoundSpec) -> Vec<RoundSpec> {
    let count = spec.offers.len();
    let sizes = std::iter::successors(Some(count / 2), |size| Some(size / 2)).take_while(|size| *size > 0);
    let without = |from: usize, size: usize| {
        let mut simpler = spec.clone();
        simpler.offers.drain(from..(from + size).min(count));
        simpler
    };
    sizes.flat_map(|size| (0..count).step_by(size).map(move |from| without(from, size))).collect()
}

fn fewer_dimensions(spec: &RoundSpec) -> Vec<RoundSpec> {
    let dimension = spec.base.dimension();
    if dimension == 1 {
        return Vec::new();
    }
    (0..dimension).filter_map(|dropped| with_data(spec, |gram| minor(gram, dropped))).collect()
}

/// The matrix without a row and its column.
fn minor(gram: &Gram, dropped: usize) -> Option<Gram> {
    let mut rows = gram.rows();
    rows.remove(dropped);
    for row in &mut rows {
        row.remove(dropped);
    }
    Gram::from_rows(&rows).ok()
}

fn nothing_settled(spec: &RoundSpec) -> Vec<RoundSpec> {
    let base = Gram::zeros(spec.base.dimension());
    base.into_iter().map(|base| RoundSpec { base, ..spec.clone() }).collect()
}

fn plain_terms(spec: &RoundSpec) -> Vec<RoundSpec> {
    let lambdas = [1.0, 0.1].map(|lambda| RoundSpec { lambda, ..spec.clone() });
    let coverages = [0.5, 0.1, 0.9, 0.7, 0.3].into_iter().filter_map(|ratio| Coverage::ratio(ratio).ok());
    let reserves = [10, 100, 1000].map(|units| RoundSpec { reserve: Amount::from_units(units), ..spec.clone() });
    let covered = coverages.map(|coverage| RoundSpec { coverage, ..spec.clone() });
    lambdas.into_iter().chain(covered).chain(reserves).collect()
}

/// All asks with few digits, then one after another.
fn plain_asks(spec: &RoundSpec) -> Vec<RoundSpec> {
    let every: Vec<usize> = (0..spec.offers.len()).collect();
    let one_by_one = every.iter().map(|&place| vec![place]);
    let places: Vec<Vec<usize>> = std::iter::once(every.clone()).chain(one_by_one).collect();
    let simpler = |places: &Vec<usize>, digits: u32| {
        let mut simpler = spec.clone();
        places.iter().for_each(|&place| simpler.offers[place].ask = rounded(spec.offers[place].ask, digits));
        simpler
    };
    places.iter().flat_map(|places| (1..=4).map(|digits| simpler(places, digits))).collect()
}

/// All matrices with few decimals, or diagonal.
fn plain_data(spec: &RoundSpec) -> Vec<RoundSpec> {
    let rounded = |places: i32| with_data(spec, |gram| changed(gram, |_, _, entry| decimals(entry, places)));
    let diagonal = with_data(spec, |gram| changed(gram, |row, column, entry| if row == column { entry } else { 0.0 }));
    [rounded(0), rounded(1), diagonal, rounded(2), rounded(3)].into_iter().flatten().collect()
}

/// One matrix with few decimals, or nothing in it.
fn plain_entries(spec: &RoundSpec) -> Vec<RoundSpec> {
    let simpler = |place: usize, places: i32| {
        let mut simpler = spec.clone();
        let gram = &mut simpler.offers[place].gram;
        *gram = changed(gram, |_, _, entry| decimals(entry, places))?;
        Some(simpler)
    };
    (0..spec.offers.len()).flat_map(|place| (0..3).filter_map(move |places| simpler(place, places))).collect()
}

/// The round with another matrix in place of each.
fn with_data(spec: &RoundSpec, change: impl Fn(&Gram) -> Option<Gram>) -> Option<RoundSpec> {
    let offer = |offer: &Offer| Some(Offer { gram: change(&offer.gram)?, ..offer.clone() });
    let offers = spec.offers.iter().map(offer).collect::<Option<_>>()?;
    Some(RoundSpec { base: change(&spec.base)?, offers, ..spec.clone() })
}

fn changed(gram: &Gram, entry: impl Fn(usize, usize, f64) -> f64) -> Option<Gram> {
    let mut rows = gram.rows();
    for (i, row) in rows.iter_mut().enumerate() {
        row.iter_mut().enumerate().for_each(|(j, value)| *value = entry(i, j, *value));
    }
    Gram::from_rows(&rows).ok()
}

fn decimals(value: f64, places: i32) -> f64 {
    let scale = libm::pow(10.0, f64::from(places));
    // Not -0.
    (value * scale).round() / scale + 0.0
}

/// An amount with that many digits that are not zero.
fn rounded(amount: Amount, digits: u32) -> Amount {
    let length = amount.micros().checked_ilog10().unwrap_or(0) + 1;
    let scale = 10_i128.pow(length.saturating_sub(digits));
    Amount::saturating((i128::from(amount.micros()) + scale / 2) / scale * scale)
}

/// Clients called a, b, c in the same order.
fn renamed(violation: &Violation) -> Violation {
    let mut spec = violation.round.spec();
    let letter = |place: usize| -> Option<ClientId> { ('a'..='z').nth(place)?.to_string().parse().ok() };
    let place_of = |client: &ClientId| spec.offers.iter().position(|offer| offer.client == *client);
    let lie = |lie: &Lie| Some(Lie { client: letter(place_of(&lie.client)?)?, ask: lie.ask });
    let Some(lies) = violation.lies.iter().map(lie).collect() else { return violation.clone() };
    for (place, offer) in spec.offers.iter_mut().enumerate() {
        let Some(name) = letter(place) else { return violation.clone() };
        offer.client = name;
    }
    Violation { round: Round::new(spec).expect("only names have changed"), lies, ..violation.clone() }
}
