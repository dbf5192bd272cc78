//! Command lines that are not valid: each is refused with the option and the bound, and nothing is printed.

use serde_json::Value;

use super::support::{auction, example, truthfed};

/// A valid round with an option that takes no such value.
#[track_caller]
fn check_option(option: &str, value: &str, expected: &str) {
    let run = auction(example(), &[option, value]);
    assert!(run.err.contains(option), "{option} is not named: {}", run.err);
    run.refused(expected);
}

#[track_caller]
fn check(args: &[&str], expected: &str) {
    truthfed(&[&["auction"], args].concat()).refused(expected);
}

#[test]
fn values_lie_within_bounds() {
    for (value, shown) in [("0", "0"), ("1.5", "1.5"), ("-1", "-1"), ("nan", "NaN"), ("inf", "inf")] {
        check_option("--coverage", value, &format!("coverage is {shown}: it must be above 0 and at most 1"));
    }
    check_option("--coverage", "half", "`half` is not a number");
    check_option("--reserve", "-1", "`-1` is negative: the least amount is 0");
    check_option("--reserve", "1e13", "`1e13` is above the largest amount, 1000000000000");
    check_option("--reserve", "0.1234567", "`0.1234567` has more than 6 decimal places");
    check_option("--reserve", "much", "`much` is not a finite decimal number");
    for (value, shown) in [("0", "0"), ("-1", "-1"), ("nan", "NaN"), ("inf", "inf"), ("1e-10", "0.0000000001")] {
        check_option("--epsilon", value, &format!("epsilon is {shown}: it must lie between 1e-9 and 1e9"));
    }
    check_option("--gamma", "0", "gamma is 0: it must be above 0");
    check_option("--gamma", "-1", "`-1` is negative: the least amount is 0");
    check_option("--first-budget", "0", "first_budget is 0: it must be above 0");
    check_option("--first-budget", "-1", "`-1` is negative: the least amount is 0");
    check_option("--node-limit", "many", "node_limit is `many`: it must be a whole number");
    check_option("--target", "lax", "target is `lax`: it must be one of printed, normalised, plain");
    for threads in ["0", "1025", "100000000"] {
        check_option("--threads", threads, &format!("{threads} is not in 1..=1024"));
    }
    check_option("--mechanism", "lottery", "[possible values: everyone, inc-feducb, truth-fedban, greedy");
}

#[test]
fn a_parameter_that_no_chosen_mechanism_has_is_refused_with_those_that_have_it() {
    check_option("--epsilon", "1", "--epsilon is not a parameter of clock, but of truth-fedban, ratchet");
    auction(example(), &["-m", "greedy", "--data-incentive"]).refused("--data-incentive is not a parameter of greedy");
    let plain = ["auction", "--generate", "10,2", "--compare", "--json"];
    let given = [&plain[..], &["--epsilon", "0.1", "--node-limit", "0"]].concat();
    let [plain, given] = [&plain[..], &given].map(|args| truthfed(args).object::<Value>());
    assert_eq!((plain["refused"].as_array().unwrap().len(), &given["refused"][0]["mechanism"]), (0, &"vcg".into()));
    let [plain, given] = [plain, given].map(|object| object["mechanisms"][2]["winners"].clone());
    assert_ne!(plain, given, "truth-fedban has an epsilon");
}

#[test]
fn a_comparison_is_of_all_mechanisms_and_not_certified() {
    auction(example(), &["--compare", "--mechanism", "clock"]).refused("cannot be used with '--mechanism");
    auction(example(), &["--compare", "--certify"]).refused("cannot be used with '--certify'");
}

#[test]
fn the_size_of_a_generated_round_lies_within_bounds() {
    let check_size = |size: &str, expected: &str| check(&["--generate", size], expected);
    check_size("0,5", "N is 0: it must lie in 1..=10000000");
    check_size("10000001,1", "N is 10000001: it must lie in 1..=10000000");
    check_size("5,0", "d is 0: it must lie in 1..=512");
    check_size("5,513", "d is 513: it must lie in 1..=512");
    check_size("10000000,512", "N d (d + 1) / 2 is 1313280000000: it must be at most 536870912");
    for size in ["5", "5,", "x,y", "5,3,1", "5.0,3", "99999999999999999999,5"] {
        check_size(size, &format!("`{size}` is not of the form N,d, such as 1000,5"));
    }
}

#[test]
fn a_round_is_either_read_or_generated_or_the_example() {
    check(&[], "required arguments were not provided:\n  <ROUND.json>");
    check(&["-", "--generate", "5,2"], "cannot be used with '--generate");
    check(&["-", "--example"], "'[ROUND.json]' cannot be used with '--example'");
    check(&["--example", "--generate", "5,2"], "cannot be used with '--generate");
}

#[test]
fn seeding_and_writing_are_for_generated_rounds_only() {
    check(&["--write", "x.json"], "required arguments were not provided:\n  --generate <N,d>\n\n");
    check(&["--seed", "3"], "required arguments were not provided:\n  --generate <N,d>\n\n");
    check(&["--generate", "5,2", "--write", "-"], "--write takes the name of a file; - is not one");
    check(&["--generate", "5,2", "--seed", "x"], "invalid value 'x' for '--seed");
    for option in ["--write", "--seed"] {
        check(&["round.json", option, "3"], "'[ROUND.json]' cannot be used with");
        check(&["--example", option, "3"], "'--example' cannot be used with");
    }
    assert!(!std::path::Path::new("3").exists());
}

#[test]
fn without_arguments_the_help_goes_to_standard_error() {
    truthfed(&[]).refused("Usage: truthfed [OPTIONS] <COMMAND>");
    truthfed(&["auctoin"]).refused("unrecognized subcommand 'auctoin'");
    truthfed(&["completions", "cmd"]).refused("[possible values: bash, elvish, fish, powershell, zsh]");
}

#[test]
fn a_mechanism_that_gives_up_says_what_to_do_instead() {
    let args = ["auction", "--generate", "200,3", "-m", "vcg"];
    truthfed(&args).refused("takes at most 128 clients, the round has 200: take a mechanism that does not search");
    auction(example(), &["-m", "vcg", "--node-limit", "0"]).refused("visited its limit of 0 nodes for 4 clients");
}
