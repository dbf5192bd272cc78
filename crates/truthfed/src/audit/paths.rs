//! Whom a client meets on the paths of mechanisms, if it is neither bought nor turned away itself.
//!
//! Best value first, the purchases without the client; worst value first, the rejections without it. At each step it
//! would have taken the place of the other by asking a little less, or more, than a certain ask. Everyone is evaluated
//! at every step, on purpose: an auditor shares no shortcut with what it audits.

use std::cmp::Ordering;

use crate::auction::{Information, Round, Seat};

/// Another client at one step of a path, and what the own client would have been worth there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rival {
    seat: Seat,
    ask: i128,
    gain: Information,
    own_gain: Information,
    /// Sum of asks of the purchases before.
    pub(super) spent: i128,
}

impl Rival {
    /// The ask with which the own client is as good value as this one; none where no ask is.
    pub(super) fn turning_ask(&self) -> Option<i128> {
        let own = i128::from(self.own_gain.units());
        (self.gain > Information::ZERO).then(|| (self.ask * own).div_euclid(i128::from(self.gain.units())))
    }

    pub(super) fn spent_after(&self) -> i128 {
        self.spent + self.ask
    }

    /// By value for money, the better first; ties to the smaller seat.
    fn by_value(&self, other: &Rival) -> Ordering {
        let cross = |gain: Information, ask: i128| i128::from(gain.units().max(0)) * ask;
        let is_worthless = |rival: &Rival| rival.gain <= Information::ZERO;
        is_worthless(self)
            .cmp(&is_worthless(other))
            .then(cross(other.gain, self.ask).cmp(&cross(self.gain, other.ask)))
            .then(self.seat.cmp(&other.seat))
    }
}

/// The purchases without the client at `own`, best value first, until nobody adds anything.
pub(super) fn greedy_rivals(round: &Round, own: Seat) -> Vec<Rival> {
    let mut bought: Vec<Seat> = Vec::new();
    let mut rivals: Vec<Rival> = Vec::new();
    loop {
        let level = round.level(&bought);
        let gain = |seat: Seat| round.level(&with(&bought, seat)) - level;
        let rest = round.seats().filter(|seat| *seat != own && bought.binary_search(seat).is_err());
        let spent = rivals.last().map_or(0, Rival::spent_after);
        let rival = |seat: Seat| {
            let ask = i128::from(round.ask(seat).micros());
            Rival { seat, ask, gain: gain(seat), own_gain: Information::ZERO, spent }
        };
        let useful = rest.map(rival).filter(|rival| rival.gain > Information::ZERO);
        let Some(best) = useful.min_by(Rival::by_value) else { return rivals };
        rivals.push(Rival { own_gain: gain(own), ..best });
        bought = with(&bought, best.seat);
    }
}

/// Those turned away, worst value first, while what is required can do without the client at `own`.
pub(super) fn clock_rivals(round: &Round, own: Seat, required: Information) -> Vec<Rival> {
    let mut active: Vec<Seat> = round.seats().collect();
    let mut rivals: Vec<Rival> = Vec::new();
    loop {
        let level = round.level(&active);
        let own_left = round.level(&without(&active, own));
        if own_left < required {
            return rivals;
        }
        let rival = |&seat: &Seat| {
            let left = round.level(&without(&active, seat));
            let ask = i128::from(round.ask(seat).micros());
            (left >= required).then(|| Rival { seat, ask, gain: level - left, own_gain: level - own_left, spent: 0 })
        };
        let worst = active.iter().filter(|seat| **seat != own).filter_map(rival).max_by(Rival::by_value);
        let Some(worst) = worst else { return rivals };
        rivals.push(worst);
        active = without(&active, worst.seat);
    }
}

/// A sorted set with one more member.
fn with(set: &[Seat], seat: Seat) -> Vec<Seat> {
    let mut larger = set.to_vec();
    larger.insert(larger.partition_point(|other| *other < seat), seat);
    larger
}

fn without(set: &[Seat], seat: Seat) -> Vec<Seat> {
    set.iter().copied().filter(|other| *other != seat).collect()
}
