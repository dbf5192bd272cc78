//! `truthfed mechanisms`: what there is, and what each promises.

use serde::Serialize;
use truthfed::auction::catalog::{self, Entry};
use truthfed::auction::{Parameter, Value};

use crate::args::MechanismsArgs;
use crate::report::{Report, json, table};

pub(crate) fn run(args: &MechanismsArgs) -> Report {
    Report::done(if args.json { json(&list()) } else { text() })
}

fn text() -> String {
    let row = |entry: &'static Entry| {
        let claims = entry.claims();
        vec![
            entry.name.to_owned(),
            entry.summary.to_owned(),
            entry.target.to_owned(),
            claims.individually_rational.to_string(),
            claims.truthful.to_string(),
            claims.collusion_proof.to_string(),
            claims.optimal.to_string(),
        ]
    };
    let header = ["name", "what it is", "target", "individually rational", "truthful", "collusion-proof", "optimal"];
    let mechanisms = table(&header, &[], catalog::entries().iter().map(row).collect());
    let parameters = catalog::parameters().into_iter().map(parameter_row).collect();
    let parameters = table(&["parameter", "of", "default", "bound", "what it does"], &[2], parameters);
    format!(
        "{mechanisms}\
         c is the coverage of the round. Individually rational: no winner is paid less than it asks. Truthful: the \
         true cost\nis every client's best ask. Collusion-proof: no group can lie so that each of its members gains.\nOptimal: no \
         cheaper set meets c. `truthfed audit` tries to refute all of these, and that every target is met.\n\n\
         {parameters}"
    )
}

fn parameter_row((parameter, mechanisms): (&Parameter, Vec<&str>)) -> Vec<String> {
    let (of, default) = (mechanisms.join(", "), parameter.default().to_string());
    vec![parameter.name.to_owned(), of, default, format!("must {}", parameter.kind), parameter.help.to_owned()]
}

#[derive(Serialize)]
struct List {
    mechanisms: Vec<Item>,
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

fn parameter(parameter: &Parameter) -> ParameterItem {
    let Parameter { name, kind, help } = *parameter;
    ParameterItem { name, default: parameter.default(), bound: format!("must {kind}"), help }
}

fn list() -> List {
    let item = |entry: &'static Entry| Item {
        name: entry.name,
        summary: entry.summary,
        target: entry.target,
        individually_rational: entry.claims().individually_rational.to_string(),
        truthful: entry.claims().truthful.to_string(),
        collusion_proof: entry.claims().collusion_proof.to_string(),
        optimal: entry.claims().optimal.to_string(),
        default: entry.name == catalog::DEFAULT,
        parameters: entry.parameters.iter().map(parameter).collect(),
    };
    List { mechanisms: catalog::entries().iter().map(item).collect() }
}
