//! Whatever is wrong with a message has its own code, and leaves no trace.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use truthfed::protocol::{RoundId, SamplesSetting};
use truthfed_node::digest::{Digest, Hex};
use truthfed_node::error::Code;
use truthfed_node::signature::Signer;
use truthfed_node::wire::{DELIVERY_SCHEMA, Envelope, NextRound, OFFER_SCHEMA, ReceiptReply, commitment};

use truthfed_node::testing::Data;

use super::support::{Party, World, other, some_data, text, whole_round};

/// One wrong message: what is wrong, how it is written, and the code it is refused with.
type Row = (&'static str, Box<dyn Fn(&Bench<'_>) -> Vec<u8>>, Code);

struct Bench<'a> {
    party: &'a Party,
    open: &'a NextRound,
    data: &'a Data,
    schema: &'static str,
    /// The content of an honest message.
    honest: Value,
    /// Of another member, and of this member in a round before.
    stranger: &'a Signer,
    before: &'a Envelope,
}

impl Bench<'_> {
    fn signer(&self) -> &Signer {
        self.party.identity.signer()
    }

    fn sealed(&self, content: &Value) -> Vec<u8> {
        text(&self.signer().seal(self.schema, content)).into_bytes()
    }

    fn envelope(&self) -> Value {
        serde_json::from_slice(&self.sealed(&self.honest)).unwrap()
    }

    /// An honest content after a change, signed.
    fn changed(&self, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut content = self.honest.clone();
        change(&mut content);
        self.sealed(&content)
    }

    /// A content that no JSON value can hold, written by hand and signed.
    fn raw(&self, content: &str) -> Vec<u8> {
        let signature = self.signer().sign(self.schema, content.as_bytes());
        format!(r#"{{"content":{content},"signature":"{signature}"}}"#).into_bytes()
    }
}

/// A row whose content differs from an honest one at one place, and is signed.
fn content(what: &'static str, pointer: &'static str, value: Value, code: Code) -> Row {
    let change = move |content: &mut Value| *content.pointer_mut(pointer).expect(pointer) = value.clone();
    row(what, move |bench| bench.changed(&change), code)
}

/// A row whose content differs from an honest one by a text that replaces another, and is signed.
fn replaced(what: &'static str, pointer: &'static str, by: &'static str, code: Code) -> Row {
    let write = move |bench: &Bench<'_>| {
        let mut content = bench.honest.clone();
        *content.pointer_mut(pointer).expect(pointer) = json!("PLACE");
        bench.raw(&content.to_string().replace(r#""PLACE""#, by))
    };
    row(what, write, code)
}

fn row(what: &'static str, write: impl Fn(&Bench<'_>) -> Vec<u8> + 'static, code: Code) -> Row {
    (what, Box::new(write), code)
}

/// A row that lacks a field of the content or of an object in it, and is signed.
fn without(what: &'static str, pointer: &'static str, field: &'static str) -> Row {
    let remove = move |content: &mut Value| {
        content.pointer_mut(pointer).expect(pointer).as_object_mut().unwrap().remove(field).expect(field);
    };
    row(what, move |bench| bench.changed(remove), Code::MissingField)
}

/// Writes the context as the list of its values, in the order of its fields.
fn listed(content: &mut Value) {
    let context = content["context"].take();
    let values = ["federation", "round", "nonce", "terms", "member"].map(|field| context[field].clone());
    content["context"] = json!(values);
}

/// What can be wrong with the form of any message.
fn forms() -> Vec<Row> {
    let cut = |from_end: usize| {
        move |bench: &Bench<'_>| {
            let body = bench.sealed(&bench.honest);
            body[..body.len() - from_end].to_vec()
        }
    };
    let with = |rest: &'static [u8]| move |bench: &Bench<'_>| [&bench.sealed(&bench.honest), rest].concat();
    let only = |field: &'static str| {
        move |bench: &Bench<'_>| json!({ field: bench.envelope()[field] }).to_string().into_bytes()
    };
    let envelope = |field: &'static str, value: Value| {
        move |bench: &Bench<'_>| {
            let mut envelope = bench.envelope();
            envelope[field] = value.clone();
            envelope.to_string().into_bytes()
        }
    };
    let bom = |bench: &Bench<'_>| [b"\xef\xbb\xbf".as_slice(), &bench.sealed(&bench.honest)].concat();
    let brackets = |bench: &Bench<'_>| bench.raw(&("[".repeat(400) + &"]".repeat(400)));
    let literal = |body: &'static [u8]| move |_: &Bench<'_>| body.to_vec();
    vec![
        row("no body", literal(b""), Code::Truncated),
        row("words", literal(b"an offer"), Code::Malformed),
        row("not text", literal(&[0xff, 0xfe, 0x00]), Code::Malformed),
        row("text that is not UTF-8", literal(b"{\"content\":\"\xff\",\"signature\":\"\"}"), Code::Malformed),
        row("a byte order mark", bom, Code::Malformed),
        row("the last byte is missing", cut(1), Code::Truncated),
        row("half is missing", cut(80), Code::Truncated),
        row("a second object", with(b"{}"), Code::TrailingBytes),
        row("a stray byte", with(b"x"), Code::TrailingBytes),
        row("null", literal(b"null"), Code::WrongType),
        row("a number", literal(b"1"), Code::WrongType),
        row("a list", literal(b"[]"), Code::WrongType),
        row("an empty object", literal(b"{}"), Code::MissingField),
        row("no signature", only("content"), Code::MissingField),
        row("no content", only("signature"), Code::MissingField),
        row("an unknown field beside the content", envelope("x", json!(1)), Code::UnknownField),
        row("a field twice", literal(br#"{"content":{},"content":{},"signature":""}"#), Code::WrongType),
        row("a short signature", envelope("signature", json!("00ff")), Code::WrongType),
        row("a signature in capitals", envelope("signature", json!("AB".repeat(64))), Code::WrongType),
        row("a signature that is a number", envelope("signature", json!(7)), Code::WrongType),
        row("a content that is a text", |bench| bench.raw(r#""content""#), Code::WrongType),
        row("a content that is null", |bench| bench.raw("null"), Code::WrongType),
        row("a content of nothing but brackets", brackets, Code::WrongType),
        row("an unknown field in the content", |bench| bench.changed(|c| c["x"] = json!(1)), Code::UnknownField),
        row(
            "an unknown field in the context",
            |bench| bench.changed(|c| c["context"]["x"] = json!(1)),
            Code::UnknownField,
        ),
        row("a context that is a list", |bench| bench.changed(listed), Code::WrongType),
        without("no schema", "", "schema"),
        without("no context", "", "context"),
        without("no nonce", "/context", "nonce"),
        content("a schema of the next version", "/schema", json!("truthfed.offer/2"), Code::UnknownVersion),
        content("a schema of a receipt", "/schema", json!("truthfed.receipt/1"), Code::UnknownVersion),
        content("a schema that is a number", "/schema", json!(1), Code::WrongType),
        content("a round that is a text", "/context/round", json!("1"), Code::WrongType),
        content("a negative round", "/context/round", json!(-1), Code::WrongType),
        content("a fractional round", "/context/round", json!(1.5), Code::WrongType),
        content("a short nonce", "/context/nonce", json!("00"), Code::WrongType),
        content("a member without a name", "/context/member", json!(""), Code::WrongType),
    ]
}

/// Who a message may come from, and where it counts.
fn identities() -> Vec<Row> {
    let signed_by_stranger = |bench: &Bench<'_>| text(&bench.stranger.seal(bench.schema, &bench.honest)).into_bytes();
    let signed_under =
        |schema: &'static str| move |bench: &Bench<'_>| text(&bench.signer().seal(schema, &bench.honest)).into_bytes();
    let rewritten = |bench: &Bench<'_>| {
        // The same values in other bytes.
        let envelope = bench.signer().seal(bench.schema, &bench.honest);
        text(&envelope).replacen("\"context\":", "\"context\": ", 1).into_bytes()
    };
    let unsigned = |bench: &Bench<'_>| {
        let mut envelope = bench.envelope();
        envelope["signature"] = json!(Hex([0_u8; 64]).to_string());
        envelope.to_string().into_bytes()
    };
    vec![
        row("signed with another member's key", signed_by_stranger, Code::BadSignature),
        row("signed under another schema", signed_under("truthfed.receipt/1"), Code::BadSignature),
        row("written anew after it was signed", rewritten, Code::BadSignature),
        row("not signed", unsigned, Code::BadSignature),
        content("of another member", "/context/member", json!("m2"), Code::OtherMember),
        content("of nobody", "/context/member", json!("nobody"), Code::OtherMember),
        content("of another federation", "/context/federation", json!(other()), Code::OtherFederation),
        content("under other terms", "/context/terms", json!(other()), Code::OtherTerms),
        content("with another nonce", "/context/nonce", json!(Hex([7_u8; 16])), Code::BadNonce),
        content("of another round", "/context/round", json!(1), Code::StaleRound),
        content("of a round to come", "/context/round", json!(99), Code::StaleRound),
    ]
}

/// What can be wrong with the numbers of an offer.
fn offers() -> Vec<Row> {
    const FORTY_DIGITS: &str = "9999999999999999999999999999999999999999";
    let two_directions_of_one = |bench: &Bench<'_>| {
        bench.changed(|content| {
            (content["gram"], content["samples"]) = (json!([0.5, 0.0, 0.5]), json!(1));
        })
    };
    let delivery = |bench: &Bench<'_>| text(&bench.party.delivery_of(bench.open, bench.data, other())).into_bytes();
    vec![
        row("replayed from the round before", |bench| text(bench.before).into_bytes(), Code::StaleRound),
        row("too large", |bench| vec![b' '; 64 * 1024 + bench.data.statistics.dimension()], Code::TooLarge),
        without("no ask", "", "ask_micros"),
        without("no commitment", "", "commitment"),
        content("a short commitment", "/commitment", json!("00"), Code::WrongType),
        content("a gram of too few numbers", "/gram", json!([1.0, 0.0]), Code::WrongDimension),
        content("a gram of too many numbers", "/gram", json!([1.0, 0.0, 1.0, 0.0]), Code::WrongDimension),
        content("a gram of nothing", "/gram", json!([]), Code::WrongDimension),
        content("a gram of rows", "/gram", json!([[1.0], [0.0, 1.0]]), Code::WrongType),
        content("a gram with a text", "/gram/1", json!("0.5"), Code::WrongType),
        content("a gram with null", "/gram/1", json!(null), Code::WrongType),
        replaced("a gram with NaN", "/gram/1", "NaN", Code::Malformed),
        replaced("a gram with Infinity", "/gram/1", "Infinity", Code::Malformed),
        replaced("a gram beyond the floats", "/gram/1", "1e999", Code::NotFinite),
        replaced("a gram below the floats", "/gram/1", "-1e999", Code::NotFinite),
        content("a gram out of range", "/gram/0", json!(2e15), Code::OutOfRange),
        content("a gram that is not positive", "/gram", json!([1.0, 1.5, 1.0]), Code::NotPositive),
        content("a gram with a negative diagonal", "/gram", json!([1.0, 0.0, -0.5]), Code::NotPositive),
        content("a gram larger than its samples give", "/gram", json!([5.0, 0.0, 5.0]), Code::TraceTooLarge),
        content("a gram of more directions than samples", "/samples", json!(1), Code::TraceTooLarge),
        row("two directions of one sample", two_directions_of_one, Code::RankTooHigh),
        content("a gram of no samples", "/samples", json!(0), Code::DataWithoutSamples),
        content("more samples than the terms allow", "/samples", json!(1001), Code::TooManySamples),
        content("negative samples", "/samples", json!(-1), Code::WrongType),
        content("fractional samples", "/samples", json!(1.5), Code::WrongType),
        replaced("more samples than a number holds", "/samples", "18446744073709551616", Code::WrongType),
        content("a negative ask", "/ask_micros", json!(-1), Code::AskNegative),
        replaced("an ask of minus zero", "/ask_micros", "-0", Code::AskNegative),
        content("a fractional ask", "/ask_micros", json!(1.5), Code::AskFractional),
        replaced("an ask with an exponent", "/ask_micros", "1e6", Code::AskFractional),
        replaced("a negative fractional ask", "/ask_micros", "-0.5", Code::AskFractional),
        replaced("an ask above the cap", "/ask_micros", "1000000000000000001", Code::AskAboveCap),
        replaced("an ask of forty digits", "/ask_micros", FORTY_DIGITS, Code::AskAboveCap),
        content("an ask that is a text", "/ask_micros", json!("1"), Code::WrongType),
        content("an ask that is null", "/ask_micros", json!(null), Code::WrongType),
        row("a delivery", delivery, Code::UnknownField),
    ]
}

/// What can be wrong with a delivery.
fn deliveries() -> Vec<Row> {
    let offer = |bench: &Bench<'_>| text(&bench.party.offer_of(bench.open, bench.data, 1)).into_bytes();
    vec![
        row("too large", |_| vec![b' '; 64 * 1024], Code::TooLarge),
        without("no salt", "", "salt"),
        content("for another offer", "/offer", json!(other()), Code::OtherOffer),
        content("with another salt", "/salt", json!(Hex([7_u8; 16])), Code::MomentNotCommitted),
        content("with another moment", "/moment/0", json!(0.125), Code::MomentNotCommitted),
        content("a moment of too many numbers", "/moment", json!([0.5, 0.5, 0.5]), Code::MomentNotCommitted),
        content("a moment of nothing", "/moment", json!([]), Code::MomentNotCommitted),
        content("a moment with a text", "/moment/0", json!("0.5"), Code::WrongType),
        replaced("a moment with NaN", "/moment/0", "NaN", Code::Malformed),
        replaced("a moment beyond the floats", "/moment/0", "1e999", Code::NotFinite),
        row("an offer", offer, Code::UnknownField),
    ]
}

#[tokio::test]
async fn every_wrong_message_has_its_code_and_leaves_no_trace() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    // A round before, so that something can be replayed.
    let (first, data) = (m1.round().await, some_data());
    let before = m1.offer_of(&first, &data, 1_000_000);
    whole_round(&[&m1, &m2], &[2_000_000, 3_000_000]).await;

    // Open, so that m1 may still say anything.
    m2.offers(&m2.round().await, &data, 50_000_000).await;
    let open = m1.round().await;
    let offer = m1.offer_content(&open, &data, 1_000_000);
    let bench = Bench {
        party: &m1,
        open: &open,
        data: &data,
        schema: OFFER_SCHEMA,
        honest: serde_json::to_value(&offer).unwrap(),
        stranger: m2.identity.signer(),
        before: &before,
    };
    let offer_rows: Vec<Row> = forms().into_iter().chain(identities()).chain(offers()).collect();
    check(&world, &bench, &format!("/v1/rounds/{}/offer", open.round), &offer_rows).await;

    let sealed = m1.offers(&open, &data, 1_000_000).await;
    let decided = m1.open().await;
    assert!(m1.receipt(&decided.decision.unwrap()).promise.is_some(), "m1 won");
    let delivery = m1.delivery_content(&open, &data, sealed.digest());
    let bench = Bench { schema: DELIVERY_SCHEMA, honest: serde_json::to_value(&delivery).unwrap(), ..bench };
    let delivery_rows: Vec<Row> = forms().into_iter().chain(identities()).chain(deliveries()).collect();
    check(&world, &bench, &format!("/v1/rounds/{}/delivery", open.round), &delivery_rows).await;
    assert!(offer_rows.len() + deliveries().len() >= 50);

    let honest = m1.delivery_of(&open, &data, sealed.digest());
    m1.send_delivery(open.round, &honest).await.ok::<ReceiptReply>();
    if m2.view().await.open.is_some() {
        let moment = m2.delivery_of(&open, &data, m2.offer_of(&open, &data, 50_000_000).digest());
        m2.send_delivery(open.round, &moment).await.ok::<ReceiptReply>();
    }
    assert!(!whole_round(&[&m1, &m2], &[1_000_000, 2_000_000]).await.is_empty(), "an honest round works as before");
    running.stop().await.unwrap();
}

async fn check(world: &World, bench: &Bench<'_>, path: &str, rows: &[Row]) {
    let head = world.head();
    for (what, write, expected) in rows {
        let answer = bench.party.client.post(path, write(bench)).await;
        assert_eq!(answer.code(), *expected, "{path}: {what}: {}", answer.text());
        assert_eq!(world.head(), head, "{path}: {what}: something was stored");
    }
}

#[tokio::test]
async fn a_moment_that_no_data_gives_is_refused_although_it_was_committed_to() {
    // Three observations along the first axis: the moment must lie there, and be at most 3.
    let cases: [(&[f64], Code); 5] = [
        (&[1.0, 0.5], Code::MomentOutOfRange),
        (&[3.5, 0.0], Code::MomentEnergy),
        (&[1.0], Code::WrongDimension),
        (&[1.0, 0.0, 0.0], Code::WrongDimension),
        (&[2e15, 0.0], Code::OutOfRange),
    ];
    let world = World::new(&["m1", "m2"], |terms| terms.deliveries_ms = 500);
    let running = world.start().await;
    let [m1, m2] = ["m1", "m2"].map(|name| world.party(name, running.addresses()));
    for (moment, expected) in cases {
        let (open, data) = (m1.round().await, Data::of(&[([1.0, 0.0], 0.5); 3]));
        let mut content = m1.offer_content(&open, &data, 1_000_000);
        content.commitment = commitment(data.salt, moment);
        let offer = m1.identity.signer().seal(OFFER_SCHEMA, &content);
        m1.send_offer(open.round, &offer).await.ok::<ReceiptReply>();
        m2.decline(open.round).await;
        let mut delivery = m1.delivery_content(&open, &data, offer.digest());
        delivery.moment = moment.to_vec();
        let delivery = m1.identity.signer().seal(DELIVERY_SCHEMA, &delivery);
        let head = world.head();
        assert_eq!(m1.send_delivery(open.round, &delivery).await.code(), expected, "{moment:?}");
        assert_eq!(world.head(), head);
        // Nobody can deliver: the round ends by its deadline.
        let view = m1.view().await;
        if view.closed < open.round {
            m1.client.get(&format!("/v1/view?after={}&wait_ms=20000", view.version)).await;
        }
        assert_eq!(m1.view().await.closed, open.round);
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn an_offer_of_so_few_samples_that_one_could_be_read_is_refused() {
    let world = World::new(&["m1"], |terms| terms.least_samples = SamplesSetting::auto());
    let running = world.start().await;
    let m1 = world.party("m1", running.addresses());
    let (next, head) = (m1.round().await, world.head());
    let few = Data::of(&[([0.6, 0.8], 0.5), ([1.0, 0.0], 0.25), ([0.0, 1.0], -0.5)]);
    let answer = m1.send_offer(next.round, &m1.offer_of(&next, &few, 1)).await;
    assert_eq!(answer.code(), Code::TooFewSamples, "{}", answer.text());
    assert!(answer.text().contains("3 samples, at least 4"), "{}", answer.text());
    assert_eq!(world.head(), head);
    m1.offers(&next, &some_data(), 1).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_sent() {
    let (_world, running, [m1]) = World::running(["m1"]).await;
    // Announced only: the answer comes although the body never does.
    let mut stream = m1.client.stream().await.unwrap();
    let head = "POST /v1/rounds/1/offer HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    drop(stream);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn paths_and_questions_are_read_as_strictly_as_bodies() {
    let (world, running, [m1]) = World::running(["m1"]).await;
    let head = world.head();
    for (path, expected) in [
        ("/v1/view?after=x", Code::WrongType),
        ("/v1/view?after=-1", Code::WrongType),
        ("/v1/view?after=1.5", Code::WrongType),
        ("/v1/view?wait_ms=", Code::WrongType),
        ("/v1/view?before=1", Code::UnknownField),
        ("/v1/view?after=1&after=2", Code::WrongType),
        ("/v1/terms?x=1", Code::UnknownField),
        ("/v1/statement?member=m2", Code::UnknownField),
        ("/v1/", Code::NotFound),
        ("/v1/terms/", Code::NotFound),
        ("/V1/TERMS", Code::NotFound),
        ("/v2/terms", Code::NotFound),
        ("/", Code::NotFound),
        ("/v1/rounds/1/offer", Code::MethodNotAllowed),
        ("/healthz", Code::NotFound),
        ("/metrics", Code::NotFound),
    ] {
        assert_eq!(m1.client.get(path).await.code(), expected, "{path}");
    }
    for (path, body, expected) in [
        ("/v1/rounds/1/decline", "x", Code::Malformed),
        ("/v1/rounds/1/decline", "{}{}", Code::TrailingBytes),
        ("/v1/sync", "", Code::Truncated),
        ("/v1/sync", "{}", Code::MissingField),
        ("/v1/sync", r#"{"have":-1}"#, Code::WrongType),
        ("/v1/sync", r#"{"have":0,"x":0}"#, Code::UnknownField),
        ("/v1/rounds/x/decline", "", Code::NotFound),
        ("/v1/rounds/-1/decline", "", Code::NotFound),
        ("/v1/rounds/%ff/decline", "", Code::NotFound),
        ("/v1/rounds/%31/decline", "", Code::StaleRound),
        ("/v1/rounds/99999999999999999999/decline", "", Code::NotFound),
        ("/v1/rounds/1/decline", "", Code::StaleRound),
        ("/v1/rounds/1/decline", r#"{"member":"m2"}"#, Code::UnknownField),
        ("/v1/terms", "", Code::MethodNotAllowed),
    ] {
        assert_eq!(m1.client.post(path, body).await.code(), expected, "{path} {body}");
    }
    assert_eq!(world.head(), head);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_changed_second_message_is_refused_and_the_first_stands() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let (open, data) = (m1.round().await, some_data());
    let offer = m1.offers(&open, &data, 1_000_000).await;
    let head = world.head();
    let changed = m1.offer_of(&open, &data, 2_000_000);
    assert_eq!(m1.send_offer(open.round, &changed).await.code(), Code::ConflictingRetry);
    assert_eq!(m1.decline(open.round).await.code(), Code::ConflictingRetry);
    assert_eq!(world.head(), head);
    m2.decline(open.round).await;
    assert_eq!(m2.send_offer(open.round, &m2.offer_of(&open, &data, 1)).await.code(), Code::ConflictingRetry);
    let delivery = m1.delivery_of(&open, &data, offer.digest());
    m1.send_delivery(open.round, &delivery).await.ok::<ReceiptReply>();
    let other = Data { salt: Hex([9; 16]), ..data };
    let changed = m1.delivery_of(&open, &other, offer.digest());
    assert_eq!(m1.send_delivery(open.round, &changed).await.code(), Code::ConflictingRetry);
    assert_eq!(m1.view().await.closed, RoundId(1));
    running.stop().await.unwrap();
}

#[test]
fn the_hash_of_an_offer_is_of_the_bytes_that_were_signed() {
    let envelope = Signer::random().seal(OFFER_SCHEMA, &json!({"b": 1, "a": [0.1]}));
    assert_eq!(envelope.digest(), Digest::of(envelope.content.get().as_bytes()));
}
