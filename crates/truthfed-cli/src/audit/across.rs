//! Across rounds: what one client gains over whole simulated runs.

use truthfed::auction::MechanismSetting;
use truthfed_sim::config::Config;
use truthfed_sim::manipulation::{Family, Finding, Findings, Plan, SETTING};

use crate::progress::Progress;
use crate::report::table;

/// Standard errors on each side of a mean.
const INTERVAL: f64 = 1.96;

/// Runs every strategy under every mechanism that pays; none when there is nothing to run.
pub(super) fn run(settings: &[MechanismSetting], seeds: u64, changes: &[String]) -> anyhow::Result<Option<Findings>> {
    let paying = settings.iter().filter(|setting| setting.claims().pays());
    let paying: Vec<&str> = paying.map(MechanismSetting::name).collect();
    if seeds == 0 || paying.is_empty() {
        return Ok(None);
    }
    let plan = Plan::new(Config::read(SETTING, changes)?).with_seeds(seeds).with_mechanisms(&paying)?;
    let plan = plan.with_search(paying.len() == 1);
    let progress = Progress::new("runs", plan.runs());
    let findings = plan.run(|| progress.step())?;
    progress.finish();
    Ok(Some(findings))
}

/// A table of the best strategy of each kind: a column for each, or of one mechanism a row.
pub(super) fn words(findings: &Findings) -> String {
    let table = match findings.mechanisms().as_slice() {
        [mechanism] => of_one(findings, mechanism),
        _ => of_all(findings),
    };
    format!(
        "Across rounds: what one client gains over a whole run, against the truth ({} clients, {} seeds).\n{table}\
         Truthful is a promise about one round: what is not sold now can be sold later.\n",
        findings.clients, findings.seeds,
    )
}

fn of_one(findings: &Findings, mechanism: &str) -> String {
    let families = findings.families();
    let found = families.iter().filter_map(|family| findings.of(mechanism, *family));
    let row = |found: &Finding| {
        let percent = |amount: f64| 100.0 * amount / found.truthful.mean.max(f64::MIN_POSITIVE);
        let (gain, interval) = (percent(found.gain.mean), percent(INTERVAL * found.standard_error));
        let pays = if found.pays() { "yes" } else { "" };
        let strategy = found.strategy.clone();
        vec![found.family.to_string(), strategy, format!("{:+.1} % ± {interval:.1}", tenths(gain)), pays.to_owned()]
    };
    let header = [mechanism, "the best of its kind", "gains, with a 95 % interval", "pays"];
    table(&header, &[2], found.map(row).collect())
}

fn of_all(findings: &Findings) -> String {
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
    table(&header, &(1..=1 + families.len()).collect::<Vec<_>>(), rows)
}

/// To tenths, and never -0.
fn tenths(value: f64) -> f64 {
    (10.0 * value).round() / 10.0 + 0.0
}
