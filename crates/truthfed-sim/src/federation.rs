//! Coordinator and members, joined by a network that carries messages at once or not at all.
//!
//! The coordinator is reached through messages only: every input it gets is a [`Request`] that a member sent, or
//! the passing of time. [`Federation::inputs`] can keep them, so that a run can be replayed and compared.

use truthfed::Amount;
use truthfed::auction::{ClientId, Mechanism};
use truthfed::generate::Stream;
use truthfed::protocol::{
    Asking, Coordinator, Ending, Input, Member, Notice, Output, Request, RoundRecord, Terms, Time,
};
use truthfed::statistics::Statistics;

use crate::config::Config;
use crate::forgery::{Forger, Public};
use crate::role::{Pricing, Role, Share};
use crate::world::{Cost, Purpose, stream};

pub struct Federation<'c> {
    terms: Terms,
    coordinator: Coordinator,
    members: Vec<Seat<'c>>,
    offline: f64,
    dropout: f64,
    inputs: Option<Vec<(Time, Input)>>,
    ended: Vec<RoundRecord>,
    /// Members that may have something to say: those that acted or heard something, and those that go on wishing for a round.
    awake: Vec<usize>,
}

/// One member, with what it is like.
struct Seat<'c> {
    member: Member,
    asker: Asker<'c>,
    forger: Option<Forger>,
    share: Share,
    opens: bool,
    /// Rounds that it heard of.
    rounds: u64,
    faults: Stream,
    /// Away from the current round.
    away: bool,
    /// Missed a round, and has to sync.
    missed: bool,
}

impl Seat<'_> {
    /// Takes in a notice, unless it is away; whether it is turns out when a round opens.
    fn hear(&mut self, mut notice: Notice, offline: f64) {
        if let Notice::Opened(_, most) = &mut notice {
            self.away = offline > 0.0 && self.faults.chance(offline);
            self.rounds += 1;
            *most = self.most(*most, self.rounds);
        }
        if self.away {
            self.missed = true;
            return;
        }
        self.member.handle(notice, &mut self.asker).expect("settled statistics are sums of checked offers");
    }
}

impl Seat<'_> {
    /// Most samples that it offers in its `nth` round, if it may offer so many.
    fn most(&self, most: Option<u64>, nth: u64) -> Option<u64> {
        let own = self.share.most(self.member.unshared().samples(), nth);
        most.into_iter().chain(own).min()
    }
}

/// Sets the price of a member.
struct Asker<'c> {
    number: usize,
    cost: &'c dyn Cost,
    pricing: Pricing,
    reserve: Amount,
    /// How often it was asked.
    rounds: u64,
    /// Its true cost in the current round.
    true_cost: f64,
}

impl Asking for Asker<'_> {
    fn ask(&mut self, unshared: &Statistics) -> Option<Amount> {
        self.rounds += 1;
        self.true_cost = self.cost.of(self.number, unshared);
        Some(self.pricing.ask(self.true_cost, self.rounds, self.reserve, (unshared.samples(), unshared.dimension())))
    }
}

impl<'c> Federation<'c> {
    /// The federation of a configuration, with a member for each role. The cost is that of a member's data, by the
    /// number of the member.
    pub fn new(config: &Config, cost: &'c dyn Cost, roles: &[Role], seed: u64) -> Federation<'c> {
        Federation::under(config.terms(), config, config.mechanism(), (cost, roles), seed)
    }

    /// The same under other terms, with any mechanism.
    pub(crate) fn under(
        terms: &Terms,
        config: &Config,
        mechanism: Box<dyn Mechanism>,
        (cost, roles): (&'c dyn Cost, &[Role]),
        seed: u64,
    ) -> Federation<'c> {
        let faults = &config.raw().faults;
        let reserve = terms.raw().reserve;
        let id = |number: usize| client_id(number, roles.len());
        let member = |number, role: &Role| {
            let member = Member::under(terms, id(number));
            if role.share == Share::All { member } else { member.in_parts(terms.least_samples()) }
        };
        let seat = |(number, role): (usize, &Role)| Seat {
            member: member(number, role),
            asker: Asker { number, cost, pricing: role.pricing, reserve, rounds: 0, true_cost: 0.0 },
            forger: role
                .forgery
                .map(|forgery| Forger::new(forgery, stream(seed, Purpose::Forgery, number), terms.dimension())),
            share: role.share,
            opens: role.opens && config.communicates(),
            rounds: 0,
            faults: stream(seed, Purpose::Faults, number),
            away: false,
            missed: false,
        };
        Federation {
            terms: terms.clone(),
            coordinator: Coordinator::new(terms.clone(), mechanism, (0..roles.len()).map(id)),
            members: roles.iter().enumerate().map(seat).collect(),
            offline: faults.offline,
            dropout: faults.dropout,
            inputs: None,
            ended: Vec::new(),
            awake: Vec::new(),
        }
    }

    /// Keeps every input of the coordinator from now on.
    pub fn keep_inputs(&mut self) {
        self.inputs = Some(Vec::new());
    }

    /// What the coordinator was told so far, if it is kept.
    pub fn inputs(&self) -> &[(Time, Input)] {
        self.inputs.as_deref().unwrap_or_default()
    }

    /// What was delivered so far.
    pub fn settled(&self) -> &Statistics {
        self.coordinator.settled()
    }

    pub fn members(&self) -> usize {
        self.members.len()
    }

    pub fn member(&mut self, number: usize) -> &mut Member {
        self.awake.push(number);
        &mut self.members[number].member
    }

    /// What the member's data of the current round really cost it.
    pub fn true_cost(&self, number: usize) -> f64 {
        self.members[number].asker.true_cost
    }

    /// Lets a member that missed a round come back and ask what happened, when messages are next carried.
    pub fn catch_up(&mut self, number: usize) {
        let seat = &mut self.members[number];
        if std::mem::take(&mut seat.missed) {
            seat.away = false;
            seat.member.sync();
            self.awake.push(number);
        }
    }

    /// Carries messages until nobody has anything to say; rounds that wait for someone run into their deadline.
    /// Returns the rounds that ended.
    pub fn exchange(&mut self, now: Time) -> Vec<RoundRecord> {
        let mut now = now;
        self.awake.sort_unstable();
        self.awake.dedup();
        for &number in &self.awake {
            let seat = &mut self.members[number];
            if !seat.opens || !seat.member.wants_round() {
                continue;
            }
            let most = self.coordinator.most_samples(seat.member.id(), now);
            let closed = seat.member.closed();
            seat.member.open_round(seat.most(most, seat.rounds + 1), &mut seat.asker);
            // Whoever opens a round hears of it by its own offer only.
            let opened = seat.member.in_flight().is_some_and(|in_flight| in_flight.round() > closed);
            seat.rounds += u64::from(opened);
        }
        loop {
            let sent = self.carry_up(now);
            let answered = self.carry_down();
            if sent || answered {
                continue;
            }
            let Some(open) = self.coordinator.open() else { break };
            now = now.max(open.deadline());
            self.tell(now, Input::Tick);
        }
        let Federation { awake, members, .. } = self;
        awake.retain(|&number| members[number].member.wants_round());
        std::mem::take(&mut self.ended)
    }

    fn carry_up(&mut self, now: Time) -> bool {
        let mut sent = false;
        let mut awake = std::mem::take(&mut self.awake);
        awake.sort_unstable();
        awake.dedup();
        for &number in &awake {
            while let Some(request) = self.members[number].member.poll() {
                sent = true;
                if let Some(request) = self.on_the_way(number, request) {
                    let from = self.members[number].member.id().clone();
                    self.tell(now, Input::Request(from, request));
                }
            }
        }
        self.awake = awake;
        sent
    }

    /// What becomes of a message: winners may vanish, liars send another.
    fn on_the_way(&mut self, number: usize, request: Request) -> Option<Request> {
        let seat = &mut self.members[number];
        if matches!(request, Request::Deliver(..)) && self.dropout > 0.0 && seat.faults.chance(self.dropout) {
            return None;
        }
        let Some(forger) = &mut seat.forger else { return Some(request) };
        let (config, samples) = (self.terms.bandit(), self.terms.raw().samples);
        Some(forger.forge(request, &Public { config, settled: self.coordinator.settled(), samples }))
    }

    fn tell(&mut self, now: Time, input: Input) {
        if let Some(inputs) = &mut self.inputs {
            inputs.push((now, input.clone()));
        }
        // A refusal is an answer too: late or repeated messages are part of the game.
        let _ = self.coordinator.handle(now, input);
    }

    fn carry_down(&mut self) -> bool {
        let mut answered = false;
        while let Some(output) = self.coordinator.poll() {
            answered = true;
            let Federation { coordinator, members, offline, awake, .. } = self;
            for (number, seat) in members.iter_mut().enumerate().filter(|(_, seat)| output.concerns(seat.member.id())) {
                awake.push(number);
                for notice in coordinator.notices(seat.member.id(), Some(seat.member.closed())) {
                    seat.hear(notice, *offline);
                }
            }
            if let Output::Ended(record) = output {
                self.ended.push(*record);
            }
        }
        answered
    }
}

/// The name of a member, so that names sort like numbers.
pub fn client_id(number: usize, members: usize) -> ClientId {
    let digits = members.saturating_sub(1).to_string().len();
    format!("c{number:0digits$}").parse().expect("a short name")
}

/// The number in the name of a member.
pub fn client_number(id: &ClientId) -> usize {
    id.as_str()[1..].parse().expect("a name made by client_id")
}

/// Clients that were paid when a round ended, with their payments; none when it was not settled.
pub fn paid(record: &RoundRecord) -> Vec<(&ClientId, Amount)> {
    match &record.ending {
        Ending::Settled { paid, judgement, .. } => {
            let earlier = judgement.paid.iter().map(|payment| (&payment.member, payment.amount));
            paid.iter().map(|(client, payment)| (client, *payment)).chain(earlier).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::behaviours;

    /// The rounds of a federation that steps in turn, as JSON. If `asks_all`, everyone is asked whether there is something to say.
    fn rounds(changes: &[&str], seed: u64, asks_all: bool) -> Vec<String> {
        let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
        let config = Config::read("", &changes).unwrap();
        let cost = |member: usize, data: &Statistics| 5.0 + (7 * member % 11) as f64 + 0.1 * data.samples() as f64;
        let factor = config.raw().behaviour.factor;
        let roles: Vec<Role> = behaviours(&config, seed).into_iter().map(|kind| Role::of(kind, factor)).collect();
        let mut federation = Federation::new(&config, &cost, &roles, seed);
        let mut stream = Stream::new(seed, 77);
        let mut ended = Vec::new();
        for step in 1..=800_u64 {
            let member = stream.between(0, roles.len() - 1);
            federation.catch_up(member);
            let mut carry = |federation: &mut Federation<'_>| {
                if asks_all {
                    federation.awake.extend(0..roles.len());
                }
                ended.extend(federation.exchange(Time(1000 * step)));
            };
            carry(&mut federation);
            let arms: Vec<Vec<f64>> = (0..4).map(|_| stream.context(config.raw().world.dimension)).collect();
            let chosen = federation.member(member).choose(&arms).unwrap();
            federation.member(member).learn(&arms[chosen], arms[chosen][0] + 0.1 * stream.normal()).unwrap();
            carry(&mut federation);
        }
        ended.iter().map(|record| serde_json::to_string(record).unwrap()).collect()
    }

    #[test]
    fn asking_only_who_may_have_something_to_say_changes_no_round() {
        let settings: [&[&str]; 7] = [
            &[],
            &["world.clients=13", "rounds.threshold=20"],
            &["faults.offline=0.3", "faults.dropout=0.2"],
            &["rounds.quota=1.5", "rounds.threshold=15"],
            &["rounds.least_samples=12", "rounds.threshold=15"],
            &["rounds.trigger=since-delivery", "rounds.mechanism=greedy", "world.clients=7"],
            &[
                "behaviour.kind=over",
                "behaviour.factor=2",
                "behaviour.share=0.4",
                "rounds.mechanism=ratchet",
                "faults.offline=0.1",
            ],
        ];
        for changes in settings {
            let mut found = 0;
            for seed in 1..=5 {
                let few = rounds(changes, seed, false);
                assert_eq!(few, rounds(changes, seed, true), "{changes:?}, seed {seed}");
                found += few.len();
            }
            assert!(found > 5, "{changes:?}: {found} rounds");
        }
    }
}
