//! What once went wrong, one test for each story.

use truthfed_chaos::{Limits, Plan, Trace, Weather, run_plan};
use truthfed_node::terms::{Agreement, MechanismSetting, TermsDocument};

/// The plan of a seed, with another mechanism.
fn with_mechanism(seed: u64, name: &str) -> Plan {
    let plan = Plan::of(seed);
    let mechanism = MechanismSetting { name: name.to_owned(), ..MechanismSetting::default() };
    let document = TermsDocument { mechanism, ..plan.agreement.document().clone() };
    Plan { agreement: Agreement::try_from(document).unwrap(), weather: Weather::CALM, ..plan }
}

/// A winner that was paid less than it asked took the decision for fraud, did not deliver, and then could not even take
/// over the next snapshot: its receipt said the same.
#[test]
fn a_federation_whose_mechanism_does_not_promise_the_ask_could_not_settle_a_round() {
    for name in ["everyone", "truth-fedban"] {
        for seed in 0..3 {
            let report = run_plan(with_mechanism(seed, name), Limits::default(), &mut Trace::new()).unwrap();
            assert!(report.settled > 0, "{name} under seed {seed}: {report:?}");
        }
    }
}
