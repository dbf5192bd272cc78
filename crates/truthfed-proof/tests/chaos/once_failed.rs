//! What once went wrong, one test for each story.

use truthfed_node::agent::{Agent, Membership};
use truthfed_node::terms::{Agreement, MechanismSetting, RawTerms};
use truthfed_node::testing::{Federation, id};
use truthfed_proof::chaos::{Plan, Trace, Weather, run_plan};
use truthfed_proof::disk::{Disk, Fault, Plan as DiskPlan};

/// The plan of a seed without faults, with another mechanism.
fn with_mechanism(seed: u64, name: &str) -> Plan {
    let plan = Plan::of(seed);
    let mechanism = MechanismSetting::named(name).unwrap().into();
    let document = RawTerms { mechanism, ..plan.agreement.raw().clone() };
    Plan { agreement: Agreement::try_from(document).unwrap(), weather: Weather::default(), ..plan }
}

/// A winner that was paid less than it asked took the decision for fraud, did not deliver, and then could not even take
/// over the next snapshot: its receipt said the same.
#[test]
fn a_federation_whose_mechanism_does_not_promise_the_ask_could_not_settle_a_round() {
    for name in ["everyone", "truth-fedban"] {
        for seed in 0..3 {
            let report = run_plan(with_mechanism(seed, name), &mut Trace::default()).unwrap();
            assert!(report.settled > 0, "{name} under seed {seed}: {report:?}");
        }
    }
}

/// Its agent had given up the round when it was refused. The others were revoked, so that nobody was excluded any more, and the
/// agent waited for somebody else to open the round.
#[test]
fn a_member_that_had_been_excluded_did_not_try_again_when_all_others_had_gone() {
    run_plan(Plan::of(121), &mut Trace::default()).unwrap();
}

fn open(disk: &Disk, membership: &Membership) -> Agent {
    Agent::open_on(membership.clone(), &disk.path("agent.db"), &disk.vfs()).unwrap()
}

/// Whether a reward is still known that was told to an agent which was killed at this step of its disk, told again after
/// a restart, acknowledged, and followed by a loss of power. None when the step was not reached.
fn is_kept(seed: u64, step: u64) -> Option<bool> {
    let agreement = Plan::of(seed).agreement;
    let arm = vec![0.5; agreement.dimension()];
    let membership = Federation::new(agreement.raw().clone(), &["m"]).membership(&id("m"));
    let disk = Disk::powersafe(seed);
    let mut agent = open(&disk, &membership);
    let (decision, _) = agent.choose(&[arm]).unwrap();
    disk.plan(DiskPlan { after: step, fault: Fault::Crash });
    let learned = agent.learn(decision, 1.0);
    disk.mend();
    if !disk.is_off() {
        return None;
    }
    learned.unwrap_err();
    disk.restart();
    open(&disk, &membership).learn(decision, 1.0).unwrap();
    disk.lose_power();
    Some(open(&disk, &membership).status(true).unwrap().known == 1)
}

/// The killed process had written the reward, and not synced it: the next one found it in the log, took it for kept, and
/// acknowledged the repetition without writing anything.
#[test]
fn a_reward_told_again_after_a_kill_was_acknowledged_before_it_was_synced() {
    let kept: Vec<bool> = (0..40).flat_map(|seed| (0..20).map_while(move |step| is_kept(seed, step))).collect();
    assert!(kept.len() > 100, "{} steps", kept.len());
    assert!(kept.iter().all(|kept| *kept), "lost {}", kept.iter().filter(|kept| !**kept).count());
}
