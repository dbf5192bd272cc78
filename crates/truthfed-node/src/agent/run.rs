//! Carries messages between an agent and its coordinator, until told to stop.
//!
//! Whatever is cut off in the middle, here or on the way, is safe: the agent has written what it would send, and sends
//! it again. While the coordinator is away the agent goes on deciding, and is tried again after pauses that grow.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;

use super::core::Agent;
use super::handle::{Handle, work_with};
use super::link::{Link, LinkError};
use super::policy::Policy;
use super::rounds::{Refused, Step, StepError};
use crate::digest::{Digest, Hex, Nonce};
use crate::error::Refusal;
use crate::wire::View;

/// How long the coordinator may wait for news before it answers.
const WAIT_MS: u64 = 20_000;
/// The first pause after a failure, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// More steps than one view can give rise to.
const MAX_STEPS: usize = 16;
/// How often a price is asked for while the application goes on learning; the last time, it has to wait.
const PRICINGS: usize = 3;

/// Why an exchange with the coordinator broke off. Nothing is lost by it.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The coordinator gave no useful reply.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The reply cannot be right, or the agent's file fails.
    #[error(transparent)]
    Step(#[from] StepError),
}

/// Runs an agent's part in rounds.
pub struct Runner<L> {
    agent: Handle,
    link: L,
    policy: Policy,
}

impl<L: Link> Runner<L> {
    /// For this agent, over this link, at prices by this policy.
    pub fn new(agent: Handle, link: L, policy: Policy) -> Runner<L> {
        Runner { agent, link, policy }
    }

    /// The agent.
    pub fn agent(&self) -> &Handle {
        &self.agent
    }

    /// One pass without waiting: looks at what the coordinator shows and says what there is to say. Whether anything
    /// happened.
    ///
    /// # Errors
    /// When it broke off; the next pass goes on from there.
    pub async fn exchange(&self) -> Result<bool, ExchangeError> {
        let view = self.view(None).await?;
        self.work_off(&view).await
    }

    /// Exchanges until `stop` becomes true or its sender is gone. Failures are logged and tried again.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        let mut stop = pin!(async move { drop(stop.wait_for(|stop| *stop).await) });
        let mut pauses = Pauses::of(self.agent.member());
        loop {
            tokio::select! {
                biased;
                () = &mut stop => break,
                error = self.follow(&mut pauses) => report(&error),
            }
            tokio::select! {
                biased;
                () = &mut stop => break,
                () = tokio::time::sleep(pauses.next()) => {}
            }
        }
        self.agent.with(Agent::checkpoint).await;
        kill_point!(replied());
    }

    /// Follows the coordinator's views until something fails.
    async fn follow(&self, pauses: &mut Pauses) -> ExchangeError {
        let mut last: Option<View> = None;
        loop {
            match self.next_view(last.as_ref()).await {
                Ok(view) => last = Some(view),
                Err(error) => return error,
            }
            if let Some(view) = &last
                && let Err(error) = self.work_off(view).await
            {
                return error;
            }
            pauses.begin_anew();
        }
    }

    /// The view after the last one. A wish that comes up meanwhile is told at once.
    async fn next_view(&self, last: Option<&View>) -> Result<View, ExchangeError> {
        let mut view = pin!(self.view(last));
        loop {
            tokio::select! {
                biased;
                view = &mut view => return Ok(view?),
                () = self.agent.wished() => {
                    if let Some(last) = last {
                        self.work_off(last).await?;
                    }
                }
            }
        }
    }

    async fn view(&self, last: Option<&View>) -> Result<View, LinkError> {
        let after = last.map(|view| view.version);
        let view = self.link.view(after, after.map_or(0, |_| WAIT_MS)).await;
        self.agent.set_reachable(!matches!(view, Err(LinkError::Away(_))));
        view
    }

    /// Does everything that a view gives rise to. Whether there was anything.
    async fn work_off(&self, view: &View) -> Result<bool, ExchangeError> {
        for steps in 0..MAX_STEPS {
            if !self.step(view).await? {
                return Ok(steps > 0);
            }
        }
        Ok(true)
    }

    async fn step(&self, view: &View) -> Result<bool, ExchangeError> {
        let shown = view.clone();
        let step = self.agent.with(move |agent| agent.next_step(&shown)).await?;
        match self.take(&step, view.closed).await {
            Err(ExchangeError::Link(LinkError::Refused(refusal))) => self.refused(&step, refusal).await?,
            taken => taken?,
        }
        Ok(!matches!(step, Step::Nothing))
    }

    /// Says what is to be said, and hands the reply to the agent.
    async fn take(&self, step: &Step, ended: RoundId) -> Result<(), ExchangeError> {
        match step.clone() {
            Step::Nothing => {}
            Step::Sync(request) => {
                let reply = self.link.sync(request).await?;
                self.agent.with(move |agent| agent.synced(reply, ended)).await?;
            }
            Step::Ask => {
                self.link.ask().await?;
                self.agent.with(Agent::asked).await?;
            }
            Step::Price(round, nonce, data) => self.answer(round, nonce, data).await?,
            Step::Offer(round, offer) => {
                let reply = self.link.offer(round, offer).await?;
                self.agent.with(move |agent| agent.offer_taken(round, reply.receipt)).await?;
            }
            Step::Decline(round) => {
                self.link.decline(round).await?;
                self.agent.with(move |agent| agent.finish(round)).await;
            }
            Step::Deliver(round, delivery) => {
                let reply = self.link.deliver(round, delivery).await?;
                self.agent.with(move |agent| agent.delivery_taken(round, reply.receipt)).await?;
            }
        }
        Ok(())
    }

    /// Gives up the round, or the exchange, when the coordinator says no.
    async fn refused(&self, step: &Step, refusal: Refusal) -> Result<(), ExchangeError> {
        let round = match step.refused(refusal.code) {
            Refused::TryAgain => return Err(LinkError::Refused(refusal).into()),
            Refused::Finish(round) | Refused::Decline(round) => round,
        };
        tracing::warn!(%round, %refusal, "refused by the coordinator");
        self.agent.with(move |agent| agent.finish(round)).await;
        if step.refused(refusal.code) == Refused::Decline(round) {
            let _ = self.link.decline(round).await;
        }
        Ok(())
    }

    /// Decides what to ask for, and answers the round. The price is that of the very data that is offered: when more was
    /// learned while a command thought about it, it is asked again.
    async fn answer(&self, round: RoundId, nonce: Nonce, mut data: Option<Statistics>) -> Result<(), ExchangeError> {
        for _ in 1..PRICINGS {
            let ask = self.price(round, data.as_ref()).await;
            let agent = self.agent.hold().await;
            let now = agent.to_offer();
            if now == data {
                return Ok(work_with(agent, move |agent| agent.opened(round, nonce, ask)).await?);
            }
            data = now;
        }
        let agent = self.agent.hold().await;
        let ask = self.price(round, agent.to_offer().as_ref()).await;
        Ok(work_with(agent, move |agent| agent.opened(round, nonce, ask)).await?)
    }

    async fn price(&self, round: RoundId, data: Option<&Statistics>) -> Option<Amount> {
        match data {
            Some(data) => self.policy.price(round, data).await,
            None => None,
        }
    }
}

fn report(error: &ExchangeError) {
    match error {
        ExchangeError::Link(LinkError::Away(problem)) => tracing::warn!(%problem, "the coordinator is away"),
        ExchangeError::Link(LinkError::Refused(refusal)) if refusal.code.is_passing() => {
            tracing::warn!(problem = %refusal, "the coordinator cannot serve now");
        }
        ExchangeError::Link(error) => tracing::error!(%error, "the coordinator does not help"),
        ExchangeError::Step(error) => tracing::error!(%error, "no part in rounds for now"),
    }
}

/// Pauses between attempts: each twice as long as the one before, and cut differently for each member and each time, so
/// that not all agents come at once.
struct Pauses {
    member: ClientId,
    made: u64,
    longest: Duration,
}

impl Pauses {
    fn of(member: &ClientId) -> Pauses {
        Pauses { member: member.clone(), made: 0, longest: PAUSES.0 }
    }

    fn begin_anew(&mut self) {
        self.longest = PAUSES.0;
    }

    fn next(&mut self) -> Duration {
        let longest = self.longest;
        self.longest = (2 * longest).min(PAUSES.1);
        self.made += 1;
        let Hex([a, b, ..]) = Digest::of(format!("{} {}", self.member, self.made).as_bytes());
        let share = f64::from(u16::from_be_bytes([a, b])) / f64::from(u16::MAX);
        longest.mul_f64(0.5 + 0.5 * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_are_cut_by_at_most_half() {
        let mut pauses = Pauses::of(&"m1".parse().unwrap());
        let mut longest = PAUSES.0;
        for _ in 0..20 {
            let pause = pauses.next();
            assert!(pause >= longest / 2 && pause <= longest, "{pause:?} of {longest:?}");
            longest = (2 * longest).min(PAUSES.1);
        }
        assert_eq!(longest, PAUSES.1);
        pauses.begin_anew();
        assert!(pauses.next() <= PAUSES.0);
    }

    #[test]
    fn pauses_of_different_members_and_of_one_member_at_different_times_differ() {
        let mut first = Pauses::of(&"m1".parse().unwrap());
        let mut cuts: Vec<Duration> = (0..5)
            .map(|_| {
                first.begin_anew();
                first.next()
            })
            .collect();
        cuts.extend((2..10).map(|number| Pauses::of(&format!("m{number}").parse().unwrap()).next()));
        cuts.sort();
        cuts.dedup();
        assert_eq!(cuts.len(), 13);
    }
}
