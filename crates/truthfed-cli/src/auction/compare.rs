//! All mechanisms on one round, side by side.

use serde::Serialize;
use truthfed::Total;
use truthfed::auction::catalog::Claim;
use truthfed::auction::{MechanismSetting, Refusal, Round};

use super::Timed;
use super::json::TimedOutcome;
use super::words::ratio;
use crate::report::{Report, json, seconds, table};

/// One mechanism's row: its outcome, or why there is none.
struct Row {
    name: &'static str,
    result: Result<Timed, Refusal>,
}

pub(super) fn run(round: &Round, settings: &[MechanismSetting], as_json: bool) -> Report {
    let row = |setting: &MechanismSetting| Row {
        name: setting.name(),
        result: Timed::run(setting.mechanism().as_ref(), round),
    };
    let rows: Vec<Row> = settings.iter().map(row).collect();
    let optimal = settings.iter().position(|setting| setting.claims().optimal == Claim::Yes);
    let optimum = optimal.and_then(|place| rows[place].result.as_ref().ok());
    let optimum = optimum.map(|timed| timed.outcome.social_cost());
    Report::done(if as_json { as_object(&rows, optimum) } else { text(round, &rows, optimum) })
}

/// Social cost over that of the cheapest set; `None` when it is not known or nothing.
fn optimum_ratio(timed: &Timed, optimum: Option<Total>) -> Option<f64> {
    let optimum = optimum?.to_f64();
    (optimum > 0.0).then(|| timed.outcome.social_cost().to_f64() / optimum)
}

fn text(round: &Round, rows: &[Row], optimum: Option<Total>) -> String {
    let header =
        ["mechanism", "winners", "coverage", "target", "social cost", "/ optimum", "payments", "log-dets", "time"];
    let cells = |row: &Row| match &row.result {
        Err(_) => {
            let mut cells = vec!["-".to_owned(); header.len()];
            cells[0] = row.name.to_owned();
            cells
        }
        Ok(timed) => {
            let outcome = &timed.outcome;
            let work = outcome.evaluations();
            vec![
                row.name.to_owned(),
                outcome.winners().len().to_string(),
                ratio(outcome.coverage()),
                ratio(outcome.target()),
                outcome.social_cost().to_string(),
                optimum_ratio(timed, optimum).map_or("-".to_owned(), |ratio| format!("{ratio:.3}")),
                outcome.payments().to_string(),
                (work.select + work.price).to_string(),
                seconds(timed.seconds()),
            ]
        }
    };
    let table = table(&header, &[1, 2, 3, 4, 5, 6, 7, 8], rows.iter().map(cells).collect());
    let refusals: String = rows
        .iter()
        .filter_map(|row| row.result.as_ref().err().map(|refusal| format!("{}: {refusal}.\n", row.name)))
        .collect();
    format!(
        "{} clients admitted, {} turned away, dimension {}, reserve {}.\n{table}{refusals}",
        round.admitted(),
        round.turned_away().len(),
        round.dimension(),
        round.reserve(),
    )
}

#[derive(Serialize)]
struct Comparison<'a> {
    mechanisms: Vec<Compared<'a>>,
    refused: Vec<Refused>,
}

#[derive(Serialize)]
struct Compared<'a> {
    #[serde(flatten)]
    outcome: TimedOutcome<'a>,
    optimum_ratio: Option<f64>,
}

#[derive(Serialize)]
struct Refused {
    mechanism: &'static str,
    reason: String,
}

fn as_object(rows: &[Row], optimum: Option<Total>) -> String {
    let mut comparison = Comparison { mechanisms: Vec::new(), refused: Vec::new() };
    for row in rows {
        match &row.result {
            Ok(timed) => comparison
                .mechanisms
                .push(Compared { outcome: TimedOutcome::of(timed), optimum_ratio: optimum_ratio(timed, optimum) }),
            Err(refusal) => {
                comparison.refused.push(Refused { mechanism: row.name, reason: refusal.to_string() });
            }
        }
    }
    json(&comparison)
}
