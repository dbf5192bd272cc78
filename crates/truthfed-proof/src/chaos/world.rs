//! One thread, one virtual clock, one agenda: what happens next is the earliest thing on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use truthfed::auction::ClientId;
use truthfed::generate::Stream;
use truthfed_node::digest::Digest;
use truthfed_node::signature::Signer;
use truthfed_node::testing::{Federation, id};

use crate::chaos::{Invented, Network, Node, Observer, Parcel, Plan, Report, Request, Site, Trace, Verdict, Weather};

/// After so many steps the faults stop, however few rounds there were.
const MAX_STEPS: u64 = 20_000;

#[derive(Debug, Clone)]
pub(crate) enum Event {
    Arrive(Parcel),
    /// A coordinator is started, unless one is at work that is not held up.
    Start,
    Work(u64),
    Resume(u64),
    /// The disk of a member, or else the coordinator's, has room again.
    MakeRoom(Option<usize>),
    Open(usize),
    /// A member looks what there is to do.
    Look(usize),
    GiveUp(usize, u64),
    Play(usize),
    Unclog(usize),
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
    pub(crate) is_calm: bool,
}

impl<'a> World<'a> {
    pub(crate) fn new(plan: Plan, trace: &'a mut Trace) -> World<'a> {
        let seed = plan.seed;
        let names: Vec<ClientId> = (0..plan.roles.len()).map(|number| id(&format!("m{number}"))).collect();
        let federation = Federation {
            id: Digest::of(&seed.to_be_bytes()),
            agreement: plan.agreement.clone(),
            coordinator: signer(seed, 0),
            members: names.iter().cloned().zip((1..).map(|number| signer(seed, number))).collect(),
        };
        let node = |(number, name)| Node::new(&plan, number, federation.membership(name));
        let members: Vec<Node> = names.iter().enumerate().map(node).collect();
        let mut observer = Observer::new(federation.id, federation.coordinator.public(), &plan.agreement);
        let inventors = names.iter().zip(&plan.roles).filter_map(|(name, role)| Some((name, role.invents_after()?)));
        observer.invented = inventors.map(|(name, after)| (name.clone(), Invented { after, payments: 0 })).collect();
        World {
            dice: Stream::new(seed, 2),
            now: 0,
            agenda: BTreeMap::new(),
            sequence: 0,
            net: Network::new(members.len()),
            site: Site::new(seed, federation),
            members,
            observer,
            trace,
            report: Report { seeds: 1, ..Report::default() },
            is_calm: false,
            plan,
        }
    }

    /// Runs to the end: faults, then none, then everything must be well.
    pub(crate) fn run(mut self) -> Verdict<Report> {
        self.live()?;
        (self.report.steps, self.report.virtual_ms) = (self.trace.steps, self.now);
        (self.report.settled, self.report.aborted) = (self.observer.settled, self.observer.aborted);
        Ok(self.report)
    }

    fn live(&mut self) -> Verdict {
        self.at(0, Event::Start);
        for member in 0..self.members.len() {
            self.at(1 + member as u64, Event::Open(member));
            self.at(20, Event::Play(member));
        }
        self.at(100, Event::Storm);
        let is_full = |it: &Observer| it.room() < it.agreement.capacity() / 10 || it.is_spent();
        while self.observer.rounds() < self.plan.rounds && self.trace.steps < MAX_STEPS && !is_full(&self.observer) {
            self.happen()?;
        }
        self.calm_down();
        self.converge()?;
        self.hold_round()
    }

    /// The next thing on the agenda happens.
    pub(crate) fn happen(&mut self) -> Verdict {
        let ((time, _), event) = self.agenda.pop_first().expect("the weather is always on the agenda");
        self.now = time;
        self.trace.steps += 1;
        match event {
            Event::Arrive(Parcel::Request(request)) => self.arrive(&request)?,
            Event::Arrive(Parcel::Reply(reply)) => self.hear(reply)?,
            Event::Start => self.start_coordinator()?,
            Event::Work(number) => self.work(number)?,
            Event::Resume(number) => self.resume(number)?,
            Event::Open(member) => self.open_member(member)?,
            Event::Look(member) => self.look(member)?,
            Event::GiveUp(member, id) => self.give_up(member, id)?,
            Event::Play(member) => self.play(member)?,
            Event::MakeRoom(whose) => self.make_room(whose),
            Event::Unclog(member) => self.unclog(member),
            Event::Storm => self.storm(),
        }
        Ok(())
    }

    pub(crate) fn at(&mut self, delay: u64, event: Event) {
        self.sequence += 1;
        self.agenda.insert((self.now + delay, self.sequence), event);
    }

    /// Something happens after so many milliseconds, at least and at most.
    pub(crate) fn within(&mut self, least: usize, most: usize, event: Event) {
        let delay = self.dice.between(least, most) as u64;
        self.at(delay, event);
    }

    pub(crate) fn weather(&self) -> Weather {
        if self.is_calm { Weather::default() } else { self.plan.weather }
    }

    pub(crate) fn count(&mut self, fault: &'static str) {
        debug_assert!(crate::chaos::FAULTS.contains(&fault), "{fault} is on the list");
        *self.report.faults.entry(fault).or_default() += 1;
    }

    /// A parcel that says something to the coordinator.
    pub(crate) fn request(&mut self, request: Request) {
        let name = self.members[request.member].name();
        self.trace.say(self.now, format_args!("{name} sends {request}"));
        self.send(Parcel::Request(Arc::new(request)));
    }
}

fn signer(seed: u64, number: u64) -> Signer {
    Signer::from_seed(Digest::of_parts([seed.to_be_bytes().as_slice(), &number.to_be_bytes()]).0)
}
