use truthfed::statistics::Gram;

use super::*;

fn data(contexts: &[[f64; 2]]) -> Statistics {
    let mut data = Statistics::new(2).unwrap();
    contexts.iter().for_each(|context| data.observe(context, 1.0).unwrap());
    data
}

async fn check(policy: &str, expected: Option<&str>) {
    let data = data(&[[1.0, 0.0], [0.0, 3.0], [0.0, 0.0]]);
    let price = Policy::from_toml(policy).unwrap().price(RoundId(4), &data).await;
    assert_eq!(price.map(|price| price.to_string()).as_deref(), expected, "{policy}");
}

#[tokio::test]
async fn policies_ask_what_they_say() {
    check("kind = 'constant'\nask = 12.5", Some("12.5")).await;
    check("kind = 'constant'\nask = 3", Some("3")).await;
    check("kind = 'constant'\nask = '0.000001'", Some("0.000001")).await;
    check("kind = 'per-sample'\nprice = 0.1", Some("0.3")).await;
    check("kind = 'per-sample'\nprice = 0.1\nbase = 2", Some("2.3")).await;
    check("kind = 'per-sample'\nprice = 1e12", Some("1000000000000")).await;
    // The determinant is 1 * 9.
    check("kind = 'paper'\nweight = 0.5\nbase = 7.25", Some("11.75")).await;
    check("kind = 'paper'\nweight = 1e300\nbase = 0", Some("1000000000000")).await;
}

#[tokio::test]
async fn the_default_is_a_hundredth_of_a_unit_for_each_sample() {
    let price = Policy::default().price(RoundId(1), &data(&[[1.0, 0.0]])).await;
    assert_eq!(price.unwrap().to_string(), "0.01");
}

#[tokio::test]
async fn data_without_information_costs_the_base_in_the_papers_policy() {
    let policy = Policy::from_toml("kind = 'paper'\nweight = 5\nbase = 2").unwrap();
    let price = policy.price(RoundId(1), &data(&[[1.0, 0.0], [2.0, 0.0]])).await;
    assert_eq!(price.unwrap().to_string(), "2");
}

#[tokio::test]
async fn information_beyond_all_floats_does_not_make_data_free() {
    let large = Statistics::from_parts(Gram::zeros(60).unwrap().ridge(1e15), vec![0.0; 60], 1).unwrap();
    for (weight, expected) in [("0", "3.5"), ("1", "1000000000000")] {
        let policy = Policy::from_toml(&format!("kind = 'paper'\nweight = {weight}\nbase = 3.5")).unwrap();
        assert_eq!(policy.price(RoundId(1), &large).await.unwrap().to_string(), expected);
    }
}

fn shell(script: &str) -> String {
    format!("kind = 'command'\ncommand = ['sh', '-c', '''{script}''']\ntimeout_ms = 5000")
}

#[tokio::test]
async fn a_command_reads_a_summary_and_prints_a_price() {
    check(&shell("echo 4.25"), Some("4.25")).await;
    check(&shell("exec < /dev/null; echo 1"), Some("1")).await;
    check(&shell(r#"sed -n 's/.*"round":\([0-9]*\).*"samples":\([0-9]*\).*/\1\2/p'"#), Some("43")).await;
    check(&shell(r#"grep -q '"dimension":2' && echo 5"#), Some("5")).await;
}

#[tokio::test]
async fn a_command_that_fails_leads_to_no_offer() {
    for script in ["exit 3", "echo 4; exit 1", "echo nothing", "echo -1", "true", "echo 1 2", "kill -9 $$"] {
        check(&shell(script), None).await;
    }
    check("kind = 'command'\ncommand = ['/no/such/program']", None).await;
    check(&shell("yes 1"), None).await;
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended() {
    let started = std::time::Instant::now();
    for script in ["exec sleep 600", "exec >&-; exec sleep 600"] {
        check(&shell(script).replace("5000", "300"), None).await;
    }
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_wrong_policy_is_refused_with_its_reason() {
    let check = |text: &str, expected: &str| {
        let error = Policy::from_toml(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    };
    check("", "missing field `kind`");
    check("kind = 'free'", "unknown variant `free`");
    check("kind = 'constant'", "missing field `ask`");
    check("kind = 'constant'\nask = 1\nprice = 2", "unknown field `price`");
    check("kind = 'constant'\nask = -1", "`-1` is negative");
    check("kind = 'constant'\nask = 0.0000001", "more than 6 decimal places");
    check("kind = 'constant'\nask = nan", "not a finite decimal number");
    check("kind = 'constant'\nask = 'a lot'", "`a lot` is not a finite decimal number");
    check("kind = 'per-sample'\nprice = 2e12", "above the largest amount");
    check("kind = 'paper'\nweight = -1.0\nbase = 0", "weight is -1: it must be finite and at least 0");
    check("kind = 'paper'\nweight = 1\nbase = inf", "base is inf: it must be finite and at least 0");
    check("kind = 'command'\ncommand = []", "command is empty");
    check("kind = 'command'\ncommand = ['']", "command is empty");
    check("kind = 'command'\ncommand = ['x']\ntimeout_ms = 0", "timeout_ms is 0");
    check("kind = constant", "constant");
}

#[test]
fn a_policy_that_could_never_sell_or_be_run_is_refused_before_there_is_data() {
    let reserve = Amount::from_units(100);
    let check = |text: &str| Policy::from_toml(text).unwrap().check(reserve).map_err(|error| error.to_string());
    for fine in [
        "kind = 'constant'\nask = '100'",
        "kind = 'per-sample'\nprice = '500'\nbase = '99.5'",
        "kind = 'paper'\nweight = 1.0\nbase = 100.0",
        "kind = 'command'\ncommand = ['sh', '-c', 'echo 1']",
        "kind = 'command'\ncommand = ['/bin/sh']",
    ] {
        assert_eq!(check(fine), Ok(()), "{fine}");
    }
    for (wrong, told) in [
        ("kind = 'constant'\nask = '100.000001'", "ask is 100.000001, above the reserve of 100"),
        ("kind = 'per-sample'\nprice = '0'\nbase = '101'", "base is 101"),
        ("kind = 'paper'\nweight = 0.0\nbase = 1e300", "base is 1000000000000"),
        ("kind = 'command'\ncommand = ['no-such-program']", "no program `no-such-program`"),
        ("kind = 'command'\ncommand = ['/etc/passwd']", "no program `/etc/passwd`"),
        ("kind = 'command'\ncommand = ['/etc']", "no program `/etc`"),
    ] {
        let error = check(wrong).unwrap_err();
        assert!(error.contains(told), "{error}");
    }
}
