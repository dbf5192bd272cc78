//! The protocol's two machines over a bad network: messages lost, late, repeated and out of order, members that come, go
//! and lie, and restarts of both sides.
//!
//! Every observation has a coordinate of its own: a 2 in a sum proves that something was counted twice, a missing 1 that
//! it was lost.

use std::collections::{BTreeMap, BTreeSet};

use truthfed::Amount;
use truthfed::auction::{ClientId, Clock, Everyone, Mechanism, Offer};
use truthfed::bandit::RawConfig;
use truthfed::protocol::{
    Accepted, Asking, Coordinator, Ending, Input, Member, Notice, OpenRound, Output, RawTerms, Rejection, Request,
    RoundId, RoundRecord, Since, Terms, Time, Trigger,
};
use truthfed::statistics::{Gram, Statistics};

use crate::bytes::Bytes;
use crate::federation::id;
use crate::text::json;

/// Observations of honest members; one more coordinate is the liar's.
const OBSERVATIONS: usize = 10;
const DIMENSION: usize = OBSERVATIONS + 1;
const HONEST: [&str; 3] = ["a", "b", "c"];
const LIAR: &str = "liar";
const STEPS: usize = 200;
const RESERVE: Amount = Amount::from_units(100);

/// Any schedule.
pub fn protocol(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let mut run = Run::new(&mut bytes);
    for _ in 0..STEPS {
        if bytes.is_empty() {
            break;
        }
        run.step(&mut bytes);
        run.drain();
        run.check_settled();
    }
    run.heal();
    run.check_whole();
    run.settled_rounds > 0
}

struct Run {
    is_clock: bool,
    terms: Terms,
    now: u64,
    /// When the last round ended.
    ended: Option<u64>,
    coordinator: Coordinator,
    members: BTreeMap<ClientId, Member>,
    enrolled: BTreeSet<ClientId>,
    up: Vec<(ClientId, Request)>,
    down: Vec<(ClientId, Notice)>,
    learned: usize,
    delivered: BTreeSet<(RoundId, ClientId)>,
    last_ended: RoundId,
    settled_rounds: usize,
}

/// What a member asks, whatever it has.
pub(crate) struct Price(pub(crate) Option<Amount>);

impl Asking for Price {
    fn ask(&mut self, _: &Statistics) -> Option<Amount> {
        self.0
    }
}

fn terms(bytes: &mut Bytes<'_>) -> Terms {
    let bandit = RawConfig { dimension: DIMENSION, ..RawConfig::default() };
    let trigger = Trigger::new(bytes.pick(&[Since::Round, Since::Delivery]), bytes.pick(&[1.0, 1.0, 3.0, 12.0]));
    let (offers_ms, deliveries_ms, gap_ms) = (100, 100, bytes.pick(&[0, 30, 1000]));
    let raw = RawTerms { bandit, trigger, reserve: RESERVE, offers_ms, deliveries_ms, gap_ms, ..RawTerms::default() };
    raw.try_into().expect("valid terms")
}

fn mechanism(is_clock: bool) -> Box<dyn Mechanism> {
    if is_clock { Box::new(Clock) } else { Box::new(Everyone) }
}

impl Run {
    fn new(bytes: &mut Bytes<'_>) -> Run {
        let is_clock = bytes.chance();
        let terms = terms(bytes);
        let (config, trigger) = (terms.bandit(), terms.trigger());
        let enrolled: BTreeSet<ClientId> = HONEST.iter().chain([&LIAR]).map(|name| id(name)).collect();
        Run {
            is_clock,
            now: 0,
            ended: None,
            coordinator: Coordinator::new(terms.clone(), mechanism(is_clock), enrolled.clone()),
            terms,
            members: HONEST.iter().map(|name| (id(name), Member::new(id(name), config, trigger))).collect(),
            enrolled,
            up: Vec::new(),
            down: Vec::new(),
            learned: 0,
            delivered: BTreeSet::new(),
            last_ended: RoundId(0),
            settled_rounds: 0,
        }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.below(18) {
            0..=2 => self.learn(bytes),
            16 | 17 => {
                let ask = ask(bytes);
                self.member(bytes).open_round(None, &mut Price(ask));
            }
            3 => self.now += bytes.pick(&[0, 1, 50, 100, 1000]),
            4 => self.member(bytes).sync(),
            5..=8 => self.carry_up(bytes),
            9..=11 => self.carry_down(bytes),
            12 | 13 => self.lie(bytes),
            14 => self.restart(bytes),
            _ => self.come_or_go(bytes),
        }
    }

    fn member(&mut self, bytes: &mut Bytes<'_>) -> &mut Member {
        let name = id(bytes.pick(&HONEST));
        self.members.get_mut(&name).expect("an honest member")
    }

    fn learn(&mut self, bytes: &mut Bytes<'_>) {
        if self.learned == OBSERVATIONS {
            return;
        }
        let mut context = [0.0; DIMENSION];
        context[self.learned] = 1.0;
        self.member(bytes).learn(&context, 1.0).expect("a valid observation");
        self.learned += 1;
    }

    /// One of the messages, which is kept for later, or lost, or delivered.
    fn carry_up(&mut self, bytes: &mut Bytes<'_>) {
        let Some((from, request)) = carried(&mut self.up, bytes) else { return };
        self.hand_in(from, request);
    }

    fn carry_down(&mut self, bytes: &mut Bytes<'_>) {
        let Some((to, notice)) = carried(&mut self.down, bytes) else { return };
        let ask = ask(bytes);
        self.deliver(&to, notice, ask);
    }

    fn deliver(&mut self, to: &ClientId, notice: Notice, ask: Option<Amount>) {
        if let Some(member) = self.members.get_mut(to) {
            member.handle(notice, &mut Price(ask)).expect("the coordinator's snapshots can be taken over");
        }
    }

    fn hand_in(&mut self, from: ClientId, request: Request) {
        let delivery = match &request {
            Request::Deliver(round, _) => Some((*round, from.clone())),
            _ => None,
        };
        // What time brings about comes first, and leaves nothing open.
        self.coordinator.handle(Time(self.now), Input::Tick).expect("time passes");
        self.drain();
        let (next, settled) = (self.coordinator.closed().0 + 1, self.coordinator.settled().gram().clone());
        let opening = match &request {
            Request::Offer { round, samples, offer } if self.coordinator.open().is_none() && round.0 == next => {
                Some(self.worth(&settled, *samples, &offer.gram))
            }
            _ => None,
        };
        let answer = self.coordinator.handle(Time(self.now), Input::Request(from, request));
        if let Some(worth) = opening {
            self.check_opening(worth, &answer);
        }
        if answer == Ok(Accepted::New) {
            self.delivered.extend(delivery);
        }
    }

    /// What an offer is worth, where all matrices are diagonal: a coordinate after the other.
    fn worth(&self, settled: &Gram, samples: u64, offered: &Gram) -> f64 {
        let diagonal = |gram: &Gram| -> Vec<f64> { (0..DIMENSION).map(|i| gram.lower()[i * (i + 3) / 2]).collect() };
        let lambda = self.terms.bandit().lambda();
        let nats = diagonal(settled).into_iter().zip(diagonal(offered)).map(|(v, g)| libm::log1p(g / (v + lambda)));
        samples as f64 * nats.sum::<f64>()
    }

    /// A round opens with an offer that is worth it, and not too soon after the last.
    fn check_opening(&self, worth: f64, answer: &Result<Accepted, Rejection>) {
        let (threshold, rounding) = (self.terms.trigger().threshold, 1e-6 * (1.0 + worth.abs()));
        let earliest = self.ended.map_or(0, |ended| ended + self.terms.raw().gap_ms);
        match answer {
            Ok(_) => {
                assert!(worth > threshold - rounding, "opened for {worth}");
                assert!(self.now >= earliest, "opened at {}, {earliest} is the earliest", self.now);
            }
            Err(Rejection::TriggerNotMet { .. }) => assert!(worth < threshold + rounding, "not opened for {worth}"),
            Err(Rejection::TooSoon { .. }) => assert!(self.now < earliest, "too soon at {}", self.now),
            Err(_) => assert!(self.coordinator.open().is_none(), "refused, and opened"),
        }
    }

    /// Anything that a member can say, about a coordinate of its own.
    fn lie(&mut self, bytes: &mut Bytes<'_>) {
        let round = match bytes.below(3) {
            0 => RoundId(bytes.count()),
            1 => RoundId(self.coordinator.closed().0 + 1),
            _ => self.coordinator.open().map_or(self.coordinator.closed(), OpenRound::round),
        };
        let mut moment = vec![0.0; DIMENSION];
        moment[OBSERVATIONS] = bytes.float();
        let request = match bytes.below(5) {
            0 => Request::Decline(round),
            1 => Request::Sync,
            2 => Request::Deliver(round, moment),
            _ => {
                let mut lower = vec![0.0; DIMENSION * (DIMENSION + 1) / 2];
                *lower.last_mut().expect("it is not empty") = bytes.float();
                let Ok(gram) = Gram::from_lower(DIMENSION, lower) else { return };
                let ask = Amount::from_units(bytes.byte().into());
                let offer = Offer { client: id(LIAR), ask, gram };
                Request::Offer { round, samples: bytes.count(), offer }
            }
        };
        let from = if bytes.below(8) == 0 { id("stranger") } else { id(LIAR) };
        self.hand_in(from, request);
    }

    /// A side goes on from what was saved.
    fn restart(&mut self, bytes: &mut Bytes<'_>) {
        let member = self.member(bytes);
        *member = serde_json::from_str(&json(member)).expect("a saved member is read again");
        if self.coordinator.open().is_none() {
            let standing = json(&self.coordinator.standing());
            let standing = serde_json::from_str(&standing).expect("a standing is read again");
            self.coordinator = Coordinator::resume(self.terms.clone(), mechanism(self.is_clock), standing);
            self.coordinator.begin_phase(Time(self.ended.unwrap_or(0)));
        }
    }

    fn come_or_go(&mut self, bytes: &mut Bytes<'_>) {
        let name = id(bytes.pick(&["c", LIAR, "new"]));
        match self.enrolled.remove(&name) {
            true => assert!(self.coordinator.revoke(Time(self.now), &name)),
            false => {
                assert!(self.coordinator.enrol(name.clone()));
                self.enrolled.insert(name);
            }
        }
    }

    /// Moves what the machines want to say into the network.
    fn drain(&mut self) {
        for (name, member) in &mut self.members {
            while let Some(request) = member.poll() {
                self.up.push((name.clone(), request));
            }
        }
        while let Some(output) = self.coordinator.poll() {
            for (name, member) in self.members.iter().filter(|(name, _)| output.concerns(name)) {
                let notices = self.coordinator.notices(name, Some(member.closed()));
                self.down.extend(notices.map(|notice| (name.clone(), notice)));
            }
            if let Output::Ended(record) = output {
                self.check_record(*record);
            }
        }
    }

    /// Rounds only grow; who delivered is paid what was decided, and nobody else is.
    fn check_record(&mut self, record: RoundRecord) {
        assert!(record.round > self.last_ended, "rounds only grow");
        (self.last_ended, self.ended) = (record.round, Some(record.closed.0));
        let Ending::Settled { outcome, paid, defaulted, .. } = record.ending else { return };
        self.settled_rounds += 1;
        assert_eq!(paid.len() + defaulted.len(), outcome.winners().len());
        for (member, payment) in paid {
            let winner = outcome.winner(&member).expect("only winners are paid");
            assert_eq!(winner.payment, payment);
            assert!(self.delivered.remove(&(record.round, member)), "paid without a delivery");
            assert!(!self.is_clock || (winner.ask <= payment && payment <= RESERVE));
        }
        let unpaid = self.delivered.iter().find(|(round, _)| *round == record.round);
        assert_eq!(unpaid, None, "delivered, and not paid");
    }

    /// What is settled counts every sample at most once.
    fn check_settled(&self) {
        for (coordinate, sum) in self.coordinator.settled().moment()[..OBSERVATIONS].iter().enumerate() {
            assert!([0.0, 1.0].contains(sum), "sample {coordinate} counts {sum} times");
        }
    }

    /// The network works again: every round ends, and everyone syncs.
    fn heal(&mut self) {
        (self.up, self.down) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            self.now += 1000;
            self.coordinator.handle(Time(self.now), Input::Tick).expect("time passes");
            self.members.values_mut().for_each(Member::sync);
            self.drain();
            for _ in 0..8 {
                for (from, request) in std::mem::take(&mut self.up) {
                    self.hand_in(from, request);
                }
                self.drain();
                for (to, notice) in std::mem::take(&mut self.down) {
                    self.deliver(&to, notice, None);
                }
                self.drain();
            }
            assert!(self.up.is_empty() && self.down.is_empty(), "the machines never come to rest");
        }
    }

    /// Every sample of those who are members counts once, and all of them know the same.
    fn check_whole(&self) {
        let settled = self.coordinator.settled();
        let present = || self.members.values().filter(|member| self.enrolled.contains(member.id()));
        for member in present() {
            let mut expected = settled.clone();
            expected.merge(&member.undelivered()).expect("one dimension");
            assert_eq!(member.known(), &expected, "{}", member.id());
        }
        for coordinate in 0..self.learned {
            let outside = |member: &Member| member.undelivered().moment()[coordinate];
            let counted = settled.moment()[coordinate] + present().map(outside).sum::<f64>();
            let is_away = present().count() < self.members.len();
            assert!(counted == 1.0 || is_away && counted == 0.0, "sample {coordinate} counts {counted} times");
        }
    }
}

fn ask(bytes: &mut Bytes<'_>) -> Option<Amount> {
    bytes.pick(&[Some(1), Some(0), Some(50), Some(100), Some(101), None]).map(Amount::from_units)
}

fn carried<T: Clone>(messages: &mut Vec<T>, bytes: &mut Bytes<'_>) -> Option<T> {
    if messages.is_empty() {
        return None;
    }
    let (index, fate) = (bytes.below(messages.len().min(256)), bytes.below(8));
    let message = messages[index].clone();
    if fate > 1 {
        messages.swap_remove(index);
    }
    (fate != 7).then_some(message)
}
