//! Beyond the paper: the audit of every mechanism, on random rounds.

use truthfed::auction::catalog::{self, Claim, Entry};
use truthfed::auction::{Mechanism, Round};
use truthfed::audit::{Audit, Findings, Property};
use truthfed::generate;
use truthfed_report::page::{Section, Table, Verdict};

use super::Part;
use super::lab::{Lab, label, refuted_if};

/// Clients and dimensions of the random rounds.
const CLIENTS: (usize, usize) = (3, 12);
const DIMENSIONS: (usize, usize) = (1, 5);
/// Counterexamples on the page: against what the paper claims of its algorithm, and a group under pay-as-ask.
const TOLD: [(&str, Property); 4] = [
    ("truth-fedban", Property::Monotone),
    ("truth-fedban", Property::Truthful),
    ("truth-fedban", Property::IndividuallyRational),
    ("inc-feducb", Property::Collusion),
];

/// All but the one that only rounds with a purse have.
fn properties() -> impl Iterator<Item = Property> {
    Property::ALL.into_iter().filter(|property| *property != Property::Purse)
}

pub(super) fn run(lab: &Lab) -> Part {
    lab.stage("audit");
    let rounds: Vec<Round> =
        (0..lab.many(400)).map(|seed| generate::varied_within(seed, CLIENTS, DIMENSIONS)).collect();
    let mechanisms: Vec<Box<dyn Mechanism>> = catalog::entries().iter().map(Entry::mechanism).collect();
    let mechanisms: Vec<&dyn Mechanism> = mechanisms.iter().map(AsRef::as_ref).collect();
    let findings = Audit::new(properties()).rounds(&mechanisms, &rounds, || {});
    let text = format!(
        "The audit tries to refute eight properties of every mechanism on {} random rounds of 3 to 12 clients, most of \
         them odd on purpose. It tries many asks of every client and many joint lies of groups, and narrows a change \
         between two asks down to the micro-unit. A cell says in how many cases (clients, winners, groups or rounds) \
         the property is broken, and whether the mechanism claims it. Finding nothing is not a proof; the proofs are \
         in the documentation.",
        rounds.len()
    );
    let items = [verdicts(&findings).into(), counterexamples(&findings).into()];
    let section = Section::new("audit", "Audit", [text], items);
    Part { section, claims: vec![claims_hold(&findings)] }
}

fn verdicts(findings: &Findings) -> Table {
    let cell = |entry: &'static Entry, property: Property| {
        let verdict = findings.verdict(entry.name, property).expect("every property is checked");
        let claimed = if property.claim_of(&entry.claims()) == Claim::Yes { "claimed, " } else { "" };
        match verdict.violations {
            0 => format!("{claimed}holds in {}", verdict.cases),
            broken => format!("{claimed}broken in {broken} of {}", verdict.cases),
        }
    };
    let row = |entry: &'static Entry| {
        let cells = properties().map(|property| cell(entry, property));
        std::iter::once(label(entry.name)).chain(cells).collect()
    };
    let header = std::iter::once("mechanism".to_owned()).chain(properties().map(|property| property.to_string()));
    let caption = "Verdicts. monotone: asking less keeps winning. ir: no winner is paid below its ask. truthful: no \
                   lie pays. certified: the payment is the largest winning ask. collusion: no group can lie so that \
                   each member gains. collusion-total: no group gains in total. coverage: the target is met. optimum: \
                   no cheaper set meets it.";
    let rows = catalog::entries().iter().map(row);
    Table::new(caption, header, rows)
}

fn counterexamples(findings: &Findings) -> Table {
    let row = |&(name, property): &(&str, Property)| {
        let mechanism = catalog::find(name)?.mechanism();
        let verdict = findings.verdict(name, property)?;
        let found = verdict.counterexample(mechanism.as_ref())?;
        let replay = found.replay(mechanism.as_ref()).ok()?;
        let spec = found.round.spec();
        let clients: Vec<String> = spec.offers.iter().map(|offer| format!("{} {}", offer.client, offer.ask)).collect();
        let size = format!("{} in {}", spec.offers.len(), spec.base.dimension());
        Some(vec![label(name), property.to_string(), size, clients.join(", "), replay.to_string()])
    };
    let caption = "Counterexamples, shrunk as far as possible. `truthfed audit --out DIR` writes them, and `truthfed \
                   audit --replay FILE` explains one.";
    Table::new(
        caption,
        ["mechanism", "property", "clients in dimensions", "true costs", "what happens"],
        TOLD.iter().filter_map(row),
    )
}

fn claims_hold(findings: &Findings) -> Verdict {
    let claimed = catalog::entries().iter().flat_map(|entry| {
        let properties = properties().filter(|property| property.claim_of(&entry.claims()) == Claim::Yes);
        properties.filter_map(|property| findings.verdict(entry.name, property))
    });
    let (mut cases, mut broken, mut count) = (0, 0, 0);
    for verdict in claimed {
        (cases, broken, count) = (cases + verdict.cases, broken + verdict.violations, count + 1);
    }
    let claim = "Beyond the paper: the claims of all mechanisms here survive an audit.";
    let measured = format!("{count} claims of {} mechanisms, {cases} cases: {broken} broken", catalog::entries().len());
    Verdict::new("audit", claim, measured, refuted_if(broken > 0), "truthfed audit")
}
