//! All mechanisms on one round, side by side.

use serde::Serialize;
use truthfed::Total;
use truthfed::auction::catalog::Claim;
use truthfed::auction::{MechanismSetting, Refusal, Round};

use super::Timed;
use super::words::ratio;
use crate::report::{Report, cells, json, seconds, table};

/// A mechanism with its outcome, or why there is none.
type Row = (&'static str, Result<Timed, Refusal>);

pub(super) fn run(round: &Round, settings: &[MechanismSetting], as_json: bool) -> Report {
    let row = |setting: &MechanismSetting| (setting.name(), Timed::run(setting.mechanism().as_ref(), round));
    let rows: Vec<Row> = settings.iter().map(row).collect();
    let optimal = settings.iter().position(|setting| setting.claims().optimal == Claim::Yes);
    let optimum = optimal.and_then(|place| rows[place].1.as_ref().ok());
    let optimum = optimum.map(|timed| timed.outcome.social_cost());
    Report::done(if as_json { as_object(rows, optimum) } else { text(round, &rows, optimum) })
}

/// Social cost over that of the cheapest set; `None` when it is not known or nothing.
fn optimum_ratio(timed: &Timed, optimum: Option<Total>) -> Option<f64> {
    let optimum = optimum?.to_f64();
    (optimum > 0.0).then(|| timed.outcome.social_cost().to_f64() / optimum)
}

fn text(round: &Round, rows: &[Row], optimum: Option<Total>) -> String {
    let header =
        ["mechanism", "winners", "coverage", "target", "social cost", "/ optimum", "payments", "log-dets", "time"];
    let row = |(name, result): &Row| match result {
        Err(_) => {
            let mut cells = vec!["-".to_owned(); header.len()];
            cells[0] = (*name).to_owned();
            cells
        }
        Ok(timed) => {
            let (outcome, work) = (&timed.outcome, timed.outcome.evaluations());
            let [coverage, target] = [outcome.coverage(), outcome.target()].map(ratio);
            let over = optimum_ratio(timed, optimum).map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
            let (winners, cost, paid) = (outcome.winners().len(), outcome.social_cost(), outcome.payments());
            let time = seconds(timed.seconds);
            cells(&[name, &winners, &coverage, &target, &cost, &over, &paid, &(work.select + work.price), &time])
        }
    };
    let table = table(&header, &[1, 2, 3, 4, 5, 6, 7, 8], rows.iter().map(row).collect());
    let refusal = |(name, result): &Row| Some(format!("{name}: {}.\n", result.as_ref().err()?));
    let refusals: String = rows.iter().filter_map(refusal).collect();
    format!(
        "{} clients admitted, {} turned away, dimension {}, reserve {}.\n{table}{refusals}",
        round.admitted(),
        round.turned_away().len(),
        round.dimension(),
        round.reserve(),
    )
}

#[derive(Serialize)]
struct Comparison {
    mechanisms: Vec<Compared>,
    refused: Vec<Refused>,
}

#[derive(Serialize)]
struct Compared {
    #[serde(flatten)]
    timed: Timed,
    optimum_ratio: Option<f64>,
}

#[derive(Serialize)]
struct Refused {
    mechanism: &'static str,
    reason: String,
}

fn as_object(rows: Vec<Row>, optimum: Option<Total>) -> String {
    let mut comparison = Comparison { mechanisms: Vec::new(), refused: Vec::new() };
    for (mechanism, result) in rows {
        match result {
            Ok(timed) => {
                comparison.mechanisms.push(Compared { optimum_ratio: optimum_ratio(&timed, optimum), timed });
            }
            Err(refusal) => comparison.refused.push(Refused { mechanism, reason: refusal.to_string() }),
        }
    }
    json(&comparison)
}
