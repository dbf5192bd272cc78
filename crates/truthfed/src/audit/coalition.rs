//! What a group can do: joint lies.
//!
//! A group is tried with every member playing the same kind of lie (ask nothing, half, a little more, up to its payment,
//! double, ...), with losers who outbid themselves so that a winner is paid more, and with lies drawn at random. What looks
//! promising is improved member by member, first the gain of the one who gains least, then the sum. Of a pair, with thorough
//! effort, every combination is tried; and for each lie of the one, the asks of the other at which the outcome can
//! turn, then those of the first again, and so on.
//!
//! Members are clients within the reserve: nobody else can gain. This search can refute, and prove nothing.

use super::asks::worth_trying;
use super::finding::{Lie, Violation};
use super::{Gain, Property};
use crate::Amount;
use crate::auction::{Mechanism, Outcome, Refusal, Round, Seat};
use crate::generate::Stream;

pub(super) const PROPERTIES: [Property; 2] = [Property::Collusion, Property::CollusionInTotal];
/// Joint lies drawn at random for each group, beside eight of one kind each.
const RANDOM_LIES: usize = 2;
/// The places of twice the cost and of the reserve among the lies of a member.
const DOUBLE: usize = 6;
const RESERVE: usize = 7;

/// Asks of a member that are tried as an answer to the lie of another, and how often a pair answers each other.
const TURNS: usize = 40;
const ANSWERS: usize = 4;

/// A mechanism on a round, and how it ends when all tell the truth.
pub(super) struct Table<'a> {
    pub(super) mechanism: &'a dyn Mechanism,
    pub(super) round: &'a Round,
    pub(super) honest: &'a Outcome,
}

/// How hard to try with one group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) is_exhaustive: bool,
    /// Most joint lies that are paid.
    pub(super) runs: usize,
}

/// The best joint lies of a group found.
#[derive(Debug, Default)]
pub(super) struct Best {
    /// By the gain of the member that gains least.
    each: Option<Joint>,
    /// By the gain in sum.
    total: Option<Joint>,
}

#[derive(Debug, Clone)]
struct Joint {
    asks: Vec<Amount>,
    least: Gain,
    total: Gain,
}

/// Groups to try: all pairs if they are at most `most`, then larger or random ones.
pub(super) fn groups(round: &Round, most: usize, stream: &mut Stream) -> Vec<Vec<Seat>> {
    let seats: Vec<Seat> = round.seats().collect();
    if seats.len() < 2 {
        return Vec::new();
    }
    let mut groups: Vec<Vec<Seat>> = Vec::new();
    if seats.len() * (seats.len() - 1) / 2 <= most {
        groups.extend(seats.iter().flat_map(|&a| seats[a.0 + 1..].iter().map(move |&b| vec![a, b])));
    }
    let is_every_pair = !groups.is_empty();
    while groups.len() < most {
        let is_pair = !is_every_pair && stream.chance(0.6);
        if seats.len() == 2 && is_every_pair {
            break;
        }
        let size = if is_pair { 2 } else { stream.between(2, seats.len().min(6)) };
        let mut rest = seats.clone();
        let mut group: Vec<Seat> = (0..size).map(|_| rest.swap_remove(stream.between(0, rest.len() - 1))).collect();
        group.sort();
        groups.push(group);
    }
    groups
}

impl Best {
    pub(super) fn of(table: &Table<'_>, group: &[Seat], limits: Limits, stream: &mut Stream) -> Result<Best, Refusal> {
        let members: Vec<Member> = group.iter().map(|&seat| Member::new(table, seat)).collect();
        let mut search = Search { table, members, best: Best::default(), left: limits.runs };
        for asks in search.lifting_lies() {
            search.gain(asks)?;
        }
        for asks in search.joint_lies(limits, stream) {
            search.try_if_promising(asks)?;
        }
        search.improve()?;
        if limits.is_exhaustive && group.len() == 2 {
            search.ascend(stream)?;
        }
        Ok(search.best)
    }

    pub(super) fn violation(&self, property: Property, round: &Round, group: &[Seat]) -> Option<Violation> {
        let (joint, gain) = match property {
            Property::Collusion => self.each.as_ref().map(|joint| (joint, joint.least))?,
            _ => self.total.as_ref().map(|joint| (joint, joint.total))?,
        };
        let lie = |(&seat, &ask)| Lie { client: round.client(seat).clone(), ask };
        let lies = group.iter().zip(&joint.asks).map(lie).collect();
        (gain > Gain::ZERO).then(|| Violation { property, round: round.clone(), lies, gain })
    }
}

/// One of a group, with the lies it may tell.
struct Member {
    seat: Seat,
    cost: Amount,
    utility: Gain,
    wins: bool,
    /// One of each kind, in the same order for everyone.
    lies: Vec<Amount>,
}

impl Member {
    fn new(table: &Table<'_>, seat: Seat) -> Member {
        let (round, cost) = (table.round, table.round.ask(seat));
        let payment = table.honest.winner(round.client(seat)).map(|winner| winner.payment);
        let (own, paid) = (i128::from(cost.micros()), i128::from(payment.unwrap_or(cost).micros()));
        let reserve = i128::from(round.reserve().micros());
        let lies = [0, own / 2, own + 1, i128::midpoint(own, paid), paid - 1, paid, 2 * own, reserve];
        let lies = lies.map(|micros| Amount::saturating(micros.min(reserve))).to_vec();
        let utility = payment.map_or(Gain::ZERO, |payment| Gain::between(payment, cost));
        Member { seat, cost, utility, wins: payment.is_some(), lies }
    }
}

struct Search<'a> {
    table: &'a Table<'a>,
    members: Vec<Member>,
    best: Best,
    left: usize,
}

impl Search<'_> {
    /// Everyone the same kind of lie, some at random; of a pair every combination, where that is asked for.
    fn joint_lies(&self, limits: Limits, stream: &mut Stream) -> Vec<Vec<Amount>> {
        let kinds = self.members[0].lies.len();
        let mut joint: Vec<Vec<Amount>> =
            (0..kinds).map(|kind| self.members.iter().map(|member| member.lies[kind]).collect()).collect();
        if let ([first, second], true) = (self.members.as_slice(), limits.is_exhaustive) {
            joint = first.lies.iter().flat_map(|&a| second.lies.iter().map(move |&b| vec![a, b])).collect();
        }
        let random = (0..RANDOM_LIES).map(|_| self.members.iter().map(|member| stream.pick(&member.lies)).collect());
        joint.extend(random);
        joint
    }

    /// Winners tell the truth, losers ask more: what losers ask is what winners are paid.
    fn lifting_lies(&self) -> Vec<Vec<Amount>> {
        if self.members.iter().all(|member| member.wins) {
            return Vec::new();
        }
        let raised = |kind: usize| -> Vec<Amount> {
            self.members.iter().map(|member| if member.wins { member.cost } else { member.lies[kind] }).collect()
        };
        vec![raised(DOUBLE), raised(RESERVE)]
    }

    /// Each member must win to gain; choosing alone says whether they do.
    fn try_if_promising(&mut self, asks: Vec<Amount>) -> Result<(), Refusal> {
        if self.left == 0 {
            return Ok(());
        }
        let winners = self.table.mechanism.select(&self.round(&asks))?;
        if self.members.iter().all(|member| winners.binary_search(&member.seat).is_ok()) {
            self.gain(asks)?;
        }
        Ok(())
    }

    fn round(&self, asks: &[Amount]) -> Round {
        let round = self.table.round.clone();
        let lies = self.members.iter().zip(asks);
        lies.fold(round, |round, (member, &ask)| round.with_ask(self.table.round.client(member.seat), ask))
    }

    /// What joint lies earn, kept where it is the best so far.
    fn gain(&mut self, asks: Vec<Amount>) -> Result<Joint, Refusal> {
        self.left = self.left.saturating_sub(1);
        let outcome = self.table.mechanism.run(&self.round(&asks))?;
        let gain = |member: &Member| {
            let winner = outcome.winner(self.table.round.client(member.seat));
            winner.map_or(Gain::ZERO, |winner| Gain::between(winner.payment, member.cost)) - member.utility
        };
        let gains: Vec<Gain> = self.members.iter().map(gain).collect();
        let least = gains.iter().copied().min().unwrap_or_default();
        let joint = Joint { asks, least, total: gains.into_iter().sum() };
        let keep = |best: &mut Option<Joint>, key: fn(&Joint) -> (Gain, Gain)| {
            if best.as_ref().is_none_or(|best| key(&joint) > key(best)) {
                *best = Some(joint.clone());
            }
        };
        keep(&mut self.best.each, |joint| (joint.least, joint.total));
        keep(&mut self.best.total, |joint| (joint.total, joint.least));
        Ok(joint)
    }

    /// From each lie of one of a pair, the best answer of the other, then that of the first to it, and so on.
    fn ascend(&mut self, stream: &mut Stream) -> Result<(), Refusal> {
        let costs: Vec<Amount> = self.members.iter().map(|member| member.cost).collect();
        let mut starts: Vec<(usize, Amount)> = Vec::new();
        for (liar, member) in self.members.iter().enumerate() {
            starts.extend(member.lies.iter().map(|&lie| (liar, lie)));
        }
        for (liar, lie) in starts {
            let mut asks = costs.clone();
            asks[liar] = lie;
            let mut best: Option<Joint> = None;
            for turn in 1..=ANSWERS {
                let Some(answer) = self.answer(&asks, (liar + turn) % 2, stream)? else { break };
                if best.as_ref().is_some_and(|best| (answer.least, answer.total) <= (best.least, best.total)) {
                    break;
                }
                asks.clone_from(&answer.asks);
                best = Some(answer);
            }
        }
        Ok(())
    }

    /// The best that one member can do while the others ask this, if runs are left.
    fn answer(&mut self, asks: &[Amount], place: usize, stream: &mut Stream) -> Result<Option<Joint>, Refusal> {
        let round = self.round(asks);
        let seat = round.seat_of(self.table.round.client(self.members[place].seat));
        let turns = seat.map(|seat| worth_trying(&round, seat, TURNS, stream)).unwrap_or_default();
        let mut best: Option<Joint> = None;
        for ask in turns.into_iter().take(self.left) {
            let mut asks = asks.to_vec();
            asks[place] = ask;
            let joint = self.gain(asks)?;
            if best.as_ref().is_none_or(|best| (joint.least, joint.total) > (best.least, best.total)) {
                best = Some(joint);
            }
        }
        Ok(best)
    }

    /// Lets one member after another tell another lie, as long as that helps and runs are left. Only where nobody is
    /// worse off and somebody better.
    fn improve(&mut self) -> Result<(), Refusal> {
        let Some(mut best) = self.best.each.clone() else { return Ok(()) };
        if best.least < Gain::ZERO || best.total <= Gain::ZERO {
            return Ok(());
        }
        let mut place = 0;
        let mut unchanged = 0;
        while unchanged < self.members.len() && self.left > 0 {
            let before = (best.least, best.total);
            for kind in 0..self.members[place].lies.len() {
                if self.left == 0 {
                    break;
                }
                let mut asks = best.asks.clone();
                let lie = self.members[place].lies[kind];
                if asks[place] == lie {
                    continue;
                }
                asks[place] = lie;
                let joint = self.gain(asks)?;
                if (joint.least, joint.total) > (best.least, best.total) {
                    best = joint;
                }
            }
            unchanged = if (best.least, best.total) > before { 0 } else { unchanged + 1 };
            place = (place + 1) % self.members.len();
        }
        Ok(())
    }
}
