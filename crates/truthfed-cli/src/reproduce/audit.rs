//! Beyond the paper: the audit of every mechanism, on random rounds.

use truthfed::Amount;
use truthfed::auction::catalog::{self, Claim, Entry};
use truthfed::auction::{Mechanism, Round};
use truthfed::audit::{Audit, Counterexample, Findings, Property, Replay};
use truthfed::generate;
use truthfed_report::page::{Section, Table};

use super::Part;
use super::claim::{Evidence, Number, Own, Sample};
use super::lab::{Lab, label};
use super::readings::{FINEST, truth_fedban};

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

/// The part, and files of counterexamples by name.
pub(super) fn run(lab: &Lab) -> (Part, Vec<(String, String)>) {
    lab.stage("audit");
    let rounds: Vec<Round> =
        (0..lab.many(AUDITED)).map(|seed| generate::varied_within(seed, CLIENTS, DIMENSIONS)).collect();
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
    let read = readings(lab);
    let items =
        [verdicts(&findings).into(), counterexamples(&findings).into(), reading_table(&read, lab.many(ROUNDS)).into()];
    let section = Section::new("audit", "Audit", [text], items);
    let documents = read.into_iter().flat_map(|it| it.documents).collect();
    (Part { section, claims: Vec::new(), ours: vec![claims_hold(lab, &findings)] }, documents)
}

/// Random rounds for all mechanisms.
const AUDITED: u64 = 400;
/// Random rounds for each reading of Truth-FedBan.
const ROUNDS: u64 = 60;
/// What the paper claims of its algorithm.
const OF_THE_PAPER: [Property; 3] = [Property::Monotone, Property::Truthful, Property::IndividuallyRational];

/// Truth-FedBan under one choice of its parameters.
struct Read {
    /// Target, bisection and budget.
    choice: [&'static str; 3],
    /// Cases and violations of each property.
    counts: Vec<(u64, u64)>,
    /// The smallest counterexample to monotonicity, in words.
    smallest: String,
    /// Names and contents of the files of counterexamples.
    documents: Vec<(String, String)>,
}

/// Audits Truth-FedBan under every choice of its readings. With an ask of 0 the paper's budgets would stay at 0.
fn readings(lab: &Lab) -> Vec<Read> {
    let is_usual = |round: &Round| round.seats().all(|seat| round.ask(seat) > Amount::ZERO);
    let rounds = (0..).map(|seed| generate::varied_within(seed, CLIENTS, DIMENSIONS)).filter(is_usual);
    let rounds: Vec<Round> = rounds.take(lab.many(ROUNDS) as usize).collect();
    let mut read = Vec::new();
    for target in ["printed", "normalised", "plain"] {
        for bisection in ["zero", "ask"] {
            for budget in ["false", "true"] {
                read.push(audit_reading([target, bisection, budget], &rounds));
            }
        }
    }
    read
}

fn audit_reading(choice: [&'static str; 3], rounds: &[Round]) -> Read {
    let [target, bisection, budget] = choice;
    let mechanism = truth_fedban(target, &[("bisection_from", bisection), ("strict_budget", budget), FINEST]);
    let mechanism = mechanism.as_ref();
    let findings = Audit::new(OF_THE_PAPER).rounds(&[mechanism], rounds, || {});
    let verdict = |property| findings.verdict(mechanism.name(), property).expect("every property is checked");
    let counts = OF_THE_PAPER.map(|property| (verdict(property).cases, verdict(property).violations)).to_vec();
    let smallest = verdict(Property::Monotone).counterexample(mechanism);
    let words = |found: &Counterexample| {
        let replay = found.replay(mechanism).ok()?;
        let [size, costs, what] = told(found, &replay);
        Some(format!("{size}, costs {costs}: {what}"))
    };
    let smallest_words = smallest.as_ref().and_then(words).unwrap_or_else(|| "none found".to_owned());
    let name = format!("truth-fedban-{target}-from-{bisection}{}", if budget == "true" { "-strict" } else { "" });
    let document = |property: Property| {
        let found = verdict(property).counterexample(mechanism)?;
        Some((format!("{name}-{property}.json"), found.to_string()))
    };
    Read {
        choice,
        counts,
        smallest: smallest_words,
        documents: OF_THE_PAPER.into_iter().filter_map(document).collect(),
    }
}

fn reading_table(read: &[Read], rounds: u64) -> Table {
    let row = |it: &Read| {
        let [target, bisection, budget] = it.choice;
        let budget = if budget == "true" { "less than" } else { "at most" };
        let counts = it.counts.iter().map(|(cases, broken)| format!("{broken} of {cases}"));
        let head = [target, bisection, budget].map(str::to_owned);
        head.into_iter().chain(counts).chain([it.smallest.clone()]).collect()
    };
    let header = [
        "target",
        "bisection from",
        "spends",
        "monotone broken",
        "truthful broken",
        "ir broken",
        "smallest round that is not monotone",
    ];
    let caption = format!(
        "Truth-FedBan under every reading of its target, its bisection and its budget, on {rounds} random rounds with asks above 0, with \
         payments to the micro-unit. `counterexamples/` has the files, and `truthfed audit --replay FILE` explains one."
    );
    Table::new(caption, header, read.iter().map(row)).with_numeric([3, 4, 5])
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
        Some([label(name), property.to_string()].into_iter().chain(told(&found, &replay)).collect())
    };
    let caption = "Counterexamples, shrunk as far as possible. `truthfed audit --out DIR` writes them, and `truthfed \
                   audit --replay FILE` explains one.";
    Table::new(
        caption,
        ["mechanism", "property", "clients in dimensions", "true costs", "what happens"],
        TOLD.iter().filter_map(row),
    )
}

/// Clients in dimensions, true costs, and what happens.
fn told(found: &Counterexample, replay: &Replay) -> [String; 3] {
    let spec = found.round.spec();
    let clients: Vec<String> = spec.offers.iter().map(|offer| format!("{} {}", offer.client, offer.ask)).collect();
    [format!("{} in {}", spec.offers.len(), spec.base.dimension()), clients.join(", "), replay.to_string()]
}

fn claims_hold(lab: &Lab, findings: &Findings) -> Own {
    let claimed = catalog::entries().iter().flat_map(|entry| {
        let properties = properties().filter(|property| property.claim_of(&entry.claims()) == Claim::Yes);
        properties.filter_map(|property| findings.verdict(entry.name, property))
    });
    let (mut cases, mut broken, mut count) = (0, 0, 0);
    for verdict in claimed {
        (cases, broken, count) = (cases + verdict.cases, broken + verdict.violations, count + 1);
    }
    let claim = "The claims of all mechanisms here survive an audit.";
    let measured = format!("{count} claims of {} mechanisms, {cases} cases: {broken} broken", catalog::entries().len());
    let numbers = vec![Number::never("broken cases", broken as usize, cases as usize)];
    let rounds = lab.many(AUDITED);
    let command = format!("truthfed audit --seed 0 --random {rounds} --runs 0");
    Evidence::new(measured, numbers, Sample::odd_rounds(rounds), command).on("audit", claim)
}
