//! Agents and engine against the bare protocol machines: the same inputs give the same bits.

use truthfed::protocol::{Asking, Coordinator, Input, Member, Quota, SamplesSetting, Terms, Time};
use truthfed::statistics::Statistics;
use truthfed::{Amount, protocol::Since};
use truthfed_node::agent::Runner;
use truthfed_node::engine::Clock;
use truthfed_node::testing::Numbers;

use crate::support::{Federation, Wire, settle, terms};

struct PerSample;

impl Asking for PerSample {
    fn ask(&mut self, unshared: &Statistics) -> Option<Amount> {
        Amount::from_micros(500_000 * unshared.samples() as i64)
    }
}

/// Carries messages between the bare machines until nobody has anything to say.
fn carry(now: Time, coordinator: &mut Coordinator, members: &mut [Member]) {
    members.iter_mut().for_each(|member| member.open_round(coordinator.most_samples(member.id(), now), &mut PerSample));
    loop {
        let mut happened = false;
        for member in members.iter_mut() {
            while let Some(request) = member.poll() {
                happened = true;
                let _ = coordinator.handle(now, Input::Request(member.id().clone(), request));
            }
        }
        while let Some(output) = coordinator.poll() {
            happened = true;
            for member in members.iter_mut().filter(|member| output.concerns(member.id())) {
                for notice in coordinator.notices(member.id(), Some(member.closed())) {
                    member.handle(notice, &mut PerSample).unwrap();
                }
            }
        }
        if !happened {
            return;
        }
    }
}

#[tokio::test]
async fn agents_and_engine_do_what_the_bare_machines_do_bit_for_bit() {
    let parts = [(0, 0), (2, 0), (0, 2)];
    for (since, (samples, least)) in
        [Since::Round, Since::Delivery].into_iter().flat_map(|since| parts.map(|part| (since, part)))
    {
        let mut terms = terms();
        terms.trigger.since = since;
        // About what each collects, a sample in three steps, and often less than it has.
        terms.quota = Quota { samples, per_ms: 5000, ..Quota::default() };
        terms.least_samples = SamplesSetting::Samples(least);
        let clock = Clock::simulated();
        let federation = Federation::timed(3, terms, clock.clone());
        let agreement = federation.agreement();
        let runners: Vec<Runner<Wire>> =
            (0..3).map(|number| federation.runner(number, &federation.wire(number))).collect();
        let member = |number| Member::under(agreement, federation.membership(number).member);
        let mut members: Vec<Member> = (0..3).map(member).collect();
        let names: Vec<_> = members.iter().map(|member| member.id().clone()).collect();
        let mut coordinator = Coordinator::new(Terms::clone(agreement), agreement.mechanism(), names);
        let mut numbers = Numbers(11);
        for step in 0..90 {
            let now = Time(step * 1000);
            clock.set(now);
            let number = (numbers.unit() * 3.0) as usize;
            let (arms, reward) = (numbers.arms(3), numbers.unit());
            let (decision, index) = runners[number].agent().choose(arms.clone()).await.unwrap();
            assert_eq!(index, members[number].choose(&arms).unwrap(), "step {step}");
            runners[number].agent().learn(decision, reward).await.unwrap();
            members[number].learn(&arms[index], reward).unwrap();
            settle(&runners).await;
            carry(now, &mut coordinator, &mut members);
            for (runner, member) in runners.iter().zip(&members) {
                let known = runner.agent().with(|agent| agent.known().clone()).await;
                assert_eq!(known, *member.known(), "step {step} of {}", member.id());
            }
        }
        assert!(coordinator.closed().0 >= 3, "several rounds were played");
        assert_eq!(federation.engine().published().closed(), coordinator.closed());
    }
}
