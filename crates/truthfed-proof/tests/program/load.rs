//! What the program does, small: no figure is compared with its bound here. Two parts are left to `make load`, as no machine is slow
//! enough for them in few dimensions: the takeover, whose auction must last longer than a lease, and the hostile members whose offers are
//! refused, which must be slower than what any member may send.

use std::path::Path;
use std::process::Command;

use truthfed_node::testing::{Database, Place};
use truthfed_proof::load::figures::Figure;
use truthfed_proof::load::plan::Plan;
use truthfed_proof::load::world::{Shape, World};
use truthfed_proof::load::{attack, burst, ledger, outage, page};

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_truthfed-proof"))
}

fn check_measured(figures: &[Figure], expected: usize) {
    assert_eq!(figures.len(), expected);
    assert!(figures.iter().all(|figure| figure.value.is_finite()), "{figures:?}");
}

#[tokio::test]
async fn twenty_agents_offer_at_once_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::make(&folder.path().join("fed"), &Shape::new(20, 40, burst::COVERAGE)).unwrap();
    check_measured(&burst::burst(&world, program()).await.unwrap(), 5);
}

#[tokio::test]
async fn rounds_go_on_among_slow_connections_and_beside_a_flood() {
    let folder = tempfile::tempdir().unwrap();
    let plan = Plan { honest: 6, hostile: 20, attacked_s: 0, ..Plan::default() };
    let members = attack::members(&plan);
    let connections = plan.hostile + 2 * members;
    let world = World::make(&folder.path().join("fed"), &Shape::new(members, connections, attack::COVERAGE)).unwrap();
    check_measured(&attack::attack(&world, program(), &plan).await.unwrap(), 8);
}

#[test]
fn a_federation_heals_after_its_database_was_away_behind_a_proxy_that_follows_its_health() {
    let (folder, database) = (tempfile::tempdir().unwrap(), Database::create());
    let (gate, address) = outage::Gate::to(database.address()).unwrap();
    let world = World::make(&folder.path().join("fed"), &outage::shape(&address)).unwrap();
    let plan = Plan { outage_s: 4, ..Plan::default() };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    check_measured(&runtime.block_on(outage::outage(&world, program(), &gate, &plan)).unwrap(), 4);
    world.check_ledger().unwrap();
}

#[tokio::test]
async fn a_journal_is_filled_served_again_after_a_kill_and_right() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::make(&folder.path().join("fed"), &Shape::new(20, 40, ledger::COVERAGE)).unwrap();
    let entries = ledger::fill(&world, 200).unwrap();
    assert!((200..300).contains(&entries), "{entries}");
    let restarted = ledger::restart(&world, program()).await.unwrap();
    let verified = ledger::verify(&world).unwrap();
    assert!(restarted.value > 0.0);
    check_measured(&verified, 2);
    assert!(world.store().unwrap().head().unwrap().number > entries);
}

#[tokio::test]
async fn a_page_of_many_rounds_is_measured_and_its_journal_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let world =
        World::make(&folder.path().join("fed"), &Shape::new(10, 20, page::COVERAGE).at_free_ports().unwrap()).unwrap();
    let entries = page::fill(&world, 30).unwrap();
    check_measured(&page::views(&world, program(), 30).await.unwrap(), 9);
    let report = world.check_ledger().unwrap();
    assert!(report.rounds == 30 && report.payments > 30 && report.entries >= entries, "{report}");
}

#[test]
fn the_program_prints_figures_as_json_and_says_what_it_cannot_do() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        Command::new(program()).args(["load", "--folder"]).arg(folder.path()).args(args).output().unwrap()
    };
    let output = run(&["--only", "ledger", "--members", "5", "--rows", "50", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["figures"].as_array().unwrap().len(), 3 + 3);
    assert_eq!(run(&["--agents", "1"]).status.code(), Some(2));
    let without =
        Command::new(program()).env_remove("TRUTHFED_TEST_POSTGRES").args(["load", "--only", "outage"]).output();
    let without = without.unwrap();
    assert_eq!(without.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&without.stderr).contains("no PostgreSQL"), "{without:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "what was made is removed");
}
