//! One simulated run: a world, a federation, and what came of it.

use truthfed::auction::Mechanism;
use truthfed::protocol::{Ending, RoundRecord, Time};
use truthfed::statistics::Statistics;
use truthfed::{Amount, Stop, Stopped};

use crate::config::{Behaviour, Config, STEP_MS};
use crate::federation::{Federation, client_id, client_number, paid};
use crate::identities::{Enrolment, Identities, IdentityCost};
use crate::role::Role;
use crate::totals::Totals;
use crate::world::{Cost, PaperCost, Played, Purpose, Source, World, WorldError, arrivals, stream};

/// Points kept of each curve: a figure draws at most 300, and 250 divide the usual 6250 steps evenly.
const POINTS: u64 = 250;

#[derive(Debug, Clone)]
pub struct Run {
    pub seed: u64,
    /// Totals at about 250 moments, the first at the start and the last at the end.
    pub curve: Vec<Totals>,
    pub clients: Vec<ClientTotals>,
    /// Every round that ended, with the step at which it did.
    pub rounds: Vec<(u64, RoundRecord)>,
    /// The true cost of every offer of each of these rounds, in the order of its offers; none where it was not settled.
    pub true_costs: Vec<Vec<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ClientTotals {
    pub regret: f64,
    pub incentive: f64,
    pub cost: f64,
    /// Rounds it took part in; twice in a round if it did so under two identities.
    pub participations: u64,
}

impl ClientTotals {
    /// What it gained: payments less costs.
    pub fn utility(&self) -> f64 {
        self.incentive - self.cost
    }
}

impl Run {
    pub fn totals(&self) -> Totals {
        self.curve.last().copied().unwrap_or_default()
    }
}

/// A configuration with a seed, ready to run.
pub struct Simulation<'c> {
    config: &'c Config,
    seed: u64,
    roles: Vec<Role>,
    enrolment: Enrolment,
    mechanism: Box<dyn Mechanism>,
    cost: Box<dyn Cost + 'c>,
    world: Box<dyn World>,
}

impl<'c> Simulation<'c> {
    /// The simulation of a configuration under a seed. Fails when a file of arms or ratings cannot be used.
    pub fn new(config: &'c Config, seed: u64) -> Result<Simulation<'c>, WorldError> {
        Ok(Simulation::from_source(config, &Source::read(config)?, seed))
    }

    /// The simulation of a configuration under a seed, its files read beforehand: once for many seeds.
    pub fn from_source(config: &'c Config, source: &Source, seed: u64) -> Simulation<'c> {
        Simulation {
            config,
            seed,
            roles: roles(config, behaviours(config, seed)),
            enrolment: Enrolment::Each,
            mechanism: config.mechanism(),
            cost: own_cost(config, seed),
            world: source.world(config, seed),
        }
    }

    #[must_use]
    pub fn with_mechanism(mut self, mechanism: impl Mechanism + 'static) -> Simulation<'c> {
        self.mechanism = Box::new(mechanism);
        self
    }

    #[must_use]
    pub fn with_cost(mut self, cost: impl Cost + 'c) -> Simulation<'c> {
        self.cost = Box::new(cost);
        self
    }

    #[must_use]
    pub fn with_world(mut self, world: impl World + 'static) -> Simulation<'c> {
        self.world = Box::new(world);
        self
    }

    /// With what each client does said one by one.
    ///
    /// # Panics
    /// When there is not one behaviour for each client.
    #[must_use]
    pub fn with_behaviours(mut self, behaviours: Vec<Behaviour>) -> Simulation<'c> {
        assert_eq!(behaviours.len(), self.config.raw().world.clients, "one behaviour for each client");
        self.roles = roles(self.config, behaviours);
        self
    }

    /// With what one client does.
    ///
    /// # Panics
    /// When there is no such client.
    #[must_use]
    pub fn with_role(mut self, client: usize, role: Role) -> Simulation<'c> {
        self.roles[client] = role;
        self
    }

    /// With one client that enrols twice: there is one member more than there are clients, and what the client observes
    /// goes to its two members in turn. Each prices its half as the client would. Its base cost (what it would pay for
    /// delivering nothing) is shared evenly by the two; the rest is the cost of each half. The terms stay those of the
    /// configuration, and payments and costs of both count as the client's.
    ///
    /// # Panics
    /// When there is no such client.
    #[must_use]
    pub fn with_split(mut self, client: usize) -> Simulation<'c> {
        assert!(client < self.roles.len(), "only a client can enrol twice");
        self.enrolment = Enrolment::Split(client);
        self
    }

    /// With one client and the next that enrol as one: what both observe goes to the first, and both pay their base cost for
    /// each sale. What they earn counts as that of the first.
    ///
    /// # Panics
    /// When there is no such client, or no other.
    #[must_use]
    pub fn with_merged(mut self, client: usize) -> Simulation<'c> {
        assert!(client < self.roles.len() && self.roles.len() > 1, "two clients can enrol as one");
        self.enrolment = Enrolment::Merged(client);
        self
    }

    pub fn run(self) -> Run {
        self.run_watched(|_| {})
    }

    /// Runs it to the end, and shows the federation after every step that ended a round.
    pub fn run_watched(self, watch: impl FnMut(&mut Federation<'_>)) -> Run {
        self.steps(&Stop::never(), watch).expect("nobody stops it")
    }

    /// Runs it to the end, unless it is stopped: then after the current step.
    pub fn run_until(self, stop: &Stop) -> Result<Run, Stopped> {
        self.steps(stop, |_| {})
    }

    fn steps(mut self, stop: &Stop, mut watch: impl FnMut(&mut Federation<'_>)) -> Result<Run, Stopped> {
        let world = &self.config.raw().world;
        let mut identities = Identities::new(world.clients, self.enrolment);
        let nothing = Statistics::new(world.dimension).expect("a checked configuration has a valid dimension");
        let cost = IdentityCost { cost: self.cost.as_ref(), identities, nothing };
        let roles: Vec<Role> = (0..identities.members()).map(|member| self.roles[identities.owner(member)]).collect();
        let terms = identities.terms(self.config.terms(), |member| client_id(member, roles.len()));
        let mut federation = Federation::under(&terms, self.config, self.mechanism, (&cost, &roles), self.seed);
        watch(&mut federation);
        let mut ledger = Ledger::new(identities, world.clients, world.dimension, self.seed);
        let arrivals = arrivals(self.config.arrivals, world.clients, stream(self.seed, Purpose::Arrivals, 0));
        let every = (world.steps / POINTS).max(1);
        let mut shown = Vec::new();
        ledger.mark();
        for (step, client) in (1..=world.steps).zip(arrivals) {
            stop.check()?;
            let now = Time(step * STEP_MS);
            let member = identities.next(client);
            federation.catch_up(member);
            let mut ended = federation.exchange(now);
            let played = act(self.world.as_mut(), &mut federation, (client, member), &mut shown);
            ledger.played(client, step, played);
            ended.extend(federation.exchange(now));
            let any_ended = !ended.is_empty();
            ended.into_iter().for_each(|record| ledger.ended(&federation, record));
            if any_ended {
                watch(&mut federation);
            }
            if step % every == 0 || step == world.steps {
                ledger.mark();
            }
        }
        Ok(ledger.run)
    }
}

/// One step of a client, as one of its members: see, choose, learn. `shown` is scratch space.
fn act(
    world: &mut dyn World,
    federation: &mut Federation<'_>,
    (client, member): (usize, usize),
    shown: &mut Vec<usize>,
) -> Played {
    shown.clear();
    shown.extend_from_slice(world.present(client));
    let member = federation.member(member);
    let contexts = shown.iter().map(|&arm| world.arm(arm));
    let chosen = shown[member.choose_among(contexts).expect("a world shows valid arms")];
    let played = world.play(client, chosen);
    member.learn(world.arm(chosen), played.reward).expect("a world gives valid rewards");
    played
}

/// What data costs a client: by the caller's function, or as in the paper.
pub(crate) fn own_cost(config: &Config, seed: u64) -> Box<dyn Cost> {
    let raw = config.raw();
    let papers = || Box::new(PaperCost::new(&raw.costs, raw.world.clients, seed));
    config.parts().cost(config, seed).unwrap_or_else(|| papers())
}

fn roles(config: &Config, behaviours: Vec<Behaviour>) -> Vec<Role> {
    let factor = config.raw().behaviour.factor;
    behaviours.into_iter().map(|behaviour| Role::of(behaviour, factor)).collect()
}

/// What each client does, drawn by the seed.
pub fn behaviours(config: &Config, seed: u64) -> Vec<Behaviour> {
    let raw = config.raw();
    let clients = raw.world.clients;
    let liars = (raw.behaviour.share * clients as f64).round() as usize;
    let mut order: Vec<usize> = (0..clients).collect();
    let mut drawn = stream(seed, Purpose::Behaviour, 0);
    let mut behaviours = vec![Behaviour::Truthful; clients];
    for i in 0..liars {
        let j = drawn.between(i, clients - 1);
        order.swap(i, j);
        behaviours[order[i]] = raw.behaviour.kind;
    }
    behaviours
}

struct Ledger {
    run: Run,
    totals: Totals,
    identities: Identities,
    dimension: u64,
}

impl Ledger {
    fn new(identities: Identities, clients: usize, dimension: usize, seed: u64) -> Ledger {
        let clients = vec![ClientTotals::default(); clients];
        let run = Run { seed, curve: Vec::new(), clients, rounds: Vec::new(), true_costs: Vec::new() };
        Ledger { run, totals: Totals::default(), identities, dimension: dimension as u64 }
    }

    fn played(&mut self, client: usize, step: u64, played: Played) {
        self.totals.steps = step;
        self.totals.regret += played.regret;
        self.totals.reward += played.reward;
        self.totals.blind_reward += played.blind;
        self.run.clients[client].regret += played.regret;
    }

    fn ended(&mut self, federation: &Federation<'_>, record: RoundRecord) {
        for (client, payment) in paid(&record) {
            let totals = &mut self.run.clients[self.identities.owner(client_number(client))];
            totals.incentive += payment.to_f64();
            self.totals.incentive += payment.to_f64();
        }
        let (outcome, delivered, offers) = match &record.ending {
            Ending::Settled { outcome, paid, waiting, spec, .. } => {
                (Some(outcome), paid.iter().chain(waiting).collect(), spec.offers.as_slice())
            }
            _ => (None, Vec::new(), [].as_slice()),
        };
        let true_costs = offers.iter().map(|offer| federation.true_cost(client_number(&offer.client))).collect();
        self.run.true_costs.push(true_costs);
        for (client, _) in delivered {
            let member = client_number(client);
            let cost = federation.true_cost(member);
            let totals = &mut self.run.clients[self.identities.owner(member)];
            totals.cost += cost;
            totals.participations += 1;
            self.totals.social_cost += cost;
            self.totals.participations += 1;
            let winner = outcome.and_then(|outcome| outcome.winner(client));
            let is_paid = winner.is_some_and(|winner| winner.essential && winner.payment > Amount::ZERO);
            self.totals.essential += u64::from(is_paid);
        }
        self.totals.rounds += 1;
        self.count_scalars(outcome.map_or(0, |outcome| outcome.winners().len() as u64));
        self.run.rounds.push((self.totals.steps, record));
    }

    /// N matrices and |S| moments up, N matrices and moments down.
    fn count_scalars(&mut self, winners: u64) {
        let (members, d) = (self.identities.members() as u64, self.dimension);
        let triangle = d * (d + 1) / 2;
        self.totals.scalars += members * d * d + winners * d + members * (d * d + d);
        self.totals.packed_scalars += members * triangle + winners * d + members * (triangle + d);
    }

    fn mark(&mut self) {
        self.run.curve.push(self.totals);
    }
}
