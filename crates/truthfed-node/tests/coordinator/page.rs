//! `docs/protocol.md`: every example is a message of its kind, and the worked example computes.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use truthfed::Amount;
use truthfed::protocol::RoundId;
use truthfed_node::coordinator::operator::EnrolRequest;
use truthfed_node::digest::{Digest, Hex};
use truthfed_node::error::{Code, Refusal, Whose};
use truthfed_node::log::{Grown, NoteKey, Proof, Proven, SignedHead, leaf, merkle, salt};
use truthfed_node::signature::Signer;
use truthfed_node::terms::{Agreement, RawTerms};
use truthfed_node::testing::Data;
use truthfed_node::wire::{
    Context, DELIVERY_SCHEMA, DeclineReply, DeliveryContent, Envelope, OFFER_SCHEMA, OfferContent, Promise,
    RECEIPT_SCHEMA, ReceiptContent, ReceiptKind, ReceiptReply, StatementReply, SyncReply, SyncRequest, View,
};

use super::support::{docs, text};

/// The JSON examples of the page, each with the kind that stands behind the word `json`.
fn examples(page: &str) -> Vec<(String, String)> {
    let mut examples = Vec::new();
    for block in page.split("```json").skip(1) {
        let (kind, rest) = block.split_once('\n').unwrap();
        let (body, _) = rest.split_once("\n```").unwrap();
        examples.push((kind.trim().to_owned(), body.to_owned()));
    }
    examples
}

fn reads<T: DeserializeOwned>(body: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<T>(body).map(drop)
}

#[test]
fn every_example_is_a_message_of_its_kind() {
    let page = docs("protocol.md");
    let examples = examples(&page);
    assert!(examples.len() >= 12);
    for (kind, body) in examples {
        let read = match kind.as_str() {
            "Terms" => reads::<RawTerms>(&body),
            "Envelope" => reads::<Envelope>(&body),
            "OfferContent" => reads::<OfferContent>(&body),
            "DeliveryContent" => reads::<DeliveryContent>(&body),
            "ReceiptContent" => reads::<ReceiptContent>(&body),
            "View" => reads::<View>(&body),
            "DeclineReply" => reads::<DeclineReply>(&body),
            "ReceiptReply" => reads::<ReceiptReply>(&body),
            "SyncRequest" => reads::<SyncRequest>(&body),
            "SyncReply" => reads::<SyncReply>(&body),
            "StatementReply" => reads::<StatementReply>(&body),
            "EnrolRequest" => reads::<EnrolRequest>(&body),
            "Refusal" => reads::<Refusal>(&body),
            "Proof" => reads::<Proof>(&body),
            other => panic!("an example of an unknown kind: {other}"),
        };
        read.unwrap_or_else(|error| panic!("{kind}: {error}: {body}"));
    }
}

/// A key of RFC 8032, section 7.1.
fn rfc_key(secret: &str) -> Signer {
    Signer::from_seed(secret.parse::<Hex<32>>().unwrap().0)
}

/// The salt of the second entry of a journal, and the proof of it, as the page makes them.
fn proof(coordinator: &Signer, federation: Digest) -> (Digest, Proof) {
    let (first, salt) = (merkle::leaf_hash(b"the first entry"), salt(Digest::of(b"the entry before")));
    let entry = RawValue::from_string(r#"{"declined":{"round":1,"member":"m1"}}"#.to_owned()).unwrap();
    let second = leaf(salt, 2, entry.get());
    let Ok(complete) = merkle::append(1, second, |_| Ok::<_, std::convert::Infallible>(first));
    let head = SignedHead::sign(coordinator, federation, (2, complete[1]));
    let entries = vec![Proven { number: 2, salt, entry, path: vec![first] }];
    let grown = Some(Grown { from: 1, root: first, path: vec![second] });
    (salt, Proof { entries, grown, ..Proof::of(&head) })
}

#[test]
fn the_worked_example_computes() {
    let page = docs("protocol.md");
    let member = rfc_key("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    let coordinator = rfc_key("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    let (_, terms) = examples(&page).into_iter().find(|(kind, _)| kind == "Terms").unwrap();
    let agreement = Agreement::try_from(serde_json::from_str::<RawTerms>(&terms).unwrap()).unwrap();
    let salt = Hex(std::array::from_fn(|index| index as u8));
    let data = Data { salt, ..Data::of(&[([0.5, 0.5], 0.5), ([1.0, 0.0], 0.25)]) };
    let context = Context {
        federation: Digest::of(b"the authority's certificate"),
        round: RoundId(1),
        nonce: Hex(std::array::from_fn(|index| 0xf0 + index as u8)),
        terms: agreement.hash(),
        member: "m1".parse().unwrap(),
    };
    let content = data.offer(context.clone(), Amount::from_micros(3_500_000).unwrap());
    assert_eq!((content.gram.lower(), content.samples), ([1.25, 0.25, 0.25].as_slice(), 2));
    // As the page explains it: each part after its length.
    let length = 16_u64.to_be_bytes();
    let preimage = [&length, &salt.0[..], &length, &0.5_f64.to_be_bytes(), &0.25_f64.to_be_bytes()].concat();
    assert_eq!(Digest::of(&preimage), content.commitment);
    let offer = member.seal(OFFER_SCHEMA, &content);
    let delivery = member.seal(DELIVERY_SCHEMA, &data.delivery(context.clone(), offer.digest()));
    let (ask, payment) = (Amount::from_micros(3_500_000).unwrap(), Amount::from_units(100));
    let receipt = |kind| {
        let promise = (kind == ReceiptKind::Won).then(|| Promise::new(ask, payment, salt));
        let paid = (kind == ReceiptKind::Paid).then_some((payment, salt));
        let content = ReceiptContent {
            schema: RECEIPT_SCHEMA.to_owned(),
            context: context.clone(),
            kind,
            offer: offer.digest(),
            promise,
            payment_micros: paid.map(|(payment, _)| payment),
            salt: paid.map(|(_, salt)| salt),
        };
        coordinator.seal(RECEIPT_SCHEMA, &content)
    };
    let paid = receipt(ReceiptKind::Paid);
    let (salted, proof) = proof(&coordinator, context.federation);
    let log = NoteKey::of_log(context.federation, coordinator.public());
    let head = proof.check(&log).unwrap();
    let expected = [
        ("terms", agreement.text().to_owned()),
        ("hash of the terms", agreement.hash().to_string()),
        ("federation", context.federation.to_string()),
        ("key of the member", member.public().to_string()),
        ("key of the coordinator", coordinator.public().to_string()),
        ("bytes under the commitment", preimage.iter().map(|byte| format!("{byte:02x}")).collect()),
        ("commitment", content.commitment.to_string()),
        ("content of the offer", offer.content.get().to_owned()),
        ("hash of the offer", offer.digest().to_string()),
        ("signature of the offer", offer.signature.to_string()),
        ("offer", text(&offer)),
        ("content of the delivery", delivery.content.get().to_owned()),
        ("signature of the delivery", delivery.signature.to_string()),
        ("receipt of the offer", format!(r#"{{"receipt":{}}}"#, text(&receipt(ReceiptKind::OfferTaken)))),
        ("receipt of the delivery", format!(r#"{{"receipt":{}}}"#, text(&receipt(ReceiptKind::DeliveryTaken)))),
        ("decision", text(&receipt(ReceiptKind::Won))),
        ("content of the payment", paid.content.get().to_owned()),
        ("payment", text(&paid)),
        ("salt of an entry", salted.to_string()),
        ("key of the log", log.to_string()),
        ("proof", serde_json::to_string(&proof).unwrap()),
        ("head", serde_json::to_string(&Proof::of(&head)).unwrap()),
    ];
    let missing: Vec<String> = expected
        .iter()
        .filter(|(_, value)| !page.contains(value.as_str()))
        .map(|(what, value)| format!("{what}:\n{value}"))
        .collect();
    assert!(missing.is_empty(), "docs/protocol.md lacks\n{}", missing.join("\n"));
}

#[test]
fn the_page_of_errors_has_every_code_with_its_status_and_who_mends_it() {
    let page = docs("errors.md");
    let entries: Vec<&str> = page.split("\n### ").skip(1).collect();
    let heading = |code: &Code| format!("`{code}` ({})", code.status());
    let headings: Vec<&str> = entries.iter().filter_map(|entry| entry.lines().next()).collect();
    assert_eq!(headings, Code::ALL.iter().map(heading).collect::<Vec<_>>());
    for (entry, code) in entries.iter().zip(Code::ALL) {
        let mender = match code.whose() {
            Whose::Member => "**Member:**",
            Whose::Operator => "**Operator:**",
            Whose::Time => "**Nobody:**",
        };
        assert!(entry.contains(mender), "{code} says {mender}");
    }
}
