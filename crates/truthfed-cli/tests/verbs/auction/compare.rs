//! `--compare` and `mechanisms`: all mechanisms side by side.

use serde::Deserialize;
use truthfed::auction::catalog;

use super::support::{Outcome, auction, example, mechanisms, truthfed};

const REFUSAL: &str = "the exact search takes at most 128 clients, the round has 200: take a mechanism that does not \
                       search, such as clock";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Comparison {
    mechanisms: Vec<Outcome>,
    refused: Vec<Refused>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    mechanism: String,
    reason: String,
}

/// The rows of a table that start with a mechanism's name.
fn rows(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| catalog::find(name).is_some()).collect()
}

#[test]
fn all_mechanisms_are_compared() {
    let text = auction(example(), &["--compare"]).done();
    assert_eq!(rows(&text), catalog::names(), "{text}");
    assert!(text.starts_with("4 clients admitted, 1 turned away, dimension 2, reserve 100.\n"), "{text}");
}

#[test]
fn no_mechanism_with_the_target_of_vcg_costs_less() {
    let comparison: Comparison = auction(example(), &["--compare", "--json"]).object();
    assert!(comparison.refused.is_empty());
    assert!(comparison.mechanisms.iter().map(|outcome| outcome.mechanism.as_str()).eq(catalog::names()));
    let vcg = comparison.mechanisms.last().unwrap();
    assert_eq!(vcg.optimum_ratio, Some(1.0));
    for outcome in comparison.mechanisms.iter().filter(|outcome| outcome.target == vcg.target) {
        assert!(outcome.optimum_ratio.unwrap() >= 1.0, "{outcome:?}");
    }
}

#[test]
fn an_optimum_of_0_has_no_ratio() {
    let comparison: Comparison = auction(example(), &["--compare", "--json", "--coverage", "0.01"]).object();
    assert!(comparison.mechanisms.iter().all(|outcome| outcome.optimum_ratio.is_none()));
}

#[test]
fn a_mechanism_that_gives_up_leaves_the_others_and_says_why() {
    let text = truthfed(&["auction", "--generate", "200,3", "--compare"]).done();
    assert!(text.ends_with(&format!("vcg: {REFUSAL}.\n")), "{text}");
    let comparison: Comparison = truthfed(&["auction", "--generate", "200,3", "--compare", "--json"]).object();
    assert_eq!(comparison.mechanisms.len(), catalog::names().len() - 1);
    assert_eq!(comparison.refused, [Refused { mechanism: "vcg".to_owned(), reason: REFUSAL.to_owned() }]);
}

#[test]
fn the_mechanisms_are_listed_with_what_they_promise() {
    let text = truthfed(&["mechanisms"]).done();
    assert_eq!(rows(&text), catalog::names(), "{text}");
    for word in ["individually rational", "truthful", "collusion-proof", "c^(1-1/e)"] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
    let listed = mechanisms();
    assert!(listed.iter().map(|item| item.name.as_str()).eq(catalog::names()));
    assert!(listed.iter().filter(|item| item.default).map(|item| item.name.as_str()).eq(["clock"]));
}
