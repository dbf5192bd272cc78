//! A member goes on with another key and certificate, if its present key signed that.

use truthfed_node::coordinator::operator::{MemberLine, RenewRequest};
use truthfed_node::error::Code;
use truthfed_node::identity::{Identity, Renewal, Validity};
use truthfed_node::ledger::{Trust, verify};
use truthfed_node::signature::Signer;
use truthfed_node::store::Sqlite;
use truthfed_node::testing::id;
use truthfed_node::wire::ReceiptReply;

use super::support::{Party, World, some_data};

const ROUTE: &str = "/v1/operator/members/m1/renewal";

/// Another certificate for a member, with a new key.
pub(crate) fn next(world: &World, name: &str) -> Identity {
    world.identities.authority.issue_member(&id(name), Validity::leaf()).unwrap()
}

/// What the operator sends, signed by whoever says that this key follows.
pub(crate) fn request(world: &World, name: &str, next: &Identity, signer: &Signer) -> String {
    let (key, certificate) = (next.certificate().key(), next.certificate().digest());
    let renewal = Renewal { federation: world.identities.authority.federation(), member: id(name), key };
    serde_json::to_string(&RenewRequest { key, certificate, signature: renewal.sign(signer) }).unwrap()
}

#[tokio::test]
async fn a_member_goes_on_with_the_key_that_its_present_one_signed_also_after_a_restart() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let (next, operator) = (next(&world, "m1"), world.operator(running.addresses()));
    let request = request(&world, "m1", &next, m1.identity.signer());
    let line: MemberLine = operator.post(ROUTE, request.clone()).await.ok();
    assert_eq!((line.key, line.past_keys), (next.certificate().key(), vec![m1.identity.certificate().key()]));
    let head = world.head();
    operator.post(ROUTE, request.clone()).await.ok::<MemberLine>();
    assert_eq!(world.head(), head, "the same again changes nothing");
    let replaced = m1.client.get("/v1/view").await;
    assert_eq!(replaced.code(), Code::CertificateReplaced);
    running.stop().await.unwrap();

    let running = world.start().await;
    let (old, m2) = (world.party("m1", running.addresses()), world.party(m2.name.as_str(), running.addresses()));
    assert_eq!(old.client.get("/v1/view").await.code(), Code::CertificateReplaced);
    let m1 = Party { client: world.client(&next, running.addresses()), identity: next, ..old };
    let open = m1.round().await;
    let offer = m1.offers(&open, &some_data(), 1_000_000).await;
    m2.decline(open.round).await;
    let delivery = m1.delivery_of(&open, &some_data(), offer.digest());
    m1.send_delivery(open.round, &delivery).await.ok::<ReceiptReply>();
    running.stop().await.unwrap();
    let report = verify(&mut Sqlite::open_existing(&world.store()).unwrap(), &Trust::default()).unwrap();
    assert!(report.is_right() && report.rounds == 1, "{report}");
}

#[tokio::test]
async fn nobody_but_the_present_key_says_which_key_follows() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let (next, operator) = (next(&world, "m1"), world.operator(running.addresses()));
    let head = world.head();
    let refused = async |body: &str| operator.post(ROUTE, body.to_owned()).await.code();
    for signer in [next.signer(), m2.identity.signer(), world.identities.operator.signer()] {
        assert_eq!(refused(&request(&world, "m1", &next, signer)).await, Code::BadRenewal);
    }
    let present = m1.identity.signer();
    // Signed for one key, sent with another's certificate.
    let other = request(&world, "m1", &m2.identity, present);
    assert_eq!(refused(&other).await, Code::MemberExists, "the certificate is another member's");
    assert_eq!(refused(&request(&world, "m1", &world.identities.operator, present)).await, Code::MemberExists);
    assert_eq!(refused("no").await, Code::Malformed);
    let unknown = operator.post("/v1/operator/members/nobody/renewal", request(&world, "m1", &next, present)).await;
    assert_eq!(unknown.code(), Code::UnknownMember);
    assert_eq!(m1.client.post(ROUTE, request(&world, "m1", &next, present)).await.code(), Code::NotOperator);
    assert_eq!(world.head(), head, "nothing of it is recorded");

    let open = m1.round().await;
    m1.offers(&open, &some_data(), 1_000_000).await;
    assert_eq!(refused(&request(&world, "m1", &next, present)).await, Code::RoundOpen);
    running.stop().await.unwrap();
}
