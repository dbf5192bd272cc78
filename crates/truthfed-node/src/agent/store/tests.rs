use super::*;
use crate::agent::testing::{Coordinator, play};
use crate::testing::Numbers;

/// An agent's file with a few events and a checkpoint, changed by hand, and what opening it says.
fn check_refused(change: &str, expected: fn(&FileError) -> bool) {
    let (coordinator, mut numbers) = (Coordinator::new(), Numbers(1));
    let mut agent = coordinator.taught(&mut numbers, 3);
    agent.checkpoint();
    (0..3).for_each(|_| play(&mut agent, &mut numbers));
    drop(agent);
    Connection::open(coordinator.path()).unwrap().execute_batch(change).unwrap();
    let error = coordinator.open(&coordinator.path()).err().expect(change);
    assert!(expected(&error), "{change}: {error}");
}

#[test]
fn a_file_that_was_changed_is_not_believed() {
    let damaged = |error: &FileError| matches!(error, FileError::Damaged(_));
    check_refused("UPDATE events SET body = replace(body, '0.', '1.') WHERE number = 5", damaged);
    check_refused("DELETE FROM events WHERE number = 4", damaged);
    check_refused("UPDATE checkpoint SET body = replace(body, '\"closed\":0', '\"closed\":1')", damaged);
    check_refused("UPDATE checkpoint SET event = 2", damaged);
    check_refused("DELETE FROM checkpoint", damaged);
    check_refused("DROP TABLE events", damaged);
    check_refused("PRAGMA user_version = 4", |error| matches!(error, FileError::Version { found: 4, expected: 3 }));
    check_refused("PRAGMA application_id = 7", |error| matches!(error, FileError::Unusable(_)));
}

#[test]
fn a_file_of_an_earlier_version_is_read_on() {
    for old in [
        "DROP TABLE heads; PRAGMA user_version = 2",
        "DROP TABLE heads; ALTER TABLE receipts DROP COLUMN heard_ms; PRAGMA user_version = 1",
    ] {
        let coordinator = Coordinator::new();
        drop(coordinator.taught(&mut Numbers(1), 2));
        Connection::open(coordinator.path()).unwrap().execute_batch(old).unwrap();
        for _ in 0..2 {
            let mut agent = coordinator.agent();
            assert_eq!(agent.status(false).unwrap().unshared, 2);
            assert_eq!(agent.heads().unwrap(), Heads::default());
        }
    }
}

#[test]
fn a_file_whose_pages_are_broken_is_damaged() {
    let coordinator = Coordinator::new();
    let path = coordinator.path();
    drop(coordinator.taught(&mut Numbers(1), 1));
    let mut broken = std::fs::read(&path).unwrap();
    broken[4096..8192].fill(0xff);
    let other = b"something else altogether, and longer than a hundred bytes".repeat(100);
    for content in [broken, other] {
        std::fs::write(&path, content).unwrap();
        let error = coordinator.open(&path).err().unwrap();
        assert!(matches!(error, FileError::Damaged(_)), "{error}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_said_so() {
    let coordinator = Coordinator::new();
    let error = coordinator.open(&coordinator.folder.path().join("none/agent.db")).err().unwrap();
    assert!(matches!(&error, FileError::Unusable(problem) if problem.contains("none/agent.db")), "{error}");
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let coordinator = Coordinator::new();
    let _agent = coordinator.taught(&mut Numbers(1), 1);
    for end in ["", "-wal"] {
        let mode = std::fs::metadata(format!("{}{end}", coordinator.path().display())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "agent.db{end}");
    }
}

#[test]
fn arms_keep_all_their_bits_and_the_oldest_decisions_are_forgotten() {
    let folder = crate::testing::folder();
    let owner = Owner { federation: Digest::of(b"f"), member: "m1".parse().unwrap(), terms: Digest::of(b"t") };
    let mut store = AgentStore::open(&folder.path().join("agent.db"), None, &owner, 2).unwrap();
    store.decisions = 2;
    let arms = [[0.1 + 0.2, -0.0], [f64::MIN_POSITIVE / 3.0, 1e-300], [1.0, 2.0]];
    let mut ids = store.decide(&[&arms[0]]).unwrap();
    ids.extend(store.decide(&[&arms[1], &arms[2]]).unwrap());
    assert_eq!(store.decision(ids[0]).unwrap(), None);
    for (id, arm) in ids.iter().zip(&arms).skip(1) {
        let Some(Decision::Open { arm: kept }) = store.decision(*id).unwrap() else { panic!("{id} is open") };
        assert!(kept.iter().zip(arm).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
    let other_tag = DecisionId { number: ids[1].number, ..ids[2] };
    assert_eq!(store.decision(other_tag).unwrap(), None);
}
