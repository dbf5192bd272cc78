//! Real processes, killed with -9 at every durable step: what comes of it is what comes of a life without a death.

#![allow(clippy::unwrap_used)] // a test may panic

mod life;
mod plan;
mod process;
mod script;
mod site;
mod standby;
mod trace;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use truthfed_node::kill::{AGENT, COORDINATOR, MOMENTS};

use self::life::{Life, serve};
use self::plan::{
    Plan, again_and_again, of_a_coordinator, of_other_agents, of_the_first_agent, where_one_is_forgotten,
    where_time_is_up,
};
use self::process::{End, Process, await_end, done, http, verb};
use self::script::{Script, deadlines, forgotten, live, two_rounds};
use self::site::{FIRST, Kind, MEMBERS, RENEWING, Site, Template, port, set};
use self::trace::Trace;

/// Lives at the same time: most of a life is waiting.
const WORKERS: usize = 5;
/// Longer than anything takes in a round in which nobody is late.
const LONG_MS: u32 = 60_000;
/// Long enough for who is not late, and awaited in every life.
const SHORT_MS: u32 = 4_000;

/// Does something for each of many, several at a time, and says for which it failed.
fn check_each<T: Send + std::fmt::Debug>(all: Vec<T>, check: impl Fn(&T) + Sync) {
    let (all, failed) = (Mutex::new(all), Mutex::new(Vec::new()));
    let work = || {
        while let Some(one) = { all.lock().unwrap().pop() } {
            let checked = catch_unwind(AssertUnwindSafe(|| check(&one)));
            checked.unwrap_or_else(|_| failed.lock().unwrap().push(one));
        }
    };
    std::thread::scope(|scope| (0..WORKERS).for_each(|_| drop(scope.spawn(work))));
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "not as undisturbed: {failed:?}");
}

/// Lives all these lives, and compares each with one without a death.
#[expect(clippy::print_stdout, reason = "whoever repeats this for long counts the kills")]
fn check(kind: Kind, script: Script, phase_ms: u32, plans: impl FnOnce(&Trace) -> Vec<Plan>) {
    let template = Template::new(phase_ms);
    let undisturbed = live(&template, Kind::Sqlite, script, &Plan::default());
    let mut plans = plans(&undisturbed);
    println!("{} kills", plans.iter().map(|plan| plan.points.len()).sum::<usize>());
    plans.push(Plan::default());
    check_each(plans, |plan| live(&template, kind, script, plan).check_same(&undisturbed));
}

#[test]
fn a_coordinator_killed_at_any_step_goes_on_as_if_undisturbed_on_sqlite() {
    check(Kind::Sqlite, two_rounds, LONG_MS, of_a_coordinator);
}

#[test]
fn a_coordinator_killed_at_any_step_goes_on_as_if_undisturbed_on_postgresql() {
    check(Kind::Postgres, two_rounds, LONG_MS, of_a_coordinator);
}

#[test]
fn an_agent_killed_at_any_step_goes_on_as_if_undisturbed_on_sqlite() {
    check(Kind::Sqlite, two_rounds, LONG_MS, |_| [of_the_first_agent(), of_other_agents()].concat());
}

#[test]
fn an_agent_killed_at_any_step_goes_on_as_if_undisturbed_on_postgresql() {
    check(Kind::Postgres, two_rounds, LONG_MS, |_| of_the_first_agent());
}

#[test]
fn killed_in_recovery_and_again_and_again_they_go_on_as_if_undisturbed_on_sqlite() {
    check(Kind::Sqlite, two_rounds, LONG_MS, |_| again_and_again());
}

#[test]
fn killed_in_recovery_and_again_and_again_they_go_on_as_if_undisturbed_on_postgresql() {
    check(Kind::Postgres, two_rounds, LONG_MS, |_| again_and_again());
}

#[test]
fn a_coordinator_killed_where_time_is_up_goes_on_as_if_undisturbed_on_sqlite() {
    check(Kind::Sqlite, deadlines, SHORT_MS, |_| where_time_is_up());
}

#[test]
fn a_coordinator_killed_where_time_is_up_goes_on_as_if_undisturbed_on_postgresql() {
    check(Kind::Postgres, deadlines, SHORT_MS, |_| where_time_is_up());
}

#[test]
fn killed_while_a_member_is_forgotten_they_go_on_as_if_undisturbed_on_sqlite() {
    check(Kind::Sqlite, forgotten, LONG_MS, where_one_is_forgotten);
}

#[test]
fn killed_while_a_member_is_forgotten_they_go_on_as_if_undisturbed_on_postgresql() {
    check(Kind::Postgres, forgotten, LONG_MS, where_one_is_forgotten);
}

#[test]
fn a_coordinator_that_was_stopped_is_fenced_and_the_round_goes_on_with_the_standby() {
    let template = Template::new(LONG_MS);
    let undisturbed = live(&template, Kind::Postgres, two_rounds, &Plan::default());
    let points = MOMENTS.map(|moment| Some(format!("STOP offered.{moment}#3")));
    let stops = points.into_iter().chain([None]).collect();
    check_each(stops, |stop_at| standby::live(&template, stop_at.as_deref()).check_same(&undisturbed));
}

#[test]
fn every_durable_step_has_its_four_points() {
    let steps = "genesis enrolled opened offered sealed awarded delivered settled ruled paid-out paused checkpoint synced \
                 maintenance";
    let known = |step: &&str| COORDINATOR.contains(step) || AGENT.contains(step);
    assert_eq!(steps.split(' ').filter(known).count() * MOMENTS.len(), 56);
}
