//! Help and completions: what they say is true.

use crate::auction::support::truthfed;

#[test]
fn the_help_lists_every_verb_and_each_has_its_own() {
    let help = truthfed(&["--help"]).done();
    for verb in ["auction", "mechanisms", "completions"] {
        assert!(help.contains(&format!("\n  {verb} ")), "{help}");
        assert!(truthfed(&[verb, "--help"]).done().contains(&format!("Usage: truthfed {verb} ")));
    }
    let version = truthfed(&["--version"]).done();
    let expected = concat!("truthfed ", env!("CARGO_PKG_VERSION"));
    let commit = version.trim_end().strip_prefix(expected).unwrap();
    // Without git at build time there is no commit.
    let is_commit = |text: &str| text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let inner = commit.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    assert!(commit.is_empty() || inner.is_some_and(is_commit), "{version}");
}

#[test]
fn options_stand_under_the_heading_they_belong_to() {
    let help = truthfed(&["auction", "--help"]).done();
    let (general, single) = help.split_once("Parameters of single mechanisms:").unwrap();
    for option in ["--example", "--generate", "--seed", "--write", "--compare", "--certify", "--coverage", "--reserve"]
    {
        assert!(general.contains(&format!("  {option}")), "{option}: {help}");
    }
    for option in ["--epsilon", "--first-budget", "--gamma", "--data-incentive", "--node-limit"] {
        assert!(single.contains(&format!("  {option}")), "{option}: {help}");
    }
}

/// The commands under "Examples:", without what is said of them.
#[cfg(unix)]
fn examples(help: &str) -> Vec<&str> {
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    let lines = examples.lines().map_while(|line| line.strip_prefix("  "));
    lines.map(|line| line.split_once("  ").unwrap().0).collect()
}

#[test]
#[cfg(unix)]
fn every_example_of_the_help_runs() {
    let binaries = assert_cmd::cargo::cargo_bin!("truthfed").parent().unwrap().display();
    let path = format!("{binaries}:{}", std::env::var("PATH").unwrap());
    for (verb, count) in [("auction", 7), ("audit", 6), ("simulate", 6), ("sweep", 6), ("plot", 7)] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("sweep.toml"), crate::sweep::SMALL).unwrap();
        if verb == "audit" {
            crate::audit::record(folder.path());
        }
        let help = truthfed(&[verb, "--help"]).done();
        assert_eq!(examples(&help).len(), count, "{help}");
        for example in examples(&help) {
            // Whether the rounds of a simulation refute that the greedy is optimal is up to them.
            let replayed = example.strip_prefix("truthfed audit --replay ");
            if replayed.is_none_or(|file| folder.path().join(file).exists()) {
                let mut shell = assert_cmd::Command::new("sh");
                shell.current_dir(&folder).env("PATH", &path).args(["-ec", example]);
                shell.timeout(crate::folders::LIMIT).assert().success();
            }
        }
    }
}

#[test]
fn completions_know_the_verbs_and_the_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = truthfed(&["completions", shell]).done();
        for word in ["auction", "mechanisms", "generate"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
