//! Rounds over a bad network, in random schedules.

use std::collections::BTreeMap;

use super::*;
use crate::generate::Stream;

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
    fn new(seed: u64, quota: Option<Quota>) -> Schedule {
        let mut stream = Stream::new(seed, 0);
        let members: Vec<ClientId> = (0..stream.between(1, 5)).map(|i| id(&format!("m{i}"))).collect();
        let since = stream.pick(&[Since::Round, Since::Delivery]);
        let trigger = Trigger { since, threshold: 2.0, checked: stream.chance(0.5) };
        let mechanism: Box<dyn Mechanism> = if stream.chance(0.5) { Box::new(Clock) } else { Box::new(Everyone) };
        let quota = quota.unwrap_or_default();
        let least_samples = SamplesSetting::Samples(stream.pick(&[0, 0, 2]));
        let terms = Terms::try_from(RawTerms { trigger, quota, least_samples, ..raw_terms(COORDINATES) }).unwrap();
        let member = |id| Member::under(&terms, id);
        Schedule {
            stream,
            now: 0,
            coordinator: Coordinator::new(terms.clone(), mechanism, members.clone()),
            members: members.into_iter().map(member).collect(),
            up: Vec::new(),
            down: Vec::new(),
            learned: 0,
            rounds: Vec::new(),
        }
    }

    fn step(&mut self) {
        match self.stream.between(0, 10) {
            0..=1 if self.learned < COORDINATES => self.learn(),
            2 => self.now += self.stream.between(0, 60) as u64,
            3 => {
                let member = self.stream.between(0, self.members.len() - 1);
                self.members[member].sync();
            }
            4 => {
                let member = self.stream.between(0, self.members.len() - 1);
                let ask = Amount::from_units(self.stream.between(0, 120) as u32);
                let most = self.coordinator.most_samples(self.members[member].id(), Time(self.now));
                self.members[member].open_round(most, &mut Fixed(ask));
            }
            5..=6 => {
                if let Some((from, request)) = carried(&mut self.stream, &mut self.up) {
                    // A refusal is an answer too.
                    let _ = self.coordinator.handle(Time(self.now), Input::Request(from, request));
                }
            }
            7 => {
                let member = self.stream.between(0, self.members.len() - 1);
                let saved = serde_json::to_string(&self.members[member]).unwrap();
                self.members[member] = serde_json::from_str(&saved).unwrap();
            }
            _ => {
                if let Some((to, notice)) = carried(&mut self.stream, &mut self.down) {
                    self.deliver(&to, notice);
                }
            }
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
            for member in self.members.iter().filter(|member| output.concerns(member.id())) {
                let notices = self.coordinator.notices(member.id(), Some(member.closed()));
                self.down.extend(notices.map(|notice| (member.id().clone(), notice)));
            }
            if let Output::Ended(record) = output {
                self.rounds.push(*record);
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

/// A random message: lost, or delivered, or delivered and kept for later.
fn carried<T: Clone>(stream: &mut Stream, messages: &mut Vec<T>) -> Option<T> {
    let last = messages.len().checked_sub(1)?;
    let index = stream.between(0, last);
    let message = messages[index].clone();
    if !stream.chance(0.3) {
        messages.swap_remove(index);
    }
    (!stream.chance(0.2)).then_some(message)
}

/// No offer that was taken has more samples than its member had due, by the test's own count.
fn check_quota(schedule: &Schedule, quota: &Quota, awarded: Option<Time>, seed: u64) -> bool {
    let (Some(open), Some(last)) = (schedule.coordinator.open(), awarded) else { return false };
    let due = |time: Time| quota.samples * time.0 / quota.per_ms;
    let most = due(open.opened()) - due(last);
    let taken = schedule.members.iter().filter_map(|member| open.offer(member.id()));
    let samples: Vec<u64> = taken.map(|(offer, _)| offer.gram.trace() as u64).collect();
    assert!(samples.iter().all(|samples| *samples <= most), "seed {seed}: {samples:?} of {most}");
    samples.contains(&most)
}

fn check_schedules(quota: Option<&Quota>) {
    let (mut settled_rounds, mut bound) = (0, 0);
    for seed in 0..2000 {
        let (mut schedule, mut opened) = (Schedule::new(seed, quota.cloned()), BTreeMap::new());
        for _ in 0..400 {
            schedule.step();
            opened.extend(schedule.coordinator.open().map(|open| (open.round(), open.opened())));
            // One that was never seen open had one member, and took no time.
            let settled = schedule.rounds.iter().rfind(|record| matches!(record.ending, Ending::Settled { .. }));
            let awarded = settled.map(|record| *opened.entry(record.round).or_insert(Time(schedule.now)));
            bound += quota.map_or(0, |quota| usize::from(check_quota(&schedule, quota, awarded, seed)));
        }
        schedule.heal();
        schedule.check(seed);
        schedule.check_records(seed);
        settled_rounds += schedule.rounds.iter().filter(|r| matches!(r.ending, Ending::Settled { .. })).count();
    }
    assert!(settled_rounds > 2000, "the schedules must settle rounds to show anything: {settled_rounds}");
    assert_eq!(bound > 2000, quota.is_some(), "{bound} offers were as large as they may be");
}

#[test]
fn no_sample_is_lost_or_counted_twice_under_any_schedule() {
    check_schedules(None);
}

#[test]
fn nor_is_one_where_a_quota_parts_the_data_and_no_offer_exceeds_it() {
    check_schedules(Some(&Quota { samples: 1, per_ms: 40, members: BTreeMap::new() }));
}
