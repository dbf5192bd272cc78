//! A coordinator that is stopped after any step and goes on from what was kept is the one that was not stopped.

use std::collections::BTreeMap;

use super::*;
use crate::generate::Stream;

/// What reaches a coordinator from outside, as a journal keeps it.
#[derive(Debug, Clone)]
enum Step {
    Request(ClientId, Request),
    Enrol(ClientId),
    Revoke(ClientId),
    Tick,
}

fn apply(coordinator: &mut Coordinator, now: Time, step: Step) -> bool {
    match step {
        Step::Request(from, request) => coordinator.handle(now, Input::Request(from, request)) == Ok(Accepted::New),
        Step::Enrol(member) => coordinator.enrol(member),
        Step::Revoke(member) => coordinator.revoke(now, &member),
        Step::Tick => coordinator.handle(now, Input::Tick).is_ok(),
    }
}

fn mechanism(seed: u64) -> Box<dyn Mechanism> {
    if seed.is_multiple_of(2) { Box::new(Clock) } else { Box::new(Everyone) }
}

fn terms_of(seed: u64) -> Terms {
    let quota = Quota { samples: 2, per_ms: 100, members: [(id("a"), 9)].into() };
    let quota = if seed.is_multiple_of(3) { Quota::default() } else { quota };
    Terms::try_from(RawTerms { quota, ..raw_terms(DIMENSION) }).unwrap()
}

/// A coordinator under a random schedule of requests, enrolments, revocations and time.
struct Run {
    seed: u64,
    stream: Stream,
    now: Time,
    coordinator: Coordinator,
    offered: BTreeMap<(RoundId, ClientId), Statistics>,
    /// The last standing, as it is written, and what was taken since.
    standing: String,
    ended: Time,
    since: Vec<(Time, Step)>,
    /// Everything the coordinator wanted done.
    story: Vec<String>,
    /// How often membership changed while a round took offers, and while it took deliveries.
    changes: [usize; 2],
    settled: usize,
}

const DIMENSION: usize = 2;

impl Run {
    fn new(seed: u64) -> Run {
        let coordinator = Coordinator::new(terms_of(seed), mechanism(seed), ["a", "b", "c"].map(id));
        Run {
            seed,
            stream: Stream::new(seed, 0),
            now: Time(0),
            standing: written(&coordinator),
            ended: Time(0),
            coordinator,
            offered: BTreeMap::new(),
            since: Vec::new(),
            story: Vec::new(),
            changes: [0, 0],
            settled: 0,
        }
    }

    fn step(&mut self) {
        if self.stream.chance(0.1) {
            self.now = self.now.plus_ms(self.stream.between(0, 80) as u64);
        }
        // Time first, as its own step: what it ends is over before anything else happens.
        if self.coordinator.open().is_some_and(|open| open.deadline() <= self.now) {
            self.take(Step::Tick);
        }
        let step = self.draw();
        self.take(step);
    }

    fn draw(&mut self) -> Step {
        let member = id(self.stream.pick(&["a", "b", "c", "d", "e"]));
        let round = RoundId(self.coordinator.closed().0 + self.stream.pick(&[1, 1, 1, 1, 1, 0]));
        let request = match self.stream.between(0, 19) {
            0 => return Step::Enrol(member),
            1 => return Step::Revoke(member),
            2 => Request::Sync,
            3 => Request::Decline(round),
            4..=12 => self.offer(round, &member),
            _ => match self.offered.get(&(round, member.clone())) {
                Some(statistics) => Request::Deliver(round, statistics.moment().to_vec()),
                None => Request::Deliver(round, vec![0.0; DIMENSION]),
            },
        };
        Step::Request(member, request)
    }

    fn offer(&mut self, round: RoundId, member: &ClientId) -> Request {
        let mut statistics = Statistics::new(DIMENSION).unwrap();
        for _ in 0..self.stream.between(1, 5) {
            let context = self.stream.context(DIMENSION);
            statistics.observe(&context, self.stream.uniform()).unwrap();
        }
        let (gram, samples) = (statistics.gram().clone(), statistics.samples());
        self.offered.insert((round, member.clone()), statistics);
        let ask = Amount::from_units(self.stream.between(0, 120) as u32);
        Request::Offer { round, samples, offer: Offer { client: member.clone(), ask, gram } }
    }

    fn take(&mut self, step: Step) {
        let (was_open, was_awarded) = (self.coordinator.open().is_some(), is_awarded(&self.coordinator));
        if !apply(&mut self.coordinator, self.now, step.clone()) {
            return self.keep_outputs();
        }
        if matches!(step, Step::Enrol(_) | Step::Revoke(_)) && was_open {
            self.changes[usize::from(was_awarded)] += 1;
        }
        self.since.push((self.now, step));
        self.keep_outputs();
    }

    fn keep_outputs(&mut self) {
        while let Some(output) = self.coordinator.poll() {
            if let Output::Ended(record) = &output {
                self.settled += usize::from(matches!(record.ending, Ending::Settled { .. }));
                (self.standing, self.ended, self.since) = (written(&self.coordinator), record.closed, Vec::new());
            }
            self.story.push(format!("{output:?}"));
        }
    }

    /// Stops the coordinator and takes up what was kept.
    fn restart(&mut self) {
        let standing: Standing = serde_json::from_str(&self.standing).unwrap();
        let mut resumed = Coordinator::resume(terms_of(self.seed), mechanism(self.seed), standing);
        resumed.begin_phase(self.ended);
        for (now, step) in self.since.clone() {
            assert!(apply(&mut resumed, now, step.clone()), "seed {}: {step:?} is taken again", self.seed);
        }
        while resumed.poll().is_some() {}
        let (resumed_state, state) = (format!("{resumed:?}"), format!("{:?}", self.coordinator));
        assert_eq!(resumed_state, state, "seed {}", self.seed);
        self.coordinator = resumed;
    }
}

fn written(coordinator: &Coordinator) -> String {
    serde_json::to_string(&coordinator.standing()).unwrap()
}

#[test]
fn a_coordinator_restarted_after_every_step_does_what_one_that_never_stopped_does() {
    let (mut in_offers, mut in_deliveries, mut settled) = (0, 0, 0);
    for seed in 0..300 {
        let (mut whole, mut restarted) = (Run::new(seed), Run::new(seed));
        for _ in 0..300 {
            whole.step();
            restarted.step();
            restarted.restart();
        }
        assert_eq!(restarted.story, whole.story, "seed {seed}");
        in_offers += whole.changes[0];
        in_deliveries += whole.changes[1];
        settled += whole.settled;
    }
    assert!(in_offers > 1000 && in_deliveries > 500 && settled > 1000, "{in_offers} {in_deliveries} {settled}");
}

#[test]
fn after_a_restart_the_phase_has_its_whole_time_again() {
    let mut coordinator = Coordinator::new(terms(1), Box::new(Everyone), [id("a"), id("b")]);
    coordinator.begin_phase(Time(5));
    assert!(coordinator.open().is_none());
    send(&mut coordinator, 0, "b", offer("b", 1.0, 1, 5)).unwrap();
    coordinator.begin_phase(Time(1000));
    assert_eq!(coordinator.open().map(OpenRound::deadline), Some(Time(1100)));
    coordinator.handle(Time(1099), Input::Tick).unwrap();
    assert!(!is_awarded(&coordinator));
    coordinator.handle(Time(1100), Input::Tick).unwrap();
    assert!(is_awarded(&coordinator));
    coordinator.begin_phase(Time(2000));
    assert_eq!(coordinator.open().map(OpenRound::deadline), Some(Time(2100)));
}
