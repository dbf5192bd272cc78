//! What goes wrong, and when: all of it follows from a seed, and is set from outside between two steps of time.
//!
//! The network itself draws nothing: in which order messages are sent within one moment then does not matter.

use std::sync::Arc;
use std::time::Duration;

use truthfed::generate::Stream;
use turmoil::Sim;

use crate::application::Seat;
use crate::federation::{COORDINATOR, MEMBERS, name};

/// The stream of a seed that faults are drawn from; members have those below.
const STREAM: u64 = 1000;

pub(crate) struct Faults {
    numbers: Stream,
    /// Between two faults, on average.
    mean_ms: usize,
    next: Duration,
    /// Links that are broken, by member, and until when.
    links: [Option<(Break, Duration)>; MEMBERS],
    /// Hosts that are down, and until when: the members, then the coordinator.
    down: [Option<Duration>; MEMBERS + 1],
}

/// How the link between a member and the coordinator is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Break {
    /// What is under way is lost, and what is sent in the next moments.
    Loss,
    Cut,
    /// Nothing passes from the coordinator.
    Deaf,
    /// Nothing passes to the coordinator.
    Mute,
    /// What is sent waits, and comes all at once.
    Clog,
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Faults {
        let mut numbers = Stream::new(seed, STREAM);
        let mean_ms = numbers.between(500, 4000);
        Faults { numbers, mean_ms, next: Duration::ZERO, links: [None; MEMBERS], down: [None; MEMBERS + 1] }
    }

    /// How far away each member is.
    pub(crate) fn spread(&mut self, sim: &Sim<'static>) -> Vec<String> {
        (0..MEMBERS).map(|member| self.set_latency(member, sim)).collect()
    }

    /// Ends what is over by now, and begins what is due. What happened, in words.
    pub(crate) fn pass(&mut self, now: Duration, sim: &mut Sim<'static>, seats: &[Arc<Seat>]) -> Vec<String> {
        let mut events = Vec::new();
        for member in 0..MEMBERS {
            if self.links[member].is_some_and(|(_, until)| until <= now) {
                self.mend(member, sim);
                events.push(format!("link of {} mended", name(member)));
            }
        }
        for host in 0..=MEMBERS {
            if self.down[host].is_some_and(|until| until <= now) {
                self.start(host, sim);
                events.push(format!("{} started", host_name(host)));
            }
        }
        if self.next <= now {
            self.next = now + self.ms(1, 2 * self.mean_ms);
            events.push(self.strike(now, sim, seats));
        }
        events
    }

    fn strike(&mut self, now: Duration, sim: &mut Sim<'static>, seats: &[Arc<Seat>]) -> String {
        let member = self.numbers.between(0, MEMBERS - 1);
        match self.numbers.between(0, 9) {
            0..=2 => self.set_latency(member, sim),
            3..=6 => {
                let (kind, ms) = self.numbers.pick(&[
                    (Break::Loss, 20),
                    (Break::Cut, 5000),
                    (Break::Deaf, 5000),
                    (Break::Mute, 5000),
                    (Break::Clog, 3000),
                ]);
                let until = now + self.ms(1, ms);
                self.break_link(member, kind, until, sim)
            }
            7..=8 => self.crash(member, now, sim, seats),
            _ => self.crash(MEMBERS, now, sim, seats),
        }
    }

    /// Mostly near, at times far away.
    fn set_latency(&mut self, member: usize, sim: &Sim<'static>) -> String {
        let most = self.numbers.pick(&[10, 20, 40, 40, 200]);
        let latency = self.ms(1, most);
        sim.set_link_latency(name(member), COORDINATOR, latency);
        format!("link of {} takes {latency:?}", name(member))
    }

    fn break_link(&mut self, member: usize, kind: Break, until: Duration, sim: &Sim<'static>) -> String {
        if self.links[member].is_some() {
            return format!("link of {} stays broken", name(member));
        }
        self.links[member] = Some((kind, until));
        let name = name(member);
        match kind {
            Break::Loss | Break::Cut => sim.partition(&*name, COORDINATOR),
            Break::Deaf => sim.partition_oneway(COORDINATOR, &*name),
            Break::Mute => sim.partition_oneway(&*name, COORDINATOR),
            Break::Clog => sim.hold(&*name, COORDINATOR),
        }
        format!("link of {name}: {kind:?}")
    }

    fn mend(&mut self, member: usize, sim: &Sim<'static>) {
        match self.links[member].take() {
            Some((Break::Clog, _)) => sim.release(name(member), COORDINATOR),
            Some(_) => sim.repair(name(member), COORDINATOR),
            None => {}
        }
    }

    /// The others hear that a host is gone, or, by chance, nothing at all.
    fn crash(&mut self, host: usize, now: Duration, sim: &mut Sim<'static>, seats: &[Arc<Seat>]) -> String {
        if self.down[host].is_some() {
            return format!("{} stays down", host_name(host));
        }
        let until = now + self.ms(1, 3000);
        self.down[host] = Some(until);
        let is_silent = self.numbers.chance(0.5);
        let members = if host < MEMBERS { host..host + 1 } else { 0..MEMBERS };
        if is_silent {
            members.for_each(|member| drop(self.break_link(member, Break::Cut, until, sim)));
        }
        sim.crash(host_name(host));
        if let Some(seat) = seats.get(host) {
            seat.crashed();
        }
        format!("{} crashed{}", host_name(host), if is_silent { " silently" } else { "" })
    }

    fn start(&mut self, host: usize, sim: &mut Sim<'static>) {
        if self.down[host].take().is_some() {
            sim.bounce(host_name(host));
        }
    }

    pub(crate) fn heal(&mut self, sim: &mut Sim<'static>) {
        for member in 0..MEMBERS {
            self.mend(member, sim);
        }
        (0..=MEMBERS).for_each(|host| self.start(host, sim));
    }

    fn ms(&mut self, low: usize, high: usize) -> Duration {
        Duration::from_millis(self.numbers.between(low, high) as u64)
    }
}

fn host_name(host: usize) -> String {
    if host < MEMBERS { name(host) } else { COORDINATOR.to_owned() }
}
