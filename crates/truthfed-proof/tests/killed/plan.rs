//! Where somebody is to be killed in a life.

use std::ops::RangeInclusive;

use truthfed_node::kill::{AGENT, COORDINATOR, MOMENTS};

use super::trace::Trace;

/// Who dies, and where: at the first point, started again at the second, and so on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    pub(crate) victim: Victim,
    pub(crate) points: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Victim {
    #[default]
    Coordinator,
    Agent(usize),
    /// The first member's, from when it has stopped in order and come back.
    LateAgent,
}

impl Plan {
    /// Where the coordinator that is started after so many deaths dies.
    pub(crate) fn for_coordinator(&self, deaths: usize) -> Option<&str> {
        self.points.get(deaths).filter(|_| self.victim == Victim::Coordinator).map(String::as_str)
    }

    /// Where the agent of a member dies that is started after so many deaths.
    pub(crate) fn for_agent(&self, deaths: usize, member: usize, is_late: bool) -> Option<&str> {
        let is_victim = match self.victim {
            Victim::Coordinator => false,
            Victim::Agent(victim) => victim == member,
            Victim::LateAgent => member == 0 && is_late,
        };
        self.points.get(deaths).filter(|_| is_victim).map(String::as_str)
    }
}

/// At every entry of the journal, and where the coordinator starts.
pub(crate) fn of_a_coordinator(undisturbed: &Trace) -> Vec<Plan> {
    let times = |step| 1..=undisturbed.times(step).max(1);
    COORDINATOR.iter().flat_map(|step| deaths(Victim::Coordinator, step, times(step))).collect()
}

/// At every step of the first member's agent, before and after it has come back; at every reward.
pub(crate) fn of_the_first_agent() -> Vec<Plan> {
    let of = |victim| AGENT.iter().flat_map(move |step| deaths(victim, step, 1..=1));
    let rewards = [deaths(Victim::Agent(0), "learned", 2..=2), deaths(Victim::LateAgent, "learned", 2..=3)];
    of(Victim::Agent(0)).chain(of(Victim::LateAgent)).chain(rewards.concat()).collect()
}

/// At the steps of the others: the second delivers last, the third loses, and who joins later is not paid.
pub(crate) fn of_other_agents() -> Vec<Plan> {
    let common = ["begun", "decided", "learned", "answered", "synced", "kept"].as_slice();
    let second = ["offer-receipt", "decision-receipt", "delivery-receipt"].as_slice();
    let steps = [(1, common), (1, second), (2, common), (2, &["offer-receipt"]), (3, common)];
    let of = |(member, steps): (usize, &'static [&str])| {
        steps.iter().flat_map(move |step| deaths(Victim::Agent(member), step, 1..=1))
    };
    steps.into_iter().flat_map(of).collect()
}

/// Where nobody but the clock ends a phase.
pub(crate) fn where_time_is_up() -> Vec<Plan> {
    let of = |(step, time)| deaths(Victim::Coordinator, step, time..=time);
    [("sealed", 1), ("awarded", 1), ("settled", 1), ("checkpoint", 2)].into_iter().flat_map(of).collect()
}

/// Where a member is revoked and forgotten: the coordinator, also on the way back, and an agent that takes it over.
pub(crate) fn where_one_is_forgotten(undisturbed: &Trace) -> Vec<Plan> {
    let last = |step| deaths(Victim::Coordinator, step, undisturbed.times(step)..=undisturbed.times(step));
    let agents = [0, 2].map(|member| deaths(Victim::Agent(member), "synced", 2..=2));
    let back = Plan { victim: Victim::Coordinator, points: points(&["ruled.after-commit", ON_THE_WAY_BACK]) };
    ["enrolled", "ruled", "checkpoint"].into_iter().flat_map(last).chain(agents.concat()).chain([back]).collect()
}

/// At every moment of a step, at these of its times.
fn deaths(victim: Victim, step: &str, times: RangeInclusive<usize>) -> Vec<Plan> {
    let plan = |(time, moment): (usize, &str)| Plan { victim, points: vec![format!("{step}.{moment}#{time}")] };
    times.flat_map(|time| MOMENTS.map(|moment| (time, moment))).map(plan).collect()
}

/// Several deaths in one life: on the way back, and at nearly every step.
pub(crate) fn again_and_again() -> Vec<Plan> {
    let plan = |victim, way: &[&str]| Plan { victim, points: points(way) };
    let on_the_way_back = [
        "opened.after-commit",
        "offered.inside#2",
        "awarded.after-commit",
        "settled.after-commit#2",
        "ruled.after-commit",
    ];
    let recoveries = on_the_way_back.map(|first| plan(Victim::Coordinator, &[first, ON_THE_WAY_BACK]));
    let all = [plan(Victim::Coordinator, &COORDINATORS_WAY), plan(Victim::Agent(0), &AGENTS_WAY)];
    recoveries.into_iter().chain(all).collect()
}

fn points(way: &[&str]) -> Vec<String> {
    way.iter().flat_map(|points| points.split(' ')).map(str::to_owned).collect()
}

const ON_THE_WAY_BACK: &str = "recovery.before recovery.inside recovery.after-commit recovery.after-reply";

/// In the order in which they come, each after the death before: the start, the first round, one joins and the operator rules,
/// pays and pauses, the second round.
const COORDINATORS_WAY: [&str; 4] = [
    "maintenance.before maintenance.inside maintenance.after-commit recovery.before recovery.inside genesis.before \
     enrolled.inside#3 checkpoint.inside genesis.after-commit recovery.after-commit",
    "opened.before opened.inside opened.after-commit recovery.inside offered.before offered.inside offered.after-commit \
     sealed.before awarded.inside sealed.after-commit recovery.after-reply delivered.before delivered.inside \
     delivered.after-commit settled.before settled.inside checkpoint.after-commit",
    "enrolled.before enrolled.inside enrolled.after-commit ruled.before ruled.inside ruled.after-commit paid-out.inside \
     enrolled.before enrolled.inside enrolled.after-commit paused.before paused.inside paused.after-commit",
    "opened.after-reply offered.after-reply sealed.inside awarded.after-reply delivered.after-reply enrolled.before \
     settled.inside checkpoint.after-reply",
];

/// The same of the first member's agent: the first round, it stops in order and comes back, the second round. A step that is
/// moot after a restart has one death in each round.
const AGENTS_WAY: [&str; 3] = [
    "begun.before begun.inside begun.after-commit begun.after-reply decided.before decided.inside decided.after-commit \
     learned.before learned.inside learned.after-commit decided.after-reply learned.after-reply \
     answered.before answered.inside answered.after-commit offer-receipt.before offer-receipt.inside \
     offer-receipt.after-commit decision-receipt.before decision-receipt.inside decision-receipt.after-commit \
     delivery-receipt.inside synced.before synced.inside synced.after-commit",
    "kept.before kept.inside kept.after-commit kept.after-reply",
    "learned.inside#3 answered.after-reply offer-receipt.after-reply decision-receipt.after-reply \
     synced.after-reply",
];
