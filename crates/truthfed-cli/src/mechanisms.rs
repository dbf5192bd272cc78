//! `truthfed mechanisms`: what there is, and what each promises.

use std::collections::BTreeMap;

use serde::Serialize;
use truthfed::auction::catalog::{self, Entry};
use truthfed::auction::{Parameter, Value};

use crate::report::{Report, json, table};

pub(crate) fn run(as_json: bool) -> Report {
    let entries = catalog::entries().iter();
    Report::done(match as_json {
        true => json(&BTreeMap::from([("mechanisms", entries.map(item).collect::<Vec<_>>())])),
        false => text(),
    })
}

fn text() -> String {
    let row = |entry: &'static Entry| {
        let words = [entry.name, entry.summary, entry.target].map(str::to_owned);
        words.into_iter().chain(claims(entry)).collect()
    };
    let header =
        ["name", "what it is", "target", "individually rational", "truthful", "collusion-proof", "optimal", "purse"];
    let mechanisms = table(&header, &[], catalog::entries().iter().map(row).collect());
    let parameters = catalog::parameters().into_iter().map(parameter_row).collect();
    let parameters = table(&["parameter", "of", "default", "bound", "what it does"], &[2], parameters);
    format!(
        "{mechanisms}\
         c is the coverage of the round. Individually rational: no winner is paid less than it asks. Truthful: the \
         true cost\nis every client's best ask. Collusion-proof: no group can lie so that each of its members gains.\nOptimal: no \
         cheaper set meets c. Purse: payments keep to that of the round. `truthfed audit` tries to refute all of these, and that every target is met.\n\n\
         {parameters}"
    )
}

/// Individually rational, truthful, collusion-proof, optimal, within a purse.
fn claims(entry: &'static Entry) -> [String; 5] {
    let claims = entry.claims();
    [claims.individually_rational, claims.truthful, claims.collusion_proof, claims.optimal, claims.within_purse]
        .map(|claim| claim.to_string())
}

fn parameter_row((parameter, mechanisms): (&Parameter, Vec<&str>)) -> Vec<String> {
    let (of, default) = (mechanisms.join(", "), parameter.default().to_string());
    vec![parameter.name.to_owned(), of, default, format!("must {}", parameter.kind), parameter.help.to_owned()]
}

#[derive(Serialize)]
struct Item {
    name: &'static str,
    summary: &'static str,
    target: &'static str,
    individually_rational: String,
    truthful: String,
    collusion_proof: String,
    optimal: String,
    within_purse: String,
    default: bool,
    parameters: Vec<ParameterItem>,
}

#[derive(Serialize)]
struct ParameterItem {
    name: &'static str,
    default: Value,
    bound: String,
    help: &'static str,
}

fn item(entry: &'static Entry) -> Item {
    let Entry { name, summary, target, .. } = *entry;
    let [individually_rational, truthful, collusion_proof, optimal, within_purse] = claims(entry);
    let parameter = |parameter: &Parameter| {
        let Parameter { name, kind, help } = *parameter;
        ParameterItem { name, default: parameter.default(), bound: format!("must {kind}"), help }
    };
    let parameters = entry.parameters.iter().map(parameter).collect();
    let default = name == catalog::DEFAULT;
    Item {
        name,
        summary,
        target,
        individually_rational,
        truthful,
        collusion_proof,
        optimal,
        within_purse,
        default,
        parameters,
    }
}
