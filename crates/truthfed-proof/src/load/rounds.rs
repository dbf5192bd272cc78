//! Whole rounds of members over the network.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use truthfed_node::wire::View;

use crate::load::agent::{Agent, Member, Role};

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

/// Times whole rounds, one after the other: from the request for one until every member has seen its end.
pub async fn timed(members: &[(Arc<Agent>, Role)], at_least: Duration) -> anyhow::Result<Vec<Duration>> {
    let agents: Vec<Arc<Agent>> = members.iter().map(|(agent, _)| agent.clone()).collect();
    let views = connect(&agents).await?;
    let member = |((agent, role), view): (&(Arc<Agent>, Role), View)| Member::new(agent.clone(), *role, view.closed);
    let mut members: Vec<Member> = members.iter().zip(views).map(member).collect();
    let (started, mut times) = (Instant::now(), Vec::new());
    while started.elapsed() < at_least || times.len() < LEAST {
        let mut talking = JoinSet::new();
        for mut member in members.drain(..) {
            talking.spawn(async move { member.until_closed().await.map(|part| (member, part)) });
        }
        let asked = Instant::now();
        agents[0].ask().await?;
        let mut ended = Vec::with_capacity(agents.len());
        while let Some(member) = talking.join_next().await {
            ended.push(member??);
        }
        times.push(asked.elapsed());
        for (member, part) in ended {
            part.check()?;
            members.push(member);
        }
        tokio::time::sleep(PACE.saturating_sub(asked.elapsed())).await;
    }
    Ok(times)
}
