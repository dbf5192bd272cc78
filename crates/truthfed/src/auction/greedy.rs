//! `greedy`: buy the best value until the target is met (the paper's Algorithm 3).
//!
//! Monotone: a client that lowers its ask is bought at its old turn or earlier, and the walk before that turn is
//! unchanged. So the critical value exists, and has a closed form: run without the client; at each step it could have
//! replaced the pick by asking at most `ask * own gain / pick's gain`; the largest of these is what it is paid. Steps
//! before its own turn offer less than it asked, so the run without it starts from there ([`super::branches`]).

use rayon::prelude::*;

use super::branches::{Found, Ranking, walk_all};
use super::catalog::{Claims, Entry};
use super::meter::{Metered, within_limit};
use super::outcome::{Priced, tally};
use super::path::{Path, turns};
use super::ratio::{Ratio, highest_ask_to_beat};
use super::{Coverage, Evaluations, Information, Mechanism, Outcome, PaymentRule, Refusal, Round, Seat};
use crate::Amount;

/// With fewer winners, walking by itself for each takes less.
const WORTH_RANKING: usize = 12;
/// Winners that one thread prices at a time.
const TOGETHER: usize = 32;

/// Best value first until the target is met, critical payments.
#[derive(Debug, Clone, Copy, Default)]
pub struct Greedy;

pub(super) const ENTRY: Entry = Entry {
    name: "greedy",
    summary: "the paper's Algorithm 3: best value first, critical payments",
    target: "c",
    parameters: &[],
    claims: |_| Claims::TRUTHFUL,
    build: |_| Box::new(Greedy),
};

impl Mechanism for Greedy {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        run(round, self.name(), round.coverage())
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        select(round, round.coverage())
    }

    fn wins(&self, round: &Round, asks: &[(Seat, Amount)]) -> Result<Vec<bool>, Refusal> {
        wins(round, round.coverage(), asks)
    }
}

pub(super) fn run(round: &Round, name: &str, target: Coverage) -> Result<Outcome, Refusal> {
    within_limit(round, |round| {
        let required = round.required(target);
        let path = covering_path(round, required)?;
        let Prices { paid, essential, evaluations } = price_all(round, &path, required)?;
        let evaluations = Evaluations { select: path.evaluations, price: evaluations };
        Ok(Outcome::known(round, name, PaymentRule::Critical, target, paid, &essential, evaluations))
    })
}

/// All winners with their payments.
struct Prices {
    paid: Vec<(Seat, Amount)>,
    /// Those without whom the target is missed, by seat.
    essential: Vec<Seat>,
    evaluations: u64,
}

fn price_all(round: &Round, path: &Path<'_>, required: Information) -> Metered<Prices> {
    let mut winners: Vec<Seat> = path.picks().map(|pick| pick.ratio.seat).collect();
    winners.sort();
    // Nobody else can meet the target: no need to walk to the end to find out.
    let essential = round.essential(&winners, required);
    let mut evaluations = winners.len() as u64;
    let mut paid: Vec<(Seat, Amount)> = essential.iter().map(|&seat| (seat, round.reserve())).collect();
    let is_essential = |turn: &usize| essential.binary_search(&path.pick(*turn).ratio.seat).is_ok();
    let turns: Vec<usize> = (0..path.len()).filter(|turn| !is_essential(turn)).collect();
    let priced: Vec<Priced> = if turns.len() < WORTH_RANKING {
        turns.iter().map(|&turn| price(round, path, turn, required)).collect::<Metered<_>>()?
    } else {
        let ranking = Ranking::new(round, path)?;
        evaluations += ranking.evaluations;
        let together = |turns: &[usize]| price_together(round, path, &ranking, turns, required);
        match turns.len() <= TOGETHER {
            true => together(&turns)?,
            false => turns.par_chunks(TOGETHER).map(together).collect::<Metered<Vec<_>>>()?.concat(),
        }
    };
    let (others, price) = tally(priced);
    paid.extend(others);
    Ok(Prices { paid, essential, evaluations: evaluations + price })
}

/// The clients bought at these turns with their critical values, and the log determinants each took.
fn price_together(
    round: &Round,
    path: &Path<'_>,
    ranking: &Ranking,
    turns: &[usize],
    required: Information,
) -> Metered<Vec<Priced>> {
    let found = walk_all(round, path, ranking, turns, required)?;
    let reserve = i128::from(round.reserve().micros());
    let priced = turns.iter().zip(found).map(|(&turn, Found { price, evaluations })| match price {
        Some(price) => Ok(((path.pick(turn).ratio.seat, Amount::saturating(price.min(reserve))), evaluations)),
        None => self::price(round, path, turn, required).map(|(paid, more)| (paid, evaluations + more)),
    });
    priced.collect()
}

pub(super) fn select(round: &Round, target: Coverage) -> Result<Vec<Seat>, Refusal> {
    let path = covering_path(round, round.required(target))?;
    let mut winners: Vec<Seat> = path.picks().map(|pick| pick.ratio.seat).collect();
    winners.sort();
    Ok(winners)
}

/// [`Mechanism::wins`]. Asking more, a winner is not bought before its turn, and the walk is the same until then; afterwards it is
/// the walk without it, until the winner is better value than the pick.
pub(super) fn wins(round: &Round, target: Coverage, asks: &[(Seat, Amount)]) -> Result<Vec<bool>, Refusal> {
    let required = round.required(target);
    let path = covering_path(round, required)?;
    let turns = turns(&path, round.admitted());
    let of_one_client: Vec<&[(Seat, Amount)]> = asks.chunk_by(|a, b| a.0 == b.0).collect();
    let wins = of_one_client.into_par_iter().map(|asks| {
        let asks_more = asks.iter().all(|&(seat, ask)| ask >= round.ask(seat));
        match turns[asks[0].0.0] {
            Some(turn) if asks_more => Ok(bought_later(round, &path, turn, asks, required)?),
            _ => {
                let select = |&(seat, ask): &(Seat, Amount)| self::select(&round.with_seat_ask(seat, ask), target);
                asks.iter().map(|ask| Ok(select(ask)?.contains(&ask.0))).collect()
            }
        }
    });
    Ok(wins.collect::<Result<Vec<Vec<bool>>, Refusal>>()?.concat())
}

/// Whether the client bought at `turn` is bought with each of these asks, at that turn or after it.
fn bought_later(
    round: &Round,
    path: &Path<'_>,
    turn: usize,
    asks: &[(Seat, Amount)],
    required: Information,
) -> Metered<Vec<bool>> {
    let mut bought = vec![false; asks.len()];
    let mut walk = path.resume(round, turn, Some(asks[0].0));
    while walk.level < required && bought.contains(&false) {
        let gain = walk.gain_of(asks[0].0)?;
        let pick = walk.choose()?;
        for (bought, &(seat, ask)) in bought.iter_mut().zip(asks) {
            let is_best = pick.is_none_or(|pick| Ratio { seat, gain, ask }.beats(&pick.ratio));
            *bought |= gain > Information::ZERO && is_best;
        }
        let Some(pick) = pick else { break };
        walk.take(&pick);
    }
    Ok(bought)
}

fn covering_path(round: &Round, required: Information) -> Metered<Path<'static>> {
    let path = Path::new(round, required)?;
    assert!(path.level >= required, "bug: everyone together misses a target relative to everyone");
    Ok(path)
}

/// The client bought at `turn` with its critical value, by a walk of its own, and the log determinants it took.
fn price(round: &Round, path: &Path<'_>, turn: usize, required: Information) -> Metered<Priced> {
    let own = path.pick(turn).ratio;
    let reserve = i128::from(round.reserve().micros());
    let mut walk = path.resume(round, turn, Some(own.seat));
    let mut best = i128::from(own.ask.micros());
    let (mut gain, mut exact) = (own.gain, true);
    while walk.level < required && best < reserve {
        // Essential but for rounding.
        let Some(pick) = walk.choose()? else {
            best = reserve;
            break;
        };
        let bound = if exact { gain } else { gain + round.noise() };
        if highest_ask_to_beat(&pick.ratio, own.seat, bound) > best {
            if !exact {
                gain = walk.gain_of(own.seat)?;
            }
            best = best.max(highest_ask_to_beat(&pick.ratio, own.seat, gain));
        }
        exact = false;
        walk.take(&pick);
    }
    Ok(((own.seat, Amount::saturating(best.min(reserve))), walk.kernel.evaluations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{check_payments, naive_greedy, odd_rounds, one_dimensional, random_rounds};
    use crate::auction::{Offer, RoundSpec};
    use crate::generate::{Stream, federation, varied_within};
    use crate::statistics::Gram;

    #[test]
    fn winner_is_paid_the_first_losing_ask_scaled_by_its_gain() {
        let round = one_dimensional(0.6, &[("a", "3", 1.0), ("b", "5", 1.0), ("c", "9", 1.0)]);
        check_payments(&Greedy, &round, &[("a", "9"), ("b", "9")]);
    }

    #[test]
    fn lazy_equals_naive_evaluation_exactly() {
        for (seed, round) in random_rounds(1000) {
            let required = round.required(round.coverage());
            let path = Path::new(&round, required).unwrap();
            let lazy: Vec<_> = path.picks().map(|pick| (pick.ratio.seat, pick.ratio.gain)).collect();
            assert_eq!(lazy, naive_greedy(&round, required, i128::MAX), "seed {seed}");
        }
    }

    /// Every winner's walk without it, evaluating everyone at every step, and its own gain too.
    fn plain_payments(round: &Round) -> Vec<(Seat, Amount)> {
        let (required, reserve) = (round.required(round.coverage()), i128::from(round.reserve().micros()));
        let mut kernel = round.kernel();
        let price = |(seat, _): &(Seat, Information)| {
            let mut matrix = round.base_matrix().to_vec();
            let mut level = round.base_level();
            let mut price = -1;
            let without = naive_greedy_without(round, required, *seat);
            for ratio in &without {
                let gain = kernel.level_with(&matrix, round.gram(*seat)).unwrap() - level;
                price = price.max(highest_ask_to_beat(ratio, *seat, gain));
                crate::auction::round::add(&mut matrix, round.gram(ratio.seat));
                level = level + ratio.gain;
            }
            let is_essential = level < required;
            (*seat, Amount::saturating(if is_essential { reserve } else { price.min(reserve) }))
        };
        let mut paid: Vec<_> = naive_greedy(round, required, i128::MAX).iter().map(price).collect();
        paid.sort();
        paid
    }

    fn naive_greedy_without(round: &Round, required: Information, without: Seat) -> Vec<Ratio> {
        let mut kernel = round.kernel();
        let (mut matrix, mut level) = (round.base_matrix().to_vec(), round.base_level());
        let mut rest: Vec<Seat> = round.seats().filter(|seat| *seat != without).collect();
        let mut bought = Vec::new();
        while level < required {
            let ratios = rest.iter().map(|&seat| {
                let gain = kernel.level_with(&matrix, round.gram(seat)).unwrap() - level;
                Ratio { seat, gain, ask: round.ask(seat) }
            });
            let useful = ratios.filter(|ratio| ratio.gain > Information::ZERO);
            let Some(best) = useful.reduce(|best, next| if next.beats(&best) { next } else { best }) else { break };
            crate::auction::round::add(&mut matrix, round.gram(best.seat));
            level = level + best.gain;
            rest.retain(|&seat| seat != best.seat);
            bought.push(best);
        }
        bought
    }

    /// Members whose values are so near to each other that no ranking tells whom a branch buys.
    fn alike(seed: u64) -> Round {
        let mut stream = Stream::new(seed, 0);
        let mut common = Gram::zeros(4).unwrap();
        (0..8).for_each(|_| common.add_outer(&stream.context(4)));
        let offer = |i: usize| {
            let mut gram = common.clone();
            gram.add_outer(&stream.context(4).iter().map(|x| 0.1 * x).collect::<Vec<f64>>());
            Offer { client: format!("c{i:02}").parse().unwrap(), ask: Amount::saturating(1_000_000 + i as i128), gram }
        };
        let offers = (0..50).map(offer).collect();
        Round::new(RoundSpec {
            coverage: Coverage::ratio(0.5).unwrap(),
            ..RoundSpec::new(Gram::zeros(4).unwrap(), offers)
        })
        .unwrap()
    }

    #[test]
    fn payments_equal_those_of_plain_walks_without_each_winner() {
        let large = (0..3).map(|seed| (seed, federation(120, 3 + 2 * seed as usize, seed)));
        let empty = (0..20).map(|seed| {
            let mut spec = varied_within(seed, (13, 60), (1, 6)).spec();
            let gram = Gram::zeros(spec.base.dimension()).unwrap();
            spec.offers.iter_mut().step_by(3).for_each(|offer| offer.gram = gram.clone());
            (seed, Round::new(spec).unwrap())
        });
        let near = (0..3).map(|seed| (seed, alike(seed)));
        for (seed, round) in random_rounds(3000).chain(odd_rounds(60)).chain(large).chain(empty).chain(near) {
            let outcome = Greedy.run(&round).unwrap();
            let paid: Vec<_> = outcome.winners().iter().map(|winner| (winner.seat, winner.payment)).collect();
            assert_eq!(paid, plain_payments(&round), "seed {seed}");
            let required = round.required(round.coverage());
            assert!(outcome.winners().iter().all(|it| it.essential == round.is_essential(it.seat, required)), "{seed}");
        }
    }

    #[test]
    fn branches_that_the_ranking_cannot_follow_are_walked_by_themselves() {
        let lost = |round: &Round| {
            let required = round.required(round.coverage());
            let path = Path::new(round, required).unwrap();
            let ranking = Ranking::new(round, &path).unwrap();
            let turns: Vec<usize> = (0..path.len()).collect();
            let found = walk_all(round, &path, &ranking, &turns, required).unwrap();
            (found.iter().filter(|found| found.price.is_none()).count(), turns.len())
        };
        let (alike, of) = lost(&alike(1));
        assert!(alike > of / 2, "{alike} of {of}");
        let (usual, of) = lost(&federation(300, 5, 1));
        assert!(usual < of / 20, "{usual} of {of}");
    }
}
