use super::*;
use crate::Amount;
use crate::auction::{ClientId, Clock, Coverage, Everyone, Mechanism};
use crate::bandit::{Config, RawConfig};
use crate::generate::Stream;
use crate::statistics::{Gram, Statistics};

fn id(name: &str) -> ClientId {
    name.parse().unwrap()
}

fn terms(dimension: usize) -> Terms {
    let coverage = CoverageRule::Fixed(Coverage::ratio(0.5).unwrap());
    let reserve = Amount::from_units(100);
    Terms { dimension, lambda: 0.1, coverage, reserve, norm: 1.0, offers_ms: 100, deliveries_ms: 100 }
}

fn config(dimension: usize) -> Config {
    Config::try_from(RawConfig { dimension, ..RawConfig::default() }).unwrap()
}

/// Always asks the same.
struct Fixed(Amount);

impl Asking for Fixed {
    fn ask(&mut self, _: &Statistics) -> Option<Amount> {
        Some(self.0)
    }
}

fn body(information: f64, samples: u64, ask: u32) -> OfferBody {
    OfferBody { gram: Gram::from_rows(&[[information]]).unwrap(), samples, ask: Amount::from_units(ask) }
}

/// A federation of two in one dimension with an open round.
fn opened(mechanism: impl Mechanism + 'static) -> Coordinator {
    let mut coordinator = Coordinator::new(terms(1), Box::new(mechanism), [id("a"), id("b")]);
    send(&mut coordinator, 0, "a", Request::Ask).unwrap();
    coordinator
}

fn send(coordinator: &mut Coordinator, now: u64, from: &str, request: Request) -> Result<Accepted, Rejection> {
    coordinator.handle(Time(now), Input::Request(id(from), request))
}

fn endings(coordinator: &mut Coordinator) -> Vec<RoundRecord> {
    std::iter::from_fn(|| coordinator.poll())
        .filter_map(|output| match output {
            Output::Ended(record) => Some(*record),
            Output::Notice(..) => None,
        })
        .collect()
}

const R1: RoundId = RoundId(1);

#[test]
fn a_round_ends_as_soon_as_everyone_has_answered_and_delivered() {
    let mut coordinator = opened(Everyone);
    send(&mut coordinator, 1, "a", Request::Offer(R1, body(2.0, 3, 5))).unwrap();
    send(&mut coordinator, 2, "b", Request::Decline(R1)).unwrap();
    send(&mut coordinator, 3, "a", Request::Deliver(R1, vec![1.5])).unwrap();
    let records = endings(&mut coordinator);
    assert_eq!((records.len(), records[0].closed), (1, Time(3)));
    assert_eq!(coordinator.settled().moment(), [1.5]);
    assert_eq!(coordinator.settled().samples(), 3);
}

#[test]
fn a_winner_that_does_not_deliver_is_not_paid_and_its_data_not_used() {
    let mut coordinator = opened(Everyone);
    send(&mut coordinator, 1, "a", Request::Offer(R1, body(2.0, 3, 5))).unwrap();
    send(&mut coordinator, 1, "b", Request::Offer(R1, body(1.0, 1, 5))).unwrap();
    send(&mut coordinator, 2, "b", Request::Deliver(R1, vec![0.5])).unwrap();
    coordinator.handle(Time(200), Input::Tick).unwrap();
    let records = endings(&mut coordinator);
    let Ending::Settled { paid, defaulted, .. } = &records[0].ending else { panic!("settled") };
    assert_eq!((paid.len(), defaulted), (1, &vec![id("a")]));
    assert_eq!(coordinator.settled().samples(), 1);
}

#[test]
fn a_round_without_offers_ends_at_its_deadline_with_nothing_settled() {
    let mut coordinator = opened(Clock);
    coordinator.handle(Time(99), Input::Tick).unwrap();
    assert!(endings(&mut coordinator).is_empty());
    coordinator.handle(Time(100), Input::Tick).unwrap();
    assert!(matches!(endings(&mut coordinator)[0].ending, Ending::NoOffers));
}

#[test]
fn repeated_messages_change_nothing_and_changed_ones_are_refused() {
    let mut coordinator = opened(Everyone);
    let offer = Request::Offer(R1, body(2.0, 3, 5));
    assert_eq!(send(&mut coordinator, 1, "a", offer.clone()), Ok(Accepted::New));
    assert_eq!(send(&mut coordinator, 1, "a", offer.clone()), Ok(Accepted::Repeated));
    assert_eq!(send(&mut coordinator, 1, "a", Request::Ask), Ok(Accepted::Repeated));
    let changed = send(&mut coordinator, 1, "a", Request::Offer(R1, body(2.0, 3, 6)));
    assert!(matches!(changed, Err(Rejection::ConflictingRetry { .. })), "{changed:?}");
    let changed = send(&mut coordinator, 1, "a", Request::Decline(R1));
    assert!(matches!(changed, Err(Rejection::ConflictingRetry { .. })), "{changed:?}");
    send(&mut coordinator, 1, "b", Request::Offer(R1, body(1.0, 1, 5))).unwrap();
    assert_eq!(send(&mut coordinator, 2, "a", offer), Ok(Accepted::Repeated));
    assert_eq!(send(&mut coordinator, 2, "a", Request::Deliver(R1, vec![1.0])), Ok(Accepted::New));
    assert_eq!(send(&mut coordinator, 2, "a", Request::Deliver(R1, vec![1.0])), Ok(Accepted::Repeated));
    let changed = send(&mut coordinator, 2, "a", Request::Deliver(R1, vec![2.0]));
    assert!(matches!(changed, Err(Rejection::ConflictingRetry { .. })), "{changed:?}");
}

#[test]
fn messages_out_of_turn_are_refused_by_name() {
    let mut coordinator = opened(Clock);
    let stranger = send(&mut coordinator, 1, "z", Request::Ask);
    assert_eq!(stranger, Err(Rejection::NotAMember(id("z"))));
    let early = send(&mut coordinator, 1, "a", Request::Deliver(R1, vec![1.0]));
    assert!(matches!(early, Err(Rejection::WrongPhase { what: "delivery", .. })), "{early:?}");
    let future = send(&mut coordinator, 1, "a", Request::Decline(RoundId(2)));
    assert!(matches!(future, Err(Rejection::StaleRound { .. })), "{future:?}");
    send(&mut coordinator, 1, "a", Request::Offer(R1, body(2.0, 3, 5))).unwrap();
    let late = send(&mut coordinator, 100, "b", Request::Offer(R1, body(1.0, 1, 5)));
    assert!(matches!(late, Err(Rejection::WrongPhase { what: "offer", .. })), "{late:?}");
    let wrong_size = send(&mut coordinator, 101, "a", Request::Deliver(R1, vec![1.0, 2.0]));
    assert!(matches!(wrong_size, Err(Rejection::Moment { expected: 1, .. })), "{wrong_size:?}");
    let stale = send(&mut coordinator, 300, "a", Request::Deliver(R1, vec![1.0]));
    assert!(matches!(stale, Err(Rejection::StaleRound { .. })), "{stale:?}");
}

#[test]
fn offers_that_no_data_gives_are_refused() {
    let mut coordinator = opened(Clock);
    for (offer, expected) in [
        (body(4.0, 3, 5), "gram of a has trace 4, 3 samples of norm 1 give at most 3"),
        (body(0.5, 0, 5), "gram of a has trace 0.5, 0 samples of norm 1 give at most 0"),
        (body(-1.0, 3, 5), "gram of a is not positive semi-definite: an eigenvalue lies below -1e-9 times its trace"),
    ] {
        let refused = send(&mut coordinator, 1, "a", Request::Offer(R1, offer)).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    let gram = Gram::zeros(2).unwrap();
    let wrong = Request::Offer(R1, OfferBody { gram, samples: 1, ask: Amount::ZERO });
    assert!(send(&mut coordinator, 1, "a", wrong).unwrap_err().to_string().contains("dimension 2"));
}

/// A network that loses, delays, repeats and reorders, over members whose every observation has a coordinate of
/// its own: a 2 in a sum proves that something was counted twice, a missing 1 that it was lost.
struct Schedule {
    stream: Stream,
    now: u64,
    coordinator: Coordinator,
    members: Vec<Member>,
    up: Vec<(ClientId, Request)>,
    down: Vec<(ClientId, Notice)>,
    learned: usize,
    rounds: Vec<RoundRecord>,
}

const COORDINATES: usize = 30;

impl Schedule {
    fn new(seed: u64) -> Schedule {
        let mut stream = Stream::new(seed, 0);
        let members: Vec<ClientId> = (0..stream.between(1, 5)).map(|i| id(&format!("m{i}"))).collect();
        let since = stream.pick(&[Since::Round, Since::Delivery]);
        let trigger = Trigger { since, threshold: 2.0 };
        let mechanism: Box<dyn Mechanism> = if stream.chance(0.5) { Box::new(Clock) } else { Box::new(Everyone) };
        Schedule {
            stream,
            now: 0,
            coordinator: Coordinator::new(terms(COORDINATES), mechanism, members.clone()),
            members: members.into_iter().map(|id| Member::new(id, config(COORDINATES), trigger)).collect(),
            up: Vec::new(),
            down: Vec::new(),
            learned: 0,
            rounds: Vec::new(),
        }
    }

    /// One random event.
    fn step(&mut self) {
        match self.stream.between(0, 9) {
            0..=1 if self.learned < COORDINATES => self.learn(),
            2 => self.now += self.stream.between(0, 60) as u64,
            3 => {
                let member = self.stream.between(0, self.members.len() - 1);
                self.members[member].sync();
            }
            4..=6 => self.carry_up(),
            _ => self.carry_down(),
        }
        self.drain();
    }

    fn learn(&mut self) {
        let mut context = vec![0.0; COORDINATES];
        context[self.learned] = 1.0;
        let member = self.stream.between(0, self.members.len() - 1);
        self.members[member].learn(&context, 1.0).unwrap();
        self.learned += 1;
    }

    /// Takes a random message: lost, or delivered, or delivered and kept for later.
    fn carry_up(&mut self) {
        if self.up.is_empty() {
            return;
        }
        let index = self.stream.between(0, self.up.len() - 1);
        let (from, request) = self.up[index].clone();
        if !self.stream.chance(0.3) {
            self.up.swap_remove(index);
        }
        if !self.stream.chance(0.2) {
            // A refusal is an answer too.
            let _ = self.coordinator.handle(Time(self.now), Input::Request(from, request));
        }
    }

    fn carry_down(&mut self) {
        if self.down.is_empty() {
            return;
        }
        let index = self.stream.between(0, self.down.len() - 1);
        let (to, notice) = self.down[index].clone();
        if !self.stream.chance(0.3) {
            self.down.swap_remove(index);
        }
        if !self.stream.chance(0.2) {
            self.deliver(&to, notice);
        }
    }

    fn deliver(&mut self, to: &ClientId, notice: Notice) {
        let ask = Amount::from_units(self.stream.between(0, 120) as u32);
        let member = self.members.iter_mut().find(|member| member.id() == to).unwrap();
        member.handle(notice, &mut Fixed(ask)).unwrap();
    }

    /// Moves what the machines want to say into the network.
    fn drain(&mut self) {
        for member in &mut self.members {
            while let Some(request) = member.poll() {
                self.up.push((member.id().clone(), request));
            }
        }
        while let Some(output) = self.coordinator.poll() {
            match output {
                Output::Notice(to, notice) => self.down.push((to, notice)),
                Output::Ended(record) => self.rounds.push(*record),
            }
        }
    }

    /// The network works again: every round ends, everyone syncs.
    fn heal(&mut self) {
        self.up.clear();
        self.down.clear();
        for _ in 0..4 {
            self.now += 1000;
            self.coordinator.handle(Time(self.now), Input::Tick).unwrap();
            self.members.iter_mut().for_each(Member::sync);
            self.drain();
            while !self.up.is_empty() || !self.down.is_empty() {
                for (from, request) in std::mem::take(&mut self.up) {
                    let _ = self.coordinator.handle(Time(self.now), Input::Request(from, request));
                }
                self.drain();
                for (to, notice) in std::mem::take(&mut self.down) {
                    self.deliver(&to, notice);
                }
                self.drain();
            }
        }
    }

    fn check(&self, seed: u64) {
        let settled = self.coordinator.settled();
        let counted = |statistics: &Statistics, coordinate: usize| statistics.moment()[coordinate];
        let undelivered: Vec<Statistics> = self.members.iter().map(Member::undelivered).collect();
        for coordinate in 0..self.learned {
            let outside: f64 = undelivered.iter().map(|statistics| counted(statistics, coordinate)).sum();
            assert_eq!(counted(settled, coordinate) + outside, 1.0, "seed {seed}: sample {coordinate}");
        }
        let samples: u64 = undelivered.iter().map(Statistics::samples).sum();
        assert_eq!(settled.samples() + samples, self.learned as u64, "seed {seed}");
        for (member, undelivered) in self.members.iter().zip(undelivered) {
            let mut expected = settled.clone();
            expected.merge(&undelivered).unwrap();
            assert_eq!(member.known(), &expected, "seed {seed}: {}", member.id());
        }
    }

    fn check_records(&self, seed: u64) {
        let mut last = RoundId(0);
        for record in &self.rounds {
            assert!(record.round > last, "seed {seed}: rounds only grow");
            last = record.round;
            if let Ending::Settled { outcome, paid, defaulted, .. } = &record.ending {
                assert_eq!(paid.len() + defaulted.len(), outcome.winners().len(), "seed {seed}");
            }
        }
    }
}

#[test]
fn no_sample_is_lost_or_counted_twice_under_any_schedule() {
    let mut settled_rounds = 0;
    for seed in 0..2000 {
        let mut schedule = Schedule::new(seed);
        for _ in 0..400 {
            schedule.step();
        }
        schedule.heal();
        schedule.check(seed);
        schedule.check_records(seed);
        settled_rounds += schedule.rounds.iter().filter(|r| matches!(r.ending, Ending::Settled { .. })).count();
    }
    assert!(settled_rounds > 2000, "the schedules must settle rounds to show anything: {settled_rounds}");
}

#[test]
fn a_member_that_was_away_is_whole_after_one_snapshot() {
    let mut coordinator = Coordinator::new(terms(1), Box::new(Everyone), [id("a"), id("b")]);
    let trigger = Trigger { since: Since::Round, threshold: 1e9 };
    let mut away = Member::new(id("b"), config(1), trigger);
    away.learn(&[0.5], 1.0).unwrap();
    for round in 1..=10 {
        send(&mut coordinator, round, "a", Request::Ask).unwrap();
        send(&mut coordinator, round, "a", Request::Offer(RoundId(round), body(1.0, 1, 5))).unwrap();
        send(&mut coordinator, round, "b", Request::Decline(RoundId(round))).unwrap();
        send(&mut coordinator, round, "a", Request::Deliver(RoundId(round), vec![1.0])).unwrap();
    }
    while coordinator.poll().is_some() {}
    send(&mut coordinator, 11, "b", Request::Sync).unwrap();
    let Some(Output::Notice(_, snapshot)) = coordinator.poll() else { panic!("a snapshot") };
    away.handle(snapshot, &mut Fixed(Amount::ZERO)).unwrap();
    assert_eq!((away.known().samples(), away.known().moment()), (11, &[10.5][..]));
}

#[test]
fn since_delivery_a_loser_asks_again_at_every_step_and_since_round_it_waits() {
    for (since, expected) in [(Since::Delivery, 3), (Since::Round, 0)] {
        let trigger = Trigger { since, threshold: 3.0 };
        let mut member = Member::new(id("a"), config(1), trigger);
        while member.poll().is_none() {
            member.learn(&[0.9], 1.0).unwrap();
        }
        member.handle(Notice::Opened(R1), &mut Fixed(Amount::ZERO)).unwrap();
        let nothing = Statistics::new(1).unwrap();
        let lost = Snapshot { closed: R1, settled: None, statistics: nothing };
        member.handle(Notice::Snapshot(lost), &mut Fixed(Amount::ZERO)).unwrap();
        while member.poll().is_some() {}
        let asked = (0..3).filter(|_| {
            member.learn(&[0.9], 1.0).unwrap();
            member.poll() == Some(Request::Ask)
        });
        assert_eq!(asked.count(), expected, "{since:?}");
    }
}
