//! A member's application: it lets the agent choose, and tells it the rewards, until each is acknowledged.

use truthfed_node::agent::{Agent, ChooseError, DecisionId, LearnError};

use crate::chaos::{Event, Invention, Role, Sums, Verdict, World, breach};

/// Decisions that wait for their reward at one time, at most.
pub(crate) const WAITING: usize = 3;

pub(crate) struct Application {
    dimension: usize,
    waiting: Vec<Sample>,
    /// Of everything that was acknowledged.
    pub(crate) learned: Sums,
    /// Choices that were made.
    chosen: u64,
    /// Choices that are still to be made once the faults have stopped.
    pub(crate) left: u64,
}

#[derive(Clone)]
struct Sample {
    decision: DecisionId,
    arm: Vec<f64>,
    reward: f64,
    /// It was told, and not acknowledged: the agent may know it.
    is_in_doubt: bool,
}

impl Application {
    pub(crate) fn new(dimension: usize) -> Application {
        Application { dimension, waiting: Vec::new(), learned: Sums::zero(dimension), chosen: 0, left: 0 }
    }

    pub(crate) fn is_in_doubt(&self) -> bool {
        self.waiting.iter().any(|sample| sample.is_in_doubt)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.left == 0 && self.waiting.is_empty()
    }
}

impl World<'_> {
    /// Chooses or learns, if the agent is there.
    pub(crate) fn play(&mut self, member: usize) -> Verdict {
        self.within(10, 250, Event::Play(member));
        let node = &self.members[member];
        if !node.role.has_agent() {
            self.scheme(member);
            return Ok(());
        }
        if node.agent.is_none() || self.now < node.gone_until {
            return Ok(());
        }
        let waiting = node.application.waiting.len();
        let may_choose = !self.is_calm || node.application.left > 0;
        if waiting > 0 && (waiting == WAITING || !may_choose || self.dice.chance(0.7)) {
            return self.learn(member);
        }
        if may_choose { self.choose(member) } else { Ok(()) }
    }

    fn choose(&mut self, member: usize) -> Verdict {
        let dimension = self.members[member].application.dimension;
        let arms: Vec<Vec<f64>> = (0..3).map(|_| self.arm(dimension)).collect();
        let chosen = self.call(
            member,
            |agent| agent.choose(&arms),
            |world, error, may_fail| match &error {
                ChooseError::File(error) => world.check_file(member, error, may_fail),
                error => breach("I6", format!("an arm cannot be chosen: {error}")),
            },
        )?;
        if let Some((decision, index)) = chosen {
            self.members[member].application.chosen += 1;
            let reward = self.reward(member, &arms[index]);
            let application = &mut self.members[member].application;
            application.left = application.left.saturating_sub(1);
            application.waiting.push(Sample { decision, arm: arms[index].clone(), reward, is_in_doubt: false });
        }
        Ok(())
    }

    /// In sixty-fourths.
    fn reward(&mut self, member: usize, arm: &[f64]) -> f64 {
        let Some(truth) = &self.plan.truth else {
            // Few are equal, so that one in the place of another shows.
            return (self.dice.between(0, 32_000) as f64 - 16_000.0) / 64.0;
        };
        let node = &self.members[member];
        let turns = |at: usize| match node.role {
            Role::Inventor(Invention::Opposite) => true,
            Role::Inventor(Invention::Other(coordinates)) => coordinates >> at & 1 == 1,
            Role::Inventor(Invention::Turn(choices)) => node.application.chosen > choices,
            _ => false,
        };
        let is_invented = (0..arm.len()).any(turns);
        let terms =
            arm.iter().zip(truth).enumerate().map(|(at, (x, truth))| if turns(at) { -x * truth } else { x * truth });
        let mean: f64 = terms.sum();
        if is_invented {
            self.count("data-invented");
        }
        mean + (self.dice.between(0, 12) as f64 - 6.0) / 64.0
    }

    /// A context in whole quarters, not longer than 1.
    fn arm(&mut self, dimension: usize) -> Vec<f64> {
        let mut arm: Vec<f64> = (0..dimension).map(|_| self.dice.between(0, 4) as f64 / 4.0 - 0.5).collect();
        if arm.iter().all(|x| *x == 0.0) {
            arm[0] = 0.5;
        }
        arm
    }

    fn learn(&mut self, member: usize) -> Verdict {
        let application = &mut self.members[member].application;
        let place = application.waiting.iter().position(|sample| sample.is_in_doubt).unwrap_or(0);
        application.waiting[place].is_in_doubt = true;
        let sample = application.waiting[place].clone();
        let name = self.members[member].name();
        let tell = |world: &mut World<'_>| {
            let Sample { decision, reward, .. } = sample;
            world.call(
                member,
                move |agent| agent.learn(decision, reward),
                |world, error, may_fail| match &error {
                    LearnError::File(error) => world.check_file(member, error, may_fail),
                    error => breach("I6", format!("{} cannot learn: {error}", world.members[member].name())),
                },
            )
        };
        if tell(self)?.is_none() {
            return Ok(());
        }
        self.trace.say(self.now, format_args!("{name} learns"));
        let application = &mut self.members[member].application;
        application.waiting.remove(place);
        application.learned.add(&Sums::of_sample(&sample.arm, sample.reward), 1);
        // Told again, it counts no more.
        if self.dice.chance(0.1) && tell(self)?.is_none() {
            return Ok(());
        }
        let node = &mut self.members[member];
        if node.is_polling() && node.agent.as_ref().is_some_and(Agent::wants_round) {
            node.conversation.wish();
            return self.go_on(member);
        }
        Ok(())
    }
}
