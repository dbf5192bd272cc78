//! How much information a purse buys, beside what it could buy.

use crate::Amount;
use crate::auction::{Information, Outcome, Round, Seat};

/// Most clients for whom every set is tried.
const MOST: usize = 14;

/// Information on top of what is settled, in nats.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bought {
    /// Of the set with the most information whose asks add up to no more than the purse.
    pub(super) best: f64,
    /// Of the greedy rule of the literature on budgets that is truthful: best value first, while an ask is at most half the
    /// purse times its gain over all gains so far (Singer 2010).
    pub(super) proportional: f64,
}

impl Bought {
    /// None without a purse, where there are too many clients, or where there is nothing to buy.
    pub(super) fn of(round: &Round) -> Option<Bought> {
        let purse = round.purse()?;
        if round.admitted() > MOST {
            return None;
        }
        let sets = (0_u32..1 << round.admitted()).map(|set| members(round, set));
        let affordable = sets.filter(|set| asks(round, set) <= i128::from(purse.micros()));
        let best = affordable.map(|set| nats(round, &set)).fold(0.0, f64::max);
        let proportional = nats(round, &proportional_share(round, purse));
        (best > 1e-9).then_some(Bought { best, proportional })
    }
}

/// What the winners add to what is settled.
pub(super) fn information(round: &Round, outcome: &Outcome) -> f64 {
    nats(round, &super::outcome::winners(round, outcome))
}

fn members(round: &Round, set: u32) -> Vec<Seat> {
    round.seats().filter(|seat| set >> seat.0 & 1 == 1).collect()
}

fn asks(round: &Round, set: &[Seat]) -> i128 {
    set.iter().map(|seat| i128::from(round.ask(*seat).micros())).sum()
}

fn nats(round: &Round, set: &[Seat]) -> f64 {
    (round.level(set) - round.level(&[])).to_nats()
}

fn proportional_share(round: &Round, purse: Amount) -> Vec<Seat> {
    let mut bought: Vec<Seat> = Vec::new();
    loop {
        let with = |seat: Seat| {
            let mut larger = bought.clone();
            larger.insert(larger.partition_point(|other| *other < seat), seat);
            larger
        };
        let gain = |seat: &Seat| round.level(&with(*seat)) - round.level(&bought);
        let rest = round.seats().filter(|seat| !bought.contains(seat)).map(|seat| (seat, gain(&seat)));
        let value = |(seat, gain): &(Seat, Information)| gain.to_nats() / round.ask(*seat).to_f64();
        let useful = rest.filter(|(_, gain)| *gain > Information::ZERO);
        let Some((seat, gain)) = useful.max_by(|one, other| value(one).total_cmp(&value(other))) else { return bought };
        let larger = with(seat);
        if round.ask(seat).to_f64() > purse.to_f64() / 2.0 * gain.to_nats() / nats(round, &larger) {
            return bought;
        }
        bought = larger;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::{Clock, Mechanism};
    use crate::generate::varied;

    #[test]
    fn nobody_buys_more_than_the_best_set_and_the_purse_pays_for_all_of_them() {
        let mut seen = 0;
        for seed in 0..300 {
            let round = varied(seed).with_purse(Some(Amount::from_units(15)));
            let Some(Bought { best, proportional }) = Bought::of(&round) else { continue };
            let outcome = Clock.run(&round).unwrap();
            assert!(information(&round, &outcome) <= best + 1e-9, "seed {seed}");
            assert!(proportional <= best + 1e-9, "seed {seed}");
            seen += 1;
        }
        assert!(seen > 200, "{seen}");
    }
}
