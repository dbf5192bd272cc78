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
    fn new(seed: u64, offers: Offers) -> Schedule {
        let mut stream = Stream::new(seed, 0);
        let members: Vec<ClientId> = (0..stream.between(1, 5)).map(|i| id(&format!("m{i}"))).collect();
        let since = stream.pick(&[Since::Round, Since::Delivery]);
        let trigger = Trigger { since, threshold: 2.0, checked: stream.chance(0.5) };
        let mechanism: Box<dyn Mechanism> = if stream.chance(0.5) { Box::new(Clock) } else { Box::new(Everyone) };
        let terms = Terms::try_from(RawTerms { trigger, offers, ..raw_terms(COORDINATES) }).unwrap();
        let fresh = terms.fresh().copied();
        let member = |id| Member::new(id, config(COORDINATES), trigger).offering(fresh.as_ref());
        Schedule {
            stream,
            now: 0,
            coordinator: Coordinator::new(terms, mechanism, members.clone()),
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
                let most = self.coordinator.most_fresh(self.members[member].id(), Time(self.now));
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
        // Where data is retired by it, some decline.
        let ask = Some(ask).filter(|_| member.retired().is_none() || !self.stream.chance(0.2));
        member.handle(notice, &mut Perhaps(ask)).unwrap();
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
        let outside = |member: &Member| {
            let mut all = member.undelivered();
            member.retired().into_iter().for_each(|retired| all.merge(retired).unwrap());
            all
        };
        let undelivered: Vec<Statistics> = self.members.iter().map(outside).collect();
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

struct Perhaps(Option<Amount>);

impl Asking for Perhaps {
    fn ask(&mut self, _: &Statistics) -> Option<Amount> {
        self.0
    }
}

/// Nothing that an awarded round was shown, or answered with a decline, is offered to a later one.
fn check_fresh(schedule: &Schedule, shown: &mut BTreeMap<usize, RoundId>, seed: u64) {
    let Some(open) = schedule.coordinator.open() else { return };
    for (offer, _) in schedule.members.iter().filter_map(|member| open.offer(member.id())) {
        let rows = offer.gram.rows();
        for coordinate in (0..COORDINATES).filter(|&at| rows[at][at] != 0.0) {
            if open.is_awarded() {
                shown.insert(coordinate, open.round());
            }
            let earlier = shown.get(&coordinate).filter(|earlier| **earlier < open.round());
            assert_eq!(earlier, None, "seed {seed}: sample {coordinate} is in round {} too", open.round());
        }
    }
}

fn check_schedules(offers: Offers) {
    let (mut settled_rounds, mut retired) = (0, 0);
    for seed in 0..2000 {
        let (mut schedule, mut shown) = (Schedule::new(seed, offers), BTreeMap::new());
        for _ in 0..400 {
            schedule.step();
            if offers == Offers::Fresh {
                check_fresh(&schedule, &mut shown, seed);
            }
        }
        schedule.heal();
        schedule.check(seed);
        schedule.check_records(seed);
        let of = |member: &Member| member.retired().map_or(0, Statistics::samples);
        retired += schedule.members.iter().map(of).sum::<u64>();
        settled_rounds += schedule.rounds.iter().filter(|r| matches!(r.ending, Ending::Settled { .. })).count();
    }
    assert!(settled_rounds > 2000, "the schedules must settle rounds to show anything: {settled_rounds}");
    assert_eq!(retired > 2000, offers == Offers::Fresh, "{retired}");
}

#[test]
fn no_sample_is_lost_or_counted_twice_under_any_schedule() {
    check_schedules(Offers::All);
}

#[test]
fn every_sample_is_settled_in_flight_unshared_or_retired_and_none_is_shown_to_two_awarded_rounds() {
    check_schedules(Offers::Fresh);
}
