//! Rounds that are not valid: each is refused with the place and the bound, and nothing is printed.

use super::support::{auction, truthfed};

const VALID: &str = r#"{"schema":"truthfed.round/1","lambda":0.1,"coverage":0.5,"reserve":100,
"base":[[1,0],[0,1]],"offers":[{"client":"ann","ask":12.5,"gram":[[1,0.5],[0.5,1]]},
{"client":"bob","ask":3,"gram":[[2,0],[0,2]]}]}"#;

/// The base, and the data of ann.
const BASE: &str = "[[1,0],[0,1]]";
const GRAM: &str = "[[1,0.5],[0.5,1]]";

/// The valid round with the first `from` changed.
fn changed(from: &str, to: &str) -> String {
    assert!(VALID.contains(from), "{from}");
    VALID.replacen(from, to, 1)
}

#[track_caller]
fn check_text(text: impl AsRef<[u8]>, expected: &str) {
    auction(text, &[]).refused(&format!("error: standard input: {expected}"));
}

#[track_caller]
fn check(from: &str, to: &str, expected: &str) {
    check_text(changed(from, to), expected);
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    check_text("", "EOF while parsing a value at line 1 column 0");
    check_text("round", "expected value at line 1 column 1");
    auction("{'schema': 1}", &[]).refused("key must be a string at line 1 column 2");
    check_text("null", "invalid type: null");
    check_text("{}", "missing field `schema`");
    check_text(format!("{VALID} {VALID}"), "trailing characters at line 3");
    check_text(format!("{VALID}x"), "trailing characters at line 3");
}

#[test]
fn a_valid_round_is_refused_truncated_wherever_it_ends() {
    auction(VALID, &[]).done();
    for length in (1..VALID.len()).step_by(3) {
        auction(&VALID[..length], &[]).refused("EOF while parsing");
    }
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.json");
    let check = |path: &str, expected: &str| truthfed(&["auction", path]).refused(expected);
    check(missing.to_str().unwrap(), "missing.json: No such file or directory");
    check(folder.path().to_str().unwrap(), "Is a directory");
    auction(b"{\"schema\": \"\xff\"}", &[]).refused("cannot read standard input: stream did not contain valid UTF-8");
}

#[test]
fn an_error_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("monday.json");
    std::fs::write(&path, changed("12.5", "-1")).unwrap();
    let expected = "monday.json: offers[0].ask of ann: `-1` is negative: the least amount is 0\n";
    truthfed(&["auction", path.to_str().unwrap()]).refused(expected);
}

#[test]
fn unknown_repeated_and_missing_fields_are_named() {
    check("\"lambda\"", "\"lamda\":1,\"lambda\"", "lamda: unknown field `lamda`, expected one of `schema`, `lambda`");
    check("\"ask\"", "\"bid\":1,\"ask\"", "offers[0].bid: unknown field `bid`, expected one of `client`, `ask`");
    check("\"lambda\"", "\"lambda\":1,\"lambda\"", "duplicate field `lambda`");
    check("\"ask\"", "\"ask\":1,\"ask\"", "offers[0]: duplicate field `ask`");
    check("\"schema\":\"truthfed.round/1\",", "", "missing field `schema`");
    check("\"lambda\":0.1,", "", "missing field `lambda`");
    check("\"coverage\":0.5,", "", "missing field `coverage`");
    check(",\"reserve\":100", "", "missing field `reserve`");
    check(&format!("\"base\":{BASE},"), "", "missing field `base`");
    check_text(VALID.split_once(",\"offers\"").unwrap().0.to_owned() + "}", "missing field `offers`");
    check("\"client\":\"ann\",", "", "offers[0]: missing field `client`");
    check("\"ask\":12.5,", "", "offers[0]: missing field `ask`");
    check(&format!(",\"gram\":{GRAM}"), "", "offers[0]: missing field `gram`");
    check(",\"gram\":[[2,0],[0,2]]", "", "offers[1]: missing field `gram`");
}

#[test]
fn wrong_types_and_schemas_are_named_with_their_place() {
    check("\"truthfed.round/1\"", "1", "schema: invalid type: integer `1`, expected a string");
    check("round/1", "round/2", "schema: is `truthfed.round/2`, this version reads `truthfed.round/1`");
    check("0.1", "\"0.1\"", "lambda: invalid type: string \"0.1\", expected f64");
    check("\"coverage\":0.5", "\"coverage\":null", "coverage: invalid type: null, expected f64");
    check("100", "\"100\"", "reserve: `\"100\"` is not a finite decimal number");
    check(BASE, "1", "base: invalid type: integer `1`, expected a sequence");
    check(BASE, "[1,0]", "base[0]: invalid type: integer `1`, expected a sequence");
    check(BASE, "[[1,true],[0,1]]", "base[0][1]: invalid type: boolean `true`, expected f64");
    check("\"ann\"", "7", "offers[0].client: invalid type: integer `7`, expected a string");
    check("12.5", "[12.5]", "offers[0].ask of ann: `[12.5]` is not a finite decimal number");
    check("12.5", "null", "offers[0].ask of ann: `null` is not a finite decimal number");
    check(GRAM, "{}", "offers[0].gram: invalid type: map, expected a sequence");
    check(GRAM, "[[1,\"0\"],[0,1]]", "offers[0].gram[0][1]: invalid type: string \"0\", expected f64");
}

#[test]
fn amounts_are_decimals_within_bounds() {
    let check_ask = |ask: &str, expected: &str| check("12.5", ask, &format!("offers[0].ask{expected}"));
    check_ask("NaN", ": NaN is not a finite number");
    check_ask("Infinity", ": Infinity is not a finite number");
    check_ask("-Infinity", ": Infinity is not a finite number");
    check_ask("1e999", " of ann: `1e999` is above the largest amount, 1000000000000");
    check_ask("1000000000000.000001", " of ann: `1000000000000.000001` is above the largest amount, 1000000000000");
    check_ask("-0.000001", " of ann: `-0.000001` is negative: the least amount is 0");
    check_ask("0.1234567", " of ann: `0.1234567` has more than 6 decimal places: the smallest step is 0.000001");
    check_ask("1e-7", " of ann: `1e-7` has more than 6 decimal places");
    check_ask("\"12.5\"", " of ann: `\"12.5\"` is not a finite decimal number");
    let check_reserve = |reserve: &str, expected: &str| check("100", reserve, &format!("reserve: {expected}"));
    check_reserve("-1", "`-1` is negative: the least amount is 0");
    check_reserve("NaN", "NaN is not a finite number");
    check_reserve("1e13", "`1e13` is above the largest amount, 1000000000000");
    check_reserve("0.0000001", "`0.0000001` has more than 6 decimal places");
}

#[test]
fn coverage_and_lambda_lie_within_bounds() {
    let check_coverage = |coverage: &str, expected: &str| {
        check("\"coverage\":0.5", &format!("\"coverage\":{coverage}"), expected);
    };
    for coverage in ["0", "1.5", "-1"] {
        check_coverage(coverage, &format!("coverage is {coverage}: it must be above 0 and at most 1"));
    }
    check_coverage("NaN", "coverage: NaN is not a finite number");
    check_coverage("1e999", "coverage: number out of range");
    let check_lambda = |lambda: &str, expected: &str| check("0.1", lambda, expected);
    check_lambda("0", "lambda is 0.0: it must be above 0 and at most 1e15");
    check_lambda("-1", "lambda is -1.0: it must be above 0 and at most 1e15");
    check_lambda("1e16", "lambda is 1e16: it must be above 0 and at most 1e15");
    check_lambda("NaN", "lambda: NaN is not a finite number");
    check_lambda("1e-13", "lambda is 1e-13, too small for matrices of this size and rounding: it must be");
    check(GRAM, "[[9e14,0],[0,1]]", "lambda is 0.1, too small for matrices of this size and rounding: it must be");
}

#[test]
fn there_are_clients_that_have_names_and_offer_once() {
    let check_client = |client: &str, expected: &str| check("\"ann\"", client, expected);
    check_client("\"\"", "offers[0].client: client name is empty");
    check_client("\"a\\u0007\"", "offers[0].client: client name \"a\\u{7}\" has a control character");
    check_client("\"a\\nb\"", "offers[0].client: client name \"a\\nb\" has a control character");
    check_client(&format!("\"{}\"", "x".repeat(129)), "offers[0].client: client name has 129 bytes, at most 128");
    check_client("\"bob\"", "client bob offers twice: each client may offer once");
    let (head, _) = VALID.split_once("\"offers\"").unwrap();
    check_text(format!("{head}\"offers\":[]}}"), "offers is empty: a round needs at least one offer");
}

#[test]
fn matrices_are_square_of_one_size_and_finite() {
    check(BASE, "[]", "base: dimension 0 is outside 1..=512");
    check(BASE, "[[]]", "base: row 0 has 0 entries, expected 1");
    check(BASE, "[[1,0],[0]]", "base: row 1 has 1 entries, expected 2");
    check(BASE, "[[1]]", "gram of ann has dimension 2, base has 1");
    check(GRAM, "[]", "offers[0].gram of ann: dimension 0 is outside 1..=512");
    check(GRAM, "[[1]]", "gram of ann has dimension 1, base has 2");
    check(GRAM, "[[1,0.5],[0.5,1,0]]", "offers[0].gram of ann: row 1 has 3 entries, expected 2");
    let row = format!("[{}]", vec!["0"; 513].join(","));
    check(GRAM, &format!("[{}]", vec![row; 513].join(",")), "offers[0].gram of ann: dimension 513 is outside 1..=512");
    check(GRAM, "[[NaN,0],[0,1]]", "offers[0].gram[0][0]: NaN is not a finite number");
    check(GRAM, "[[1,0],[0,Infinity]]", "offers[0].gram[1][1]: Infinity is not a finite number");
    check(GRAM, "[[1e999,0],[0,1]]", "offers[0].gram[0][0]: number out of range");
    check(GRAM, "[[1,0],[0,1.1e15]]", "offers[0].gram of ann: entry (1, 1) is 1100000000000000: it must be finite");
    check(BASE, "[[1.1e15,0],[0,1]]", "base: entry (0, 0) is 1100000000000000: it must be finite and at most 1e15");
}

#[test]
fn matrices_are_symmetric_within_1e_9_and_positive_semi_definite() {
    check(GRAM, "[[1,0.5],[0.5000000006,1]]", "offers[0].gram of ann: not symmetric: entry (1, 0) is 0.5000000006");
    check(BASE, "[[1,0],[0.1,1]]", "base: not symmetric: entry (1, 0) is 0.1, its mirror is 0");
    auction(changed(GRAM, "[[1,0.5],[0.5000000004,1]]"), &[]).done();
    let bound = "is not positive semi-definite: an eigenvalue lies below -1e-5 times its trace";
    check(GRAM, "[[1,2],[2,1]]", &format!("gram of ann {bound}"));
    check("[[2,0],[0,2]]", "[[-1,0],[0,-1]]", &format!("gram of bob {bound}"));
    check(BASE, "[[1,2],[2,1]]", &format!("base {bound}"));
    check(BASE, "[[-1,0],[0,2]]", &format!("base {bound}"));
}
