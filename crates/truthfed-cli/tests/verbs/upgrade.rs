//! A federation that an earlier program made is verified, renewed, served and migrated by this one, its agent's file included.
//!
//! `tests/fixtures/federation-2026-11.tar.gz` has the files of a federation of November 2026 in two dimensions, under `quality.rule = "flag"`: eight
//! rounds, nine payments, a payout to ann; then cyd was revoked. Only ann has its agent's file. Its keys are nobody's. Certificates are
//! renewed before they are used, so that the test does not end with them; the authority's lasts until 2036.

use std::net::TcpListener;
use std::path::Path;

use truthfed_node::testing::{Database, Place};

use crate::wrong_inputs::shell;

const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/federation-2026-11.tar.gz");

const OFFLINE: &str = r#"
    truthfed ledger verify fed | grep '^ledger verified: 8 rounds, 9 payments, 0 problems$'
    truthfed ledger statement fed/members/ann | grep '20 receipts of 6 rounds, .* 4 payments, 200.166129 units in all'
    truthfed ledger totals fed | grep 'ann  *200.166129  *1.5  *198.666129  *0$'
    truthfed ledger bundle fed --out audit
    truthfed ledger verify audit --member fed/members/ann
    truthfed renew fed
    truthfed member renew fed/members/ann
    truthfed members renew fed --request fed/members/ann/renewal.json
    truthfed member renew fed/members/ann --issued fed/roster/ann.pem
"#;

const ONLINE: &str = r#"
    trap 'kill $(jobs -p) 2> /dev/null; cat *.log >&2' EXIT
    truthfed serve fed > /dev/null 2> serve.log & serve=$!
    until curl -sf 127.0.0.1:$ADMIN/readyz; do sleep 0.1; done
    truthfed agent fed/members/ann --no-token --listen 127.0.0.1:$AGENT > /dev/null 2> agent.log & agent=$!
    until curl -sf 127.0.0.1:$AGENT/status | grep '"coordinator_reachable":true'; do sleep 0.1; done
    curl -sf 127.0.0.1:$AGENT/choose -d '{"arms": [[1,0],[0,1]]}'
    truthfed status fed | grep active
    kill $agent $serve
    wait $agent $serve
    trap - EXIT
    truthfed ledger verify fed --member fed/members/ann
"#;

/// Ports that nobody has, at this moment.
fn ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.each_ref().map(|listener| listener.local_addr().unwrap().port())
}

fn run(place: &Path, script: &str) -> String {
    let output = shell(place, script);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{script}\n{}\n{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn files_of_an_earlier_program_are_verified_renewed_served_and_migrated() {
    let (place, database, [members, admin, agent]) = (tempfile::tempdir().unwrap(), Database::create(), ports());
    run(place.path(), &format!("tar -xzf '{FILES}'"));
    run(place.path(), OFFLINE);
    run(
        place.path(),
        &format!(
            r#"sed -i -e 's/^listen = .*/listen = "127.0.0.1:{members}"/' -e 's/^address = .*/address = "127.0.0.1:{members}"/' \
                   -e 's/^admin = .*/admin = "127.0.0.1:{admin}"/' fed/federation.toml
               sed -i 's/^coordinator = .*/coordinator = "127.0.0.1:{members}"/' fed/members/ann/member.toml"#
        ),
    );
    let online = format!("ADMIN={admin}; AGENT={agent}\n{ONLINE}");
    let told = run(place.path(), &online);
    assert!(told.contains(r#""decision""#) && told.contains("receipts agree with the journal"), "{told}");
    let before = run(place.path(), "truthfed ledger totals fed --json");
    for store in [database.address(), "back.db"] {
        run(place.path(), &format!("truthfed migrate fed --to '{store}'"));
        run(place.path(), &online);
        assert_eq!(run(place.path(), "truthfed ledger totals fed --json"), before, "{store}");
    }
}
