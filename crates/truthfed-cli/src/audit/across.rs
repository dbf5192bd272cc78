//! Across rounds: what one client gains over whole simulated runs.

use truthfed::auction::MechanismSetting;
use truthfed_sim::config::Config;
use truthfed_sim::manipulation::{Family, Finding, Findings, Plan, SETTING};

use crate::progress::Progress;
use crate::report::table;

/// Runs every strategy under every mechanism that pays; none when there is nothing to run.
pub(super) fn run(settings: &[MechanismSetting], seeds: u64) -> anyhow::Result<Option<Findings>> {
    let paying = settings.iter().filter(|setting| setting.claims().pays());
    let paying: Vec<&str> = paying.map(MechanismSetting::name).collect();
    if seeds == 0 || paying.is_empty() {
        return Ok(None);
    }
    let plan = Plan::new(Config::read(SETTING, &[])?).with_seeds(seeds).with_mechanisms(&paying)?;
    let progress = Progress::new("runs", plan.runs());
    let findings = plan.run(|| progress.step())?;
    progress.finish();
    Ok(Some(findings))
}

/// A table of the best strategy of each kind.
pub(super) fn words(findings: &Findings) -> String {
    let families = findings.families();
    let row = |mechanism: &str| {
        let found: Vec<&Finding> = families.iter().filter_map(|family| findings.of(mechanism, *family)).collect();
        let paying: Vec<&str> =
            found.iter().filter(|found| found.pays()).map(|found| found.strategy.as_str()).collect();
        let mut row = vec![mechanism.to_owned()];
        row.push(found.first().map_or_else(String::new, |found| format!("{:.1}", found.truthful.mean)));
        row.extend(found.iter().map(|found| format!("{:+.1} ± {:.1}", tenths(found.gain.mean), found.gain.sd)));
        row.push(if paying.is_empty() { "nothing beyond chance".to_owned() } else { paying.join("; ") });
        row
    };
    let mut header = vec!["mechanism".to_owned(), "truth earns".to_owned()];
    header.extend(families.iter().map(Family::to_string));
    header.push("what pays".to_owned());
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = findings.mechanisms().into_iter().map(row).collect();
    format!(
        "Across rounds: what one client gains over a whole run, against the truth ({} clients, {} seeds).\n{}\
         Truthful is a promise about one round: what is not sold now can be sold later.\n",
        findings.clients,
        findings.seeds,
        table(&header, &(1..=1 + families.len()).collect::<Vec<_>>(), rows)
    )
}

/// To tenths, and never -0.
fn tenths(value: f64) -> f64 {
    (10.0 * value).round() / 10.0 + 0.0
}
