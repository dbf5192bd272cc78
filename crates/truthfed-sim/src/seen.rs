//! A simulated world as one of its clients sees it, for drivers of members other than the simulator.
//!
//! A client sees what it would see in a [`Simulation`](crate::simulation::Simulation) of the same seed, to the last bit: the same
//! arms at the same steps, and the same reward for the same choice. What others choose changes neither.

use truthfed::protocol::Time;
use truthfed::statistics::Statistics;

use crate::config::{Config, STEP_MS};
use crate::simulation::own_cost;
use crate::world::{Purpose, Source, World, WorldError, arrivals, stream};

/// What one client sees, step by step.
pub struct Seen {
    config: Config,
    seed: u64,
    client: usize,
    world: Box<dyn World>,
    arrivals: Box<dyn Iterator<Item = usize> + Send>,
    step: u64,
    shown: Vec<usize>,
}

impl Seen {
    /// What a client sees under a seed. Fails when a file of arms or ratings cannot be used.
    ///
    /// # Panics
    /// When there is no such client.
    pub fn new(config: Config, seed: u64, client: usize) -> Result<Seen, WorldError> {
        let clients = config.raw().world.clients;
        assert!(client < clients, "only a client sees something");
        let world = Source::read(&config)?.world(&config, seed);
        let arrivals = arrivals(config.arrivals, clients, stream(seed, Purpose::Arrivals, 0));
        Ok(Seen { config, seed, client, world, arrivals, step: 0, shown: Vec::new() })
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Goes on to the client's next step, and says when that is; none after the last step of the simulation. An arm that it was
    /// shown and did not play is left.
    pub fn advance(&mut self) -> Option<Time> {
        self.leave();
        while self.step < self.config.raw().world.steps {
            let client = self.arrivals.next()?;
            self.step += 1;
            self.shown = self.world.present(client).to_vec();
            if client == self.client {
                return Some(Time(self.step * STEP_MS));
            }
            self.pass(client);
        }
        None
    }

    /// The arms it can choose from now; none if it has chosen.
    pub fn arms(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.shown.iter().map(|&arm| self.world.arm(arm))
    }

    /// Plays one of the arms, and returns its reward; none if there is no such arm.
    pub fn play(&mut self, choice: usize) -> Option<f64> {
        let arm = *self.shown.get(choice)?;
        self.shown.clear();
        Some(self.world.play(self.client, arm).reward)
    }

    /// What delivering some statistics costs the client, in units.
    pub fn cost(&self, unshared: &Statistics) -> f64 {
        own_cost(&self.config, self.seed).of(self.client, unshared)
    }

    fn leave(&mut self) {
        if !self.shown.is_empty() {
            self.pass(self.client);
        }
    }

    /// A world draws as much for one choice as for another.
    fn pass(&mut self, client: usize) {
        if let Some(&arm) = self.shown.first() {
            self.world.play(client, arm);
        }
        self.shown.clear();
    }
}

#[cfg(test)]
mod tests {
    use truthfed::protocol::{Asking, Coordinator, Ending, Input, Member, Output, RoundRecord};
    use truthfed::{Amount, auction::ClientId};

    use super::*;
    use crate::federation::client_id;
    use crate::simulation::Simulation;

    struct Truthful<'a>(&'a Seen);

    impl Asking for Truthful<'_> {
        fn ask(&mut self, unshared: &Statistics) -> Option<Amount> {
            Some(Amount::nearest(self.0.cost(unshared)))
        }
    }

    /// Plays everyone in the order of time, each with its own view of the world.
    fn rounds(config: &Config, seed: u64) -> Vec<RoundRecord> {
        let clients = config.raw().world.clients;
        let mut coordinator =
            Coordinator::new(config.terms().clone(), config.mechanism(), (0..clients).map(|c| client_id(c, clients)));
        let ids: Vec<ClientId> = (0..clients).map(|client| client_id(client, clients)).collect();
        let mut seats: Vec<(Seen, Member, Option<Time>)> = (0..clients)
            .map(|client| {
                let mut seen = Seen::new(config.clone(), seed, client).unwrap();
                let at = seen.advance();
                (seen, Member::under(config.terms(), ids[client].clone()), at)
            })
            .collect();
        let mut ended = Vec::new();
        while let Some(now) = seats.iter().filter_map(|(_, _, at)| *at).min() {
            for (seen, member, at) in seats.iter_mut().filter(|(_, _, at)| *at == Some(now)) {
                let arms: Vec<Vec<f64>> = seen.arms().map(<[f64]>::to_vec).collect();
                let choice = member.choose(&arms).unwrap();
                member.learn(&arms[choice], seen.play(choice).unwrap()).unwrap();
                member.open_round(None, &mut Truthful(seen));
                *at = seen.advance();
            }
            loop {
                let mut said = false;
                for (_, member, _) in &mut seats {
                    while let Some(request) = member.poll() {
                        said = true;
                        let _ = coordinator.handle(now, Input::Request(member.id().clone(), request));
                    }
                }
                while let Some(output) = coordinator.poll() {
                    said = true;
                    for (seen, member, _) in &mut seats {
                        for notice in coordinator.notices(member.id(), Some(member.closed())) {
                            member.handle(notice, &mut Truthful(seen)).unwrap();
                        }
                    }
                    if let Output::Ended(record) = output {
                        ended.push(*record);
                    }
                }
                if !said {
                    break;
                }
            }
        }
        ended
    }

    #[test]
    fn members_that_see_the_world_by_themselves_have_the_rounds_of_the_simulator() {
        let changes = ["world.clients=4", "world.dimension=3", "world.steps=400", "world.arrivals=poisson"];
        let config = Config::read("", &changes.map(str::to_owned)).unwrap();
        let run = Simulation::new(&config, 3).unwrap().run();
        let text = |record: &RoundRecord| serde_json::to_string(record).unwrap();
        let simulated: Vec<String> = run.rounds.iter().map(|(_, record)| text(record)).collect();
        let seen = rounds(&config, 3);
        assert!(seen.len() > 2 && seen.iter().all(|record| matches!(record.ending, Ending::Settled { .. })));
        assert_eq!(seen.iter().map(text).collect::<Vec<_>>(), simulated);
    }

    #[test]
    fn what_is_shown_can_be_played_once_or_left() {
        let config = Config::read("", &["world.clients=2", "world.steps=9"].map(str::to_owned)).unwrap();
        let view = || Seen::new(config.clone(), 1, 1).unwrap();
        let (mut played, mut left) = (view(), view());
        assert_eq!((played.play(0), played.arms().len()), (None, 0));
        assert_eq!((played.advance(), left.advance()), (Some(Time(2000)), Some(Time(2000))));
        assert!(played.play(25).is_none() && played.play(24).is_some() && played.play(0).is_none());
        assert_eq!((played.advance(), left.advance()), (Some(Time(4000)), Some(Time(4000))));
        assert_eq!(played.arms().collect::<Vec<_>>(), left.arms().collect::<Vec<_>>());
        assert_eq!(played.play(3), left.play(3));
        assert_eq!((0..3).map(|_| played.advance()).collect::<Vec<_>>(), [Some(Time(6000)), Some(Time(8000)), None]);
    }
}
