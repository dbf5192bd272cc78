//! Rules without a constant factor on social cost, shown by rounds in which they cost ever more times the optimum.

use truthfed::auction::{Everyone, Greedy, IncFedUcb, Mechanism, Refusal, Round, RoundDocument, Seat};
use truthfed_report::page::VerdictKind;

use super::claim::{Claim, Evidence, Number, Sample};
use super::decision::Side;
use super::optimum::{cost, optimum};
use super::readings::all;

/// The price of the client that a rule need not have bought.
const PRICES: [u32; 3] = [2, 4, 8];

/// A statement that a rule has no constant factor.
struct Rule {
    id: &'static str,
    source: &'static str,
    claim: &'static str,
    why: &'static str,
    select: fn(&Round) -> Result<Vec<Seat>, Refusal>,
    /// The round for a price.
    round: fn(u32) -> String,
    /// The file of the round for the first price.
    file: &'static str,
}

const RULES: [Rule; 4] = [
    Rule {
        id: "greedy-no-constant",
        source: "Section 5.1, Appendix B",
        claim: "Plain greedy has no constant-factor guarantee on social cost.",
        why: "It buys a large client that is good value where a small one would do.",
        select: |round| Greedy.select(round),
        round: overshooting,
        file: "greedy",
    },
    Rule {
        id: "cheapest-no-constant",
        source: "Section 4.2",
        claim: "Ranking clients by their claimed costs gives no guarantee on social cost.",
        why: "It buys many cheap clients that add little before the one that suffices.",
        select: cheapest_first,
        round: crowded,
        file: "cheapest",
    },
    Rule {
        id: "inc-feducb-social-cost",
        source: "Table 1, Section 3",
        claim: "Inc-FedUCB gives no guarantee on social cost.",
        why: "It adds clients by what they bring, whatever they ask (reconstructed).",
        select: |round| IncFedUcb::default().select(round),
        round: outranking,
        file: "inc-feducb",
    },
    Rule {
        id: "dislinucb-social-cost",
        source: "Table 1",
        claim: "DisLinUCB gives no guarantee on social cost.",
        why: "Everyone takes part, also a client that is not needed.",
        select: |round| Everyone.select(round),
        round: overshooting,
        file: "everyone",
    },
];

pub(super) fn claims() -> Vec<Claim> {
    RULES.iter().map(claim).collect()
}

/// Files of the first round of each rule.
pub(super) fn files() -> impl Iterator<Item = (String, String)> {
    RULES.iter().map(|rule| (format!("no-constant-{}.json", rule.file), (rule.round)(PRICES[0])))
}

fn claim(rule: &Rule) -> Claim {
    let ratio = |price: u32| {
        let round = RoundDocument::read_round(&(rule.round)(price)).expect("a valid round");
        cost(&round, &(rule.select)(&round).expect("it never refuses")).to_f64() / optimum(&round)
    };
    let ratios = PRICES.map(ratio);
    let [first, second, third] = ratios.map(|ratio| format!("{ratio:.1}"));
    let measured = format!("in constructed rounds it costs {first}, {second} and {third} times the optimum, and so on");
    let number = |(price, ratio): (u32, f64)| Number::exact(format!("ratio at a price of {price}"), ratio);
    let grown = ratios.windows(2).map(|pair| pair[1] / pair[0]).fold(f64::INFINITY, f64::min);
    // The price doubles, and the rest of the cost stays.
    let growth = Number::exact("least growth of the ratio as the price doubles", grown)
        .claimed(Side::Above(1.5), VerdictKind::NotReproduced);
    let numbers = PRICES.into_iter().zip(ratios).map(number).chain([growth]).collect();
    // No mechanism here buys the cheapest first.
    let command = match rule.id {
        "cheapest-no-constant" => "truthfed reproduce".to_owned(),
        _ => format!("truthfed auction counterexamples/no-constant-{}.json --compare", rule.file),
    };
    let evidence = Evidence::new(measured, numbers, Sample::constructed(PRICES.len() as u64), command);
    Claim::new(rule.id, rule.source, rule.claim, rule.why, vec![evidence.under(all())])
}

/// A round in one dimension, of clients with a name, an ask and a Gram matrix.
pub(super) fn document(coverage: f64, offers: &[(String, f64, f64)]) -> String {
    let offer = |(client, ask, gram): &(String, f64, f64)| {
        format!(r#"    {{ "client": "{client}", "ask": {ask}, "gram": [[{gram}]] }}"#)
    };
    let offers: Vec<String> = offers.iter().map(offer).collect();
    format!(
        "{{\n  \"schema\": \"truthfed.round/1\",\n  \"lambda\": 1,\n  \"coverage\": {coverage},\n  \"reserve\": 10000,\n  \
         \"base\": [[0]],\n  \"offers\": [\n{}\n  ]\n}}\n",
        offers.join(",\n")
    )
}

/// A large client is better value than a small one that would do.
fn overshooting(price: u32) -> String {
    let (small, large) = (1.0, 1.1 * f64::from(1 << price));
    let coverage = (1.0 + small) / (1.0 + small + large);
    document(coverage, &[("large".to_owned(), f64::from(price), large), ("small".to_owned(), 1.0, small)])
}

/// Clients that ask 1 and add next to nothing, and one that asks 2 and suffices.
fn crowded(price: u32) -> String {
    let small = |number: u32| (format!("small-{number:02}"), 1.0, 0.001);
    let offers: Vec<(String, f64, f64)> = (1..=4 * price).map(small).chain([("large".to_owned(), 2.0, 9.0)]).collect();
    document(0.9, &offers)
}

/// Two clients that ask 1 suffice together; a third brings a little more, and is ranked first.
fn outranking(price: u32) -> String {
    let client = |name: &str, ask: f64, gram: f64| (name.to_owned(), ask, gram);
    document(0.69, &[client("a", 1.0, 2.9), client("b", 1.0, 2.9), client("large", f64::from(price), 3.0)])
}

/// Buys clients from the cheapest on until the constraint is met.
fn cheapest_first(round: &Round) -> Result<Vec<Seat>, Refusal> {
    let mut order: Vec<Seat> = round.seats().collect();
    order.sort_by_key(|seat| round.ask(*seat));
    let (mut bought, required) = (Vec::new(), round.required(round.coverage()));
    for seat in order {
        if round.level(&bought) >= required {
            break;
        }
        bought.push(seat);
        bought.sort();
    }
    Ok(bought)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truthfed_report::page::VerdictKind;

    #[test]
    fn every_rule_costs_ever_more_times_the_optimum() {
        for claim in claims() {
            assert_eq!(claim.verdict("A"), VerdictKind::Reproduced, "{}", claim.id);
        }
    }
}
