//! A checked round: what every mechanism decides on.
//!
//! [`Round::new`] checks everything once. What holds a [`Round`] may rely on it: the clients are distinct
//! and sorted, asks above the reserve are turned away, and the ridge Gram matrix of every set of clients
//! is positive definite by a margin that rounding cannot eat.

mod spec;

use std::sync::Arc;

use rayon::prelude::*;

use self::spec::{Negativity, Perturbation, check};
pub use self::spec::{Offer, RoundError, RoundSpec};
use super::kernel::Kernel;
use super::meter::Meter;
use super::sum_tree::SumTree;
use super::{ClientId, Coverage, Information};
use crate::Amount;
use crate::statistics::{Gram, Pair, packed_len};

/// A target counts as met if it is missed by less than this, so that the order of summation cannot decide about it:
/// 2^-30 nats, some 10^-9. That is 16,000 units of [`Information`], far above rounding, and nothing in terms of data.
const MET_WITHIN_NATS: f64 = 1.0 / (1_u64 << 30) as f64;
/// One unit of [`Information`], 2^-44 = 5.7e-14 nats, rounded up: a gain is the difference of two levels that were each
/// rounded to half a unit, so a sum over clients is off by at most a unit for each.
const UNIT_NATS: f64 = 6e-14;
/// How far rounding may move a gain, at least: 2^-34 nats, 1,000 units. What the size of the log determinants and the
/// condition of the matrices add comes on top. Bounds of the lazy searches are widened by it: too much only costs time.
const NOISE_NATS: f64 = 1.0 / (1_u64 << 34) as f64;
/// Clients that one thread evaluates at a time.
const CHUNK: usize = 1024;
/// Units of [`Information`] in a nat.
const TWO_TO_THE_44: f64 = (1_u64 << 44) as f64;
/// A sum whose determinant is less than 10^-130 times that of all may be anything.
const LOWEST_NATS: f64 = 300.0;
/// The lowest logarithm of a coverage. The levels of a round differ by at most 512 ln(1 / (16 * 512 * 2^-52)), some 14,000
/// nats, as the ridge outweighs the rounding of the sum: a lower coverage requires nothing, as this one does. Added to
/// a level (above 512 ln(5e-324) = -381,000) it stays within the 524,288 nats that fit into [`Information`].
const LEAST_LOG_COVERAGE: f64 = -1e5;

/// The place of an admitted offer: clients are seated in the order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(pub usize);

/// A checked round. Cloning it, also with another ask, shares the matrices.
#[derive(Debug, Clone)]
pub struct Round {
    field: Arc<Field>,
    asks: Vec<Amount>,
    turned_away: Arc<[Offer]>,
    lambda: f64,
    coverage: Coverage,
    reserve: Amount,
    purse: Option<Amount>,
    work: Option<u64>,
    /// Where kernels of this round count what they evaluate, while a mechanism runs within a limit.
    meter: Option<Arc<Meter>>,
}

/// What does not depend on the asks of the admitted.
#[derive(Debug)]
struct Field {
    dimension: usize,
    base: Gram,
    negativity: Negativity,
    clients: Vec<ClientId>,
    grams: Vec<f64>,
    ridge_base: Vec<f64>,
    tree: SumTree,
    base_level: Information,
    total_level: Information,
    met_within: Information,
    noise: Information,
    /// Of one log determinant, relative to its size.
    rounding: f64,
    /// What rounding can move in the sum of any clients, and in that of all.
    of_base: Perturbation,
    of_all: Option<Perturbation>,
}

impl Round {
    pub fn new(spec: RoundSpec) -> Result<Round, RoundError> {
        let negativity = check(&spec)?;
        Ok(Round::seat(spec, negativity))
    }

    fn seat(spec: RoundSpec, negativity: Negativity) -> Round {
        let RoundSpec { lambda, coverage, reserve, purse, work, base, mut offers } = spec;
        offers.sort_by(|a, b| a.client.cmp(&b.client));
        let highest = highest(reserve, purse);
        let (admitted, turned_away): (Vec<_>, Vec<_>) = offers.into_iter().partition(|offer| offer.ask <= highest);
        let asks = admitted.iter().map(|offer| offer.ask).collect();
        let field = Arc::new(Field::new(base, lambda, admitted, negativity));
        Round { field, asks, turned_away: turned_away.into(), lambda, coverage, reserve, purse, work, meter: None }
    }

    /// The same round in which `client` asks `ask`: what it would have been like.
    ///
    /// # Panics
    /// When the client did not offer.
    #[must_use]
    pub fn with_ask(&self, client: &ClientId, ask: Amount) -> Round {
        let seat = self.seat_of(client);
        match seat {
            Some(seat) if ask <= self.reserve() => self.with_seat_ask(seat, ask),
            _ => {
                let mut spec = self.spec();
                let offer = spec.offers.iter_mut().find(|offer| offer.client == *client);
                offer.expect("only a client that offers can change its ask").ask = ask;
                Round::seat(spec, self.field.negativity)
            }
        }
    }

    /// [`Round::with_ask`] for an ask that stays admitted.
    ///
    /// # Panics
    /// When the ask is above the reserve.
    #[must_use]
    pub fn with_seat_ask(&self, seat: Seat, ask: Amount) -> Round {
        assert!(ask <= self.reserve(), "an admitted ask is within the reserve");
        let mut round = self.clone();
        round.asks[seat.0] = ask;
        round
    }

    /// The parts this round was made of, offers sorted by client.
    pub fn spec(&self) -> RoundSpec {
        let mut offers: Vec<Offer> = self.seats().map(|seat| self.offer(seat)).collect();
        offers.extend(self.turned_away.iter().cloned());
        offers.sort_by(|a, b| a.client.cmp(&b.client));
        let Round { lambda, coverage, reserve, purse, work, .. } = *self;
        RoundSpec { lambda, coverage, reserve, purse, work, base: self.field.base.clone(), offers }
    }

    #[must_use]
    pub fn with_coverage(&self, coverage: Coverage) -> Round {
        Round { coverage, ..self.clone() }
    }

    /// The same round, whatever work it takes.
    pub(super) fn without_limit(&self) -> Round {
        Round { work: None, ..self.clone() }
    }

    /// The same round, whose kernels count for `meter`.
    pub(super) fn metered(&self, meter: Arc<Meter>) -> Round {
        Round { meter: Some(meter), ..self.clone() }
    }

    /// The seats of the admitted, in the order of client ids.
    pub fn seats(&self) -> impl ExactSizeIterator<Item = Seat> + use<> {
        (0..self.asks.len()).map(Seat)
    }

    pub fn admitted(&self) -> usize {
        self.asks.len()
    }

    /// Offers above the reserve or the purse, sorted by client; they take no part.
    pub fn turned_away(&self) -> &[Offer] {
        &self.turned_away
    }

    pub fn client(&self, seat: Seat) -> &ClientId {
        &self.field.clients[seat.0]
    }

    /// Where an admitted client sits.
    pub fn seat_of(&self, client: &ClientId) -> Option<Seat> {
        self.field.clients.binary_search(client).ok().map(Seat)
    }

    pub fn ask(&self, seat: Seat) -> Amount {
        self.asks[seat.0]
    }

    /// The packed lower triangle of the data offered there.
    pub fn gram(&self, seat: Seat) -> &[f64] {
        let size = packed_len(self.field.dimension);
        &self.field.grams[seat.0 * size..][..size]
    }

    pub(super) fn grams(&self) -> &[f64] {
        &self.field.grams
    }

    pub fn dimension(&self) -> usize {
        self.field.dimension
    }

    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// Gram matrix of what is settled already, without the ridge.
    pub fn base(&self) -> &Gram {
        &self.field.base
    }

    /// The required determinant ratio.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// The highest ask that is admitted, and payment there is: the reserve, or the purse where that is less.
    pub fn reserve(&self) -> Amount {
        highest(self.reserve, self.purse)
    }

    /// What all payments together may come to.
    pub fn purse(&self) -> Option<Amount> {
        self.purse
    }

    /// The same round with another purse, or none.
    #[must_use]
    pub fn with_purse(&self, purse: Option<Amount>) -> Round {
        let negativity = self.field.negativity;
        Round::seat(RoundSpec { purse, ..self.spec() }, negativity)
    }

    /// Most multiplications that running a mechanism may take. Those of the catalog keep to it; one of your own has to see to
    /// that itself.
    pub fn work(&self) -> Option<u64> {
        self.work
    }

    /// log det V(S) of a set of clients, given by ascending seats.
    pub fn level(&self, seats: &[Seat]) -> Information {
        self.kernel().sure_level(&self.sum(seats))
    }

    /// V(S) of a set of clients, given by ascending seats.
    pub(super) fn sum(&self, seats: &[Seat]) -> Vec<f64> {
        let mut matrix = self.field.ridge_base.clone();
        for &seat in seats {
            add(&mut matrix, self.gram(seat));
        }
        matrix
    }

    /// log det V with everyone admitted.
    pub fn total_level(&self) -> Information {
        self.field.total_level
    }

    /// The level that meets a coverage target: at least this is enough.
    ///
    /// It lies below log det V(all) + log coverage by 10^-9 nats and a little more for each client, so
    /// that rounding never decides whether everyone together suffices.
    pub fn required(&self, coverage: Coverage) -> Information {
        self.field.total_level + Information::from_nats(coverage.log().max(LEAST_LOG_COVERAGE)) - self.field.met_within
    }

    /// Whether `required` cannot be met without this client.
    pub fn is_essential(&self, seat: Seat, required: Information) -> bool {
        self.kernel().sure_level_without(&self.field.tree.root, self.gram(seat)) < required
    }

    /// Those of the clients without whom `required` cannot be met: as many log determinants as clients.
    pub(super) fn essential(&self, seats: &[Seat], required: Information) -> Vec<Seat> {
        let losses = self.losses(seats);
        let is_essential = |(_, loss): &(&Seat, Information)| self.field.total_level - *loss < required;
        seats.iter().zip(losses).filter(is_essential).map(|(seat, _)| *seat).collect()
    }

    /// What is lost without each of these clients, while all others take part.
    pub fn losses(&self, seats: &[Seat]) -> Vec<Information> {
        let root = self.field.tree.root.as_slice();
        let chunk = |seats: &[Seat]| {
            let pairs: Vec<Pair<'_>> = seats.iter().map(|&seat| (root, self.gram(seat))).collect();
            let mut levels = Vec::with_capacity(seats.len());
            self.kernel().sure_levels_without(&pairs, &mut levels);
            levels.iter_mut().for_each(|without| *without = self.field.total_level - *without);
            levels
        };
        match seats.len() <= CHUNK {
            true => chunk(seats),
            false => seats.par_chunks(CHUNK).flat_map_iter(chunk).collect(),
        }
    }

    pub(super) fn kernel(&self) -> Kernel {
        Kernel::new(self.field.dimension, self.meter.clone())
    }

    /// V with nobody's data.
    pub(super) fn base_matrix(&self) -> &[f64] {
        &self.field.ridge_base
    }

    pub(super) fn base_level(&self) -> Information {
        self.field.base_level
    }

    /// The sum over everyone admitted, from which clients can be taken away.
    pub(super) fn tree(&self) -> &SumTree {
        &self.field.tree
    }

    /// How far a gain may be above what it was with fewer clients, or a loss below what it was with more.
    pub(super) fn noise(&self) -> Information {
        self.field.noise
    }

    /// The same more closely, for sums that have at least `level`.
    pub(super) fn blur(&self, level: Information) -> Blur {
        let Field { of_base, of_all, negativity, total_level, rounding, dimension, noise, .. } = &*self.field;
        // A sum is at most that of all in every direction, so at least as many times it as its determinant is.
        let below = total_level.to_nats() - level.to_nats();
        let above = libm::exp(below.clamp(0.0, LOWEST_NATS));
        let least = |of_base: f64, of_all: Option<f64>| of_all.map_or(of_base, |of_all| of_base.min(of_all * above));
        let condition = least(of_base.condition, of_all.as_ref().map(|all| 2.0 * all.condition));
        let inverse_trace = least(2.0 * of_base.inverse_trace, of_all.as_ref().map(|all| 2.0 * all.inverse_trace));
        Blur {
            absolute: UNIT_NATS + 8.0 * *dimension as f64 * rounding + (*dimension as f64 + 2.0) / 4.0 * condition,
            own: 2.0 * negativity.worst * inverse_trace,
            relative: negativity.all * inverse_trace + 8.0 * condition,
            most: *noise + *noise,
        }
    }

    fn offer(&self, seat: Seat) -> Offer {
        let gram = Gram::from_lower(self.dimension(), self.gram(seat).to_vec()).expect("it was a gram before");
        Offer { client: self.client(seat).clone(), ask: self.ask(seat), gram }
    }
}

/// How far a loss may be below what it was with more clients, by rounding and by offers that are not quite positive
/// semi-definite.
///
/// A factorization moves entry (i, j) of a matrix M by at most d epsilon sqrt(M_ii M_jj), which moves its log determinant by
/// some d^2 epsilon times the sum of M_ii (M^-1)_ii. Without a client the inverse is larger by at most exp(loss).
/// The matrix with fewer clients itself can be larger than that with more, by the rounding of the sums and by the
/// negative eigenvalues of those that left: relative to the matrix that is next to nothing, and it moves a loss by as little relative to
/// exp(loss) - 1, which is about the loss.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Blur {
    absolute: f64,
    /// For negative eigenvalues of the client itself.
    own: f64,
    relative: f64,
    most: Information,
}

impl Blur {
    fn of(&self, loss: Information) -> Information {
        let above = libm::exp(loss.to_nats().clamp(0.0, 50.0));
        let nats = (self.absolute + self.own) * (1.0 + above) + self.relative * (above - 1.0);
        // Two units for the rounding of four levels.
        let units = nats * TWO_TO_THE_44 + 2.0;
        if units < self.most.units() as f64 { Information::from_units(units as i64 + 1) } else { self.most }
    }

    /// What a client surely loses with fewer clients.
    pub(super) fn least(&self, loss: Information) -> Information {
        loss - self.of(loss)
    }

    /// What a client loses with more clients at most.
    pub(super) fn most(&self, loss: Information) -> Information {
        loss + self.of(loss)
    }
}

impl Field {
    fn new(base: Gram, lambda: f64, admitted: Vec<Offer>, negativity: Negativity) -> Field {
        let dimension = base.dimension();
        let mut clients = Vec::with_capacity(admitted.len());
        let mut grams = Vec::with_capacity(admitted.len() * packed_len(dimension));
        for offer in admitted {
            clients.push(offer.client);
            grams.extend_from_slice(offer.gram.lower());
        }
        let ridge_base = base.ridge(lambda).lower().to_vec();
        let tree = SumTree::new(&ridge_base, &grams);
        let mut kernel = Kernel::new(dimension, None);
        let base_level = kernel.sure_level(&ridge_base);
        let total_level = kernel.sure_level(&tree.root);
        let rounding = f64::EPSILON * (1.0 + base_level.to_nats().abs().max(total_level.to_nats().abs()));
        // Two roundings for each of the two levels of a gain.
        let each = UNIT_NATS + 4.0 * rounding;
        let of_base = Perturbation::of(&base.ridge(lambda), &tree.root);
        let Perturbation { condition, inverse_trace } = of_base;
        let of_all = Gram::from_sums(tree.root.clone()).ok().map(|all| Perturbation::of(&all, &tree.root));
        let met_within = Information::from_nats(MET_WITHIN_NATS + each * clients.len() as f64 + condition);
        // Gains only fall as clients join, but for offers that are not quite positive semi-definite: N of them with
        // eigenvalues down to -n in all raise a gain by at most n tr(M^-1), M being any sum. As n is at most half of what the
        // ridge leaves, M is at least half of the base with its ridge.
        let skew = 2.0 * negativity.all * inverse_trace;
        // A factorisation adds up to d products into each entry, for both levels; 16 leaves room.
        let noise = Information::from_nats(NOISE_NATS + 16.0 * dimension as f64 * rounding + condition + skew);
        Field {
            dimension,
            base,
            negativity,
            clients,
            grams,
            ridge_base,
            tree,
            base_level,
            total_level,
            met_within,
            noise,
            rounding,
            of_base,
            of_all,
        }
    }
}

fn highest(reserve: Amount, purse: Option<Amount>) -> Amount {
    purse.map_or(reserve, |purse| purse.min(reserve))
}

pub(super) fn add(matrix: &mut [f64], gram: &[f64]) {
    for (entry, x) in matrix.iter_mut().zip(gram) {
        *entry += x;
    }
}

#[cfg(test)]
mod tests {
    use super::spec::tests::{offer, spec};
    use super::*;

    /// Clients with their asks, in one dimension.
    fn round(asks: &[(&str, &str)]) -> Round {
        Round::new(spec(asks.iter().map(|(client, ask)| offer(client, ask, 1.0)).collect())).unwrap()
    }

    #[test]
    fn offers_are_seated_by_client_and_high_asks_turned_away() {
        let round = round(&[("b", "2"), ("c", "10.000001"), ("a", "10")]);
        let seated: Vec<_> = round.seats().map(|seat| round.client(seat).as_str()).collect();
        assert_eq!(seated, ["a", "b"]);
        assert_eq!(round.turned_away()[0].client.as_str(), "c");
    }

    #[test]
    fn another_ask_shares_the_matrices_and_can_enter_and_leave_the_round() {
        let round = round(&[("a", "1"), ("b", "2")]);
        let client = "b".parse().unwrap();
        assert!(Arc::ptr_eq(&round.field, &round.with_ask(&client, Amount::from_units(10)).field));
        let without = round.with_ask(&client, Amount::from_units(11));
        assert_eq!((without.admitted(), without.turned_away().len()), (1, 1));
        let again = without.with_ask(&client, Amount::from_units(2));
        assert_eq!((again.spec(), again.total_level()), (round.spec(), round.total_level()));
    }

    #[test]
    fn a_round_tells_what_it_was_made_of() {
        let (round, spec) = (round(&[("a", "1")]), spec(vec![offer("a", "1", 1.0)]));
        let told = (round.lambda(), round.coverage(), round.reserve(), round.dimension());
        assert_eq!(told, (spec.lambda, spec.coverage, spec.reserve, 1));
        assert_eq!(round.spec(), spec);
    }

    /// It overflowed: log det V is -138,000 nats here, and 400,000 more were taken off.
    #[test]
    fn a_coverage_below_every_level_requires_nothing_however_small_the_ridge() {
        let (base, gram) = (Gram::zeros(200).unwrap(), Gram::zeros(200).unwrap());
        let offers = vec![Offer { client: "a".parse().unwrap(), ask: Amount::STEP, gram }];
        let coverage = Coverage::from_log(-1e9).unwrap();
        let round = Round::new(RoundSpec { lambda: 1e-300, coverage, base, offers, ..spec(Vec::new()) }).unwrap();
        assert!(round.required(coverage) < round.base_level());
        assert!(crate::auction::Mechanism::select(&crate::auction::Clock, &round).unwrap().is_empty());
    }

    #[test]
    fn everyone_turned_away_leaves_an_empty_round() {
        let round = round(&[("a", "11")]);
        assert_eq!(round.admitted(), 0);
        assert!(round.level(&[]) >= round.required(round.coverage()));
    }
}
