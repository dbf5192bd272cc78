//! One thread, one virtual clock, one agenda: what happens next is the earliest thing on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use truthfed::generate::Stream;
use truthfed_node::agent::Membership;
use truthfed_node::digest::Digest;
use truthfed_node::signature::Signer;

use crate::chaos::Limits;
use crate::chaos::coordinator::Site;
use crate::chaos::invariants::Observer;
use crate::chaos::member::Node;
use crate::chaos::message::Parcel;
use crate::chaos::network::Network;
use crate::chaos::plan::Plan;
use crate::chaos::report::{Report, Verdict};
use crate::chaos::trace::Trace;
use crate::chaos::weather::Weather;

/// Time between two moments at which the weather may strike.
const STORM_MS: (usize, usize) = (20, 200);

#[derive(Debug, Clone)]
pub(crate) enum Event {
    Arrive(Parcel),
    /// A coordinator is started, unless one is at work.
    Start,
    /// A second coordinator is started though there is one.
    TakeOver,
    /// A coordinator has something to do.
    Work(u64),
    /// A coordinator that was held up goes on.
    Resume(u64),
    /// A coordinator's disk has room again.
    MakeRoom,
    Open(usize),
    /// A member looks what there is to do.
    Look(usize),
    /// A member gives up waiting for a reply.
    GiveUp(usize, u64),
    /// A member's application chooses or learns.
    Play(usize),
    /// A member's disk has room again.
    MakeRoomAt(usize),
    Unclog(usize),
    /// The weather may strike.
    Storm,
}

pub(crate) struct World<'a> {
    pub(crate) plan: Plan,
    pub(crate) dice: Stream,
    pub(crate) now: u64,
    agenda: BTreeMap<(u64, u64), Event>,
    sequence: u64,
    pub(crate) net: Network,
    pub(crate) site: Site,
    pub(crate) members: Vec<Node>,
    pub(crate) observer: Observer,
    pub(crate) trace: &'a mut Trace,
    pub(crate) report: Report,
    /// The faults have stopped.
    pub(crate) is_calm: bool,
}

impl<'a> World<'a> {
    /// As the plan has it, before anything happened.
    pub(crate) fn new(plan: Plan, trace: &'a mut Trace) -> World<'a> {
        let seed = plan.seed;
        let coordinator = Signer::from_seed(key(seed, 0));
        let federation = Digest::of(&seed.to_be_bytes());
        let membership = |number: usize| Membership {
            federation,
            member: format!("m{number}").parse().expect("a short name"),
            coordinator: coordinator.public(),
            agreement: plan.agreement.clone(),
            signer: Signer::from_seed(key(seed, 1 + number as u64)),
        };
        let members: Vec<Node> =
            (0..plan.roles.len()).map(|number| Node::new(&plan, number, membership(number))).collect();
        let observer = Observer::new(federation, coordinator.public(), &plan.agreement);
        World {
            dice: Stream::new(seed, 2),
            now: 0,
            agenda: BTreeMap::new(),
            sequence: 0,
            net: Network::new(members.len()),
            site: Site::new(seed, federation, coordinator),
            members,
            observer,
            trace,
            report: Report { seeds: 1, ..Report::default() },
            is_calm: false,
            plan,
        }
    }

    /// Runs to the end: faults, then none, then everything must be well.
    pub(crate) fn run(mut self, limits: Limits) -> Verdict<Report> {
        self.live(limits)?;
        (self.report.steps, self.report.virtual_ms) = (self.trace.steps, self.now);
        (self.report.settled, self.report.aborted) = (self.observer.settled, self.observer.aborted);
        Ok(self.report)
    }

    fn live(&mut self, limits: Limits) -> Verdict {
        let rounds = self.plan.rounds.min(limits.rounds);
        self.at(0, Event::Start);
        for member in 0..self.members.len() {
            self.at(1 + member as u64, Event::Open(member));
            self.at(20, Event::Play(member));
        }
        self.at(100, Event::Storm);
        while self.observer.rounds() < rounds && self.trace.steps < limits.steps {
            self.happen()?;
        }
        self.calm_down()?;
        self.converge()
    }

    /// The next thing on the agenda happens.
    pub(crate) fn happen(&mut self) -> Verdict {
        let ((time, _), event) = self.agenda.pop_first().expect("the weather is always on the agenda");
        self.now = time;
        self.trace.steps += 1;
        match event {
            Event::Arrive(Parcel::Request(request)) => self.arrive(&request),
            Event::Arrive(Parcel::Reply(reply)) => self.hear(reply),
            Event::Start => self.start_coordinator(false),
            Event::TakeOver => self.start_coordinator(true),
            Event::Work(number) => self.work(number),
            Event::Resume(number) => self.resume(number),
            Event::MakeRoom => {
                self.site.disk.set_capacity(None);
                self.site.is_short = false;
                Ok(())
            }
            Event::Open(member) => self.open_member(member),
            Event::Look(member) => self.look(member),
            Event::GiveUp(member, id) => self.give_up(member, id),
            Event::Play(member) => self.play(member),
            Event::MakeRoomAt(member) => {
                self.members[member].disk.set_capacity(None);
                self.members[member].is_short = false;
                Ok(())
            }
            Event::Unclog(member) => {
                self.unclog(member);
                Ok(())
            }
            Event::Storm => self.storm(),
        }
    }

    pub(crate) fn at(&mut self, delay: u64, event: Event) {
        self.sequence += 1;
        self.agenda.insert((self.now + delay, self.sequence), event);
    }

    /// The next moment of bad weather.
    pub(crate) fn next_storm(&mut self) {
        let delay = self.dice.between(STORM_MS.0, STORM_MS.1) as u64;
        self.at(delay, Event::Storm);
    }

    pub(crate) fn weather(&self) -> Weather {
        if self.is_calm { Weather::calm() } else { self.plan.weather }
    }

    pub(crate) fn count(&mut self, fault: &'static str) {
        debug_assert!(crate::chaos::FAULTS.contains(&fault), "{fault} is on the list");
        *self.report.faults.entry(fault).or_default() += 1;
    }

    /// A parcel that says something to the coordinator.
    pub(crate) fn request(&mut self, request: crate::chaos::message::Request) {
        let name = self.members[request.member].name();
        self.trace.say(self.now, format_args!("{name} sends {request}"));
        self.send(Parcel::Request(Arc::new(request)));
    }
}

/// The bytes a key is made of.
fn key(seed: u64, number: u64) -> [u8; 32] {
    Digest::of_parts([seed.to_be_bytes().as_slice(), &number.to_be_bytes()]).0
}
