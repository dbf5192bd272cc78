//! Signed heads of the journal and proofs about it, as members and the operator get them.

use std::path::PathBuf;

use axum::http::Method;
use truthfed_node::coordinator::Running;
use truthfed_node::error::Code;
use truthfed_node::journal::Entry;
use truthfed_node::log::{NoteKey, Proof, SignedHead, Whole};
use truthfed_node::store::{Sqlite, Store};

use super::support::{Client, Party, World, whole_round};

fn key(party: &Party) -> NoteKey {
    NoteKey::of_log(party.federation, party.coordinator)
}

/// A proof, after all of it was checked, and its head.
async fn proof(client: &Client, path: &str, key: &NoteKey) -> (Proof, SignedHead) {
    let proof: Proof = client.get(path).await.ok();
    let head = proof.check(key).unwrap();
    (proof, head)
}

/// What the journal itself gives.
fn recorded(world: &World) -> Whole {
    Whole::read(&mut Sqlite::open_existing(&world.store()).unwrap()).unwrap()
}

fn nodes(world: &World) -> PathBuf {
    world.folder.path().join("journal.tree")
}

#[tokio::test]
async fn members_and_the_operator_get_one_head_of_all_that_is_committed() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let (operator, key) = (world.operator(running.addresses()), key(&m1));
    let (_, first) = proof(&m1.client, "/v1/head", &key).await;
    assert_eq!(first.size(), 4, "genesis, two enrolments, a checkpoint");
    whole_round(&[&m1, &m2], &[1_000_000, 2_000_000]).await;
    let whole = recorded(&world);
    let path = format!("?from={}", first.size());
    for (client, path) in [
        (&m1.client, format!("/v1/head{path}")),
        (&m2.client, format!("/v1/head{path}")),
        (&operator, format!("/v1/operator/proof{path}")),
    ] {
        let (proof, head) = proof(client, &path, &key).await;
        assert_eq!(head.top(), whole.top(whole.size()));
        assert!(proof.grown.unwrap().leads(first.top(), head.top()));
    }
    for number in 1..=whole.size() {
        let path = format!("/v1/operator/proof?entry={number}&from={number}");
        let (proof, _) = proof(&operator, &path, &key).await;
        assert_eq!((proof.entries.len(), proof.entries[0].number), (1, number));
    }
    for (client, path, code) in [
        (&m1.client, "/v1/head?from=0", Code::OutOfRange),
        (&m1.client, "/v1/head?from=1000", Code::OutOfRange),
        (&m1.client, "/v1/head?to=3", Code::UnknownField),
        (&operator, "/v1/operator/proof?entry=0", Code::NotFound),
        (&operator, "/v1/operator/proof?entry=1000", Code::NotFound),
        (&operator, "/v1/operator/proof?from=1000", Code::OutOfRange),
        (&m1.client, "/v1/operator/proof?entry=5", Code::NotOperator),
        (&operator, "/v1/head", Code::NotAMember),
    ] {
        assert_eq!(client.get(path).await.code(), code, "{path}");
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_member_gets_proofs_of_what_it_said_itself_and_no_entry_of_anybody_else() {
    let (_world, running, [m1, m2, m3]) = World::running(["m1", "m2", "m3"]).await;
    let key = key(&m1);
    for _ in 0..2 {
        whole_round(&[&m1, &m2, &m3], &[1_000_000, 2_000_000, 3_000_000]).await;
    }
    let open = m1.round().await;
    m1.opens().await;
    m3.decline(open.round).await;
    for (party, round, kinds) in [
        (&m1, 1, &["offered", "delivered"][..]),
        (&m2, 2, &["offered", "delivered"]),
        (&m1, 3, &["offered"]),
        (&m3, 3, &["declined"]),
    ] {
        let (proof, _) = proof(&party.client, &format!("/v1/rounds/{round}/proof"), &key).await;
        let said: Vec<Entry> =
            proof.entries.iter().map(|proven| serde_json::from_str(proven.entry.get()).unwrap()).collect();
        let about: Vec<_> = said.iter().map(Entry::about).collect();
        assert!(about.iter().all(|about| about.speaker == Some(&party.name) && about.round.unwrap().0 == round));
        let won: Vec<&str> = about.iter().map(|about| about.kind).collect();
        assert!(won == kinds || won == kinds[..1], "{won:?}");
    }
    for (party, path, code) in [
        (&m2, "/v1/rounds/3/proof", Code::NotFound),
        (&m1, "/v1/rounds/9/proof", Code::NotFound),
        (&m1, "/v1/rounds/0/proof", Code::NotFound),
        (&m1, "/v1/rounds/x/proof", Code::NotFound),
    ] {
        assert_eq!(party.client.get(path).await.code(), code, "{path}");
    }
    let posted = m1.client.send(Method::POST, "/v1/rounds/1/proof", "").await;
    assert_eq!(posted.code(), Code::MethodNotAllowed);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_coordinator_that_starts_again_goes_on_from_its_last_head_whatever_became_of_its_tree() {
    let (world, mut running, parties) = World::running(["m1", "m2"]).await;
    let key = key(&parties[0]);
    let (_, mut last) = proof(&parties[0].client, "/v1/head", &key).await;
    let changes: [fn(&mut Vec<u8>); 6] = [
        |_| {},
        Vec::clear,
        |nodes| nodes.truncate(nodes.len() / 2 + 7),
        |nodes| nodes[64] ^= 1,
        // The last leaf, which has no parent yet or not: the journal tells.
        |nodes| *nodes.last_mut().unwrap() ^= 1,
        // Longer than the journal, as after an older backup.
        |nodes| nodes.extend(vec![7; 3200]),
    ];
    for change in changes {
        let [m1, m2] = ["m1", "m2"].map(|name| world.party(name, running.addresses()));
        whole_round(&[&m1, &m2], &[1_000_000, 2_000_000]).await;
        let (kept, head) = proof(&m1.client, &format!("/v1/head?from={}", last.size()), &key).await;
        assert!(kept.grown.unwrap().leads(last.top(), head.top()));
        last = head;
        running = again(&world, running, change).await;
        let m1 = world.party("m1", running.addresses());
        let (same, again) = proof(&m1.client, &format!("/v1/head?from={}", last.size()), &key).await;
        assert!(same.grown.unwrap().leads(last.top(), again.top()));
        let size = Sqlite::open_existing(&world.store()).unwrap().head().unwrap().number;
        assert_eq!((again.size(), again.top()), (size, recorded(&world).top(size)));
    }
    running.stop().await.unwrap();
}

/// The coordinator, stopped and started again after its tree was changed.
async fn again(world: &World, running: Running, change: fn(&mut Vec<u8>)) -> Running {
    running.stop().await.unwrap();
    let mut kept = std::fs::read(nodes(world)).unwrap();
    change(&mut kept);
    std::fs::write(nodes(world), kept).unwrap();
    world.start().await
}
