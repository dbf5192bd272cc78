//! Whole rounds of members over the network.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use truthfed_node::wire::View;

use crate::load::agent::{Agent, Member, Part, Role};

/// Members that connect at the same time.
const AT_ONCE: usize = 64;
/// From one round to the next, so that nobody sends more than the coordinator hears from one member in the long run.
const PACE: Duration = Duration::from_millis(200);
/// Rounds that are timed at least.
const LEAST: usize = 5;

/// Lets everyone connect, some at a time, and returns what each sees.
pub async fn connect(agents: &[Arc<Agent>]) -> anyhow::Result<Vec<View>> {
    let mut views = Vec::with_capacity(agents.len());
    for some in agents.chunks(AT_ONCE) {
        let connecting: Vec<_> =
            some.iter().cloned().map(|agent| tokio::spawn(async move { agent.connect().await })).collect();
        for connected in connecting {
            views.push(connected.await??);
        }
    }
    Ok(views)
}

/// Opens a round in which all of these offer, and returns them when everyone has its receipt.
pub async fn offer(agents: &[Arc<Agent>]) -> anyhow::Result<Vec<Member>> {
    let views = connect(agents).await?;
    agents[0].open_round().await?;
    let offering = agents.iter().zip(views).map(|(agent, view)| {
        let mut member = Member::new(agent.clone(), Role::Offers, view.closed);
        tokio::spawn(async move { member.until_offered().await.map(|()| member) })
    });
    let (mut members, offering): (Vec<Member>, Vec<_>) = (Vec::new(), offering.collect());
    for offered in offering {
        members.push(offered.await??);
    }
    Ok(members)
}

/// Members that take part in a round, each with what it did in it.
pub struct Talking(JoinSet<anyhow::Result<(Member, Part)>>);

impl Talking {
    pub fn begin(members: impl IntoIterator<Item = Member>) -> Talking {
        let mut talking = JoinSet::new();
        for mut member in members {
            talking.spawn(async move { member.until_closed().await.map(|part| (member, part)) });
        }
        Talking(talking)
    }

    /// Waits until every member has seen the end of the round. Says when that was, and checks what each did.
    pub async fn end(mut self) -> anyhow::Result<(Instant, Vec<Member>)> {
        let mut ended = Vec::with_capacity(self.0.len());
        while let Some(member) = self.0.join_next().await {
            ended.push(member??);
        }
        let (when, mut members) = (Instant::now(), Vec::with_capacity(ended.len()));
        for (member, part) in ended {
            part.check()?;
            members.push(member);
        }
        Ok((when, members))
    }
}

/// Times whole rounds, one after the other: from the offer that opens one until every member has seen its end.
pub async fn timed(members: &[(Arc<Agent>, Role)], at_least: Duration) -> anyhow::Result<Vec<Duration>> {
    let agents: Vec<Arc<Agent>> = members.iter().map(|(agent, _)| agent.clone()).collect();
    let views = connect(&agents).await?;
    let member = |((agent, role), view): (&(Arc<Agent>, Role), View)| Member::new(agent.clone(), *role, view.closed);
    let mut members: Vec<Member> = members.iter().zip(views).map(member).collect();
    let (started, mut times) = (Instant::now(), Vec::new());
    while started.elapsed() < at_least || times.len() < LEAST {
        let talking = Talking::begin(members);
        let asked = Instant::now();
        agents[0].open_round().await?;
        let ended;
        (ended, members) = talking.end().await?;
        times.push(ended - asked);
        tokio::time::sleep(PACE.saturating_sub(asked.elapsed())).await;
    }
    Ok(times)
}
