//! An office and agents with files of their own, and a carrier that repeats, withholds and mixes up what they say.

use std::collections::BTreeMap;
use std::convert::Infallible;

use truthfed::Amount;
use truthfed::protocol::{Ending, OpenRound, Time};
use truthfed::statistics::Statistics;

use super::*;
use crate::agent::{Agent, AnswerError};
use crate::engine::{Office, OfficeError};
use crate::ledger::{Trust, verify};
use crate::store::Sqlite;
use crate::terms::RawTerms;
use crate::testing::{self, Federation, Numbers, id};
use crate::wire::ReceiptContent;

const NAMES: [&str; 3] = ["ann", "bob", "cyd"];

struct Carrier {
    folder: tempfile::TempDir,
    federation: Federation,
    /// None while nobody is there.
    office: Option<Office>,
    agents: BTreeMap<ClientId, Agent>,
    numbers: Numbers,
}

impl Carrier {
    fn new() -> Carrier {
        Carrier::under(testing::terms(2))
    }

    fn under(terms: RawTerms) -> Carrier {
        let (folder, federation) = (testing::folder(), Federation::new(terms, &NAMES));
        let open = |name: &&str| {
            let path = folder.path().join(format!("{name}.db"));
            (id(name), Agent::open(federation.membership(&id(name)), &path).unwrap())
        };
        let agents = NAMES.iter().map(open).collect();
        let mut carrier = Carrier { folder, federation, office: None, agents, numbers: Numbers(1) };
        carrier.open();
        carrier
    }

    fn store(&self) -> Sqlite {
        Sqlite::open(&self.folder.path().join("ledger.db")).unwrap()
    }

    fn open(&mut self) {
        self.office = Some(Office::start(self.federation.setup(), Box::new(self.store())).unwrap());
    }

    /// The coordinator ends as if it was killed, and another one takes its place.
    fn restart(&mut self) {
        self.office = None;
        self.open();
    }

    fn office(&mut self) -> &mut Office {
        self.office.as_mut().unwrap()
    }

    fn agent(&mut self, name: &str) -> &mut Agent {
        self.agents.get_mut(&id(name)).unwrap()
    }

    /// The agent with what is in its file.
    fn reopened(&self, name: &str) -> Agent {
        let path = self.folder.path().join(format!("{name}.db"));
        Agent::open(self.federation.membership(&id(name)), &path).unwrap()
    }

    /// Runs ahead until the member wants a round, or so many steps, and follows.
    fn play(&mut self, name: &str, most: usize) {
        let mut ahead = self.agent(name).rehearsal().unwrap();
        let mut played = Vec::new();
        while played.len() < most && !ahead.wants_round() {
            let arms = self.numbers.arms(2).into_iter().map(|arm| arm.iter().map(|x| x * 0.7).collect());
            let arms: Vec<Vec<f64>> = arms.collect();
            let (chosen, reward) = (ahead.choose(&arms).unwrap(), self.numbers.unit());
            ahead.learn(&arms[chosen], reward).unwrap();
            played.push((arms[chosen].clone(), reward));
        }
        self.agent(name).follow(played).unwrap();
        assert_eq!(self.agent(name).rehearsal().unwrap().known(), ahead.known());
    }

    fn parcel(&mut self, name: &str) -> Parcel {
        let wanted = self.agent(name).wanted().unwrap();
        self.office().parcel(&id(name), wanted).unwrap()
    }

    fn said(&mut self, name: &str) -> Option<Said> {
        let parcel = self.parcel(name);
        let view = self.agent(name).take_in(parcel).unwrap();
        self.agent(name).answer(&view, price).unwrap()
    }

    fn hand_in(&mut self, name: &str, at: u64, said: &Said) -> Result<(), OfficeError> {
        self.office().handle(Time(at), &id(name), said.clone())
    }

    fn say(&mut self, name: &str, at: u64) {
        let said = self.said(name).unwrap();
        self.hand_in(name, at, &said).unwrap();
    }

    /// A round that ann opens at that time.
    fn round(&mut self, at: u64) {
        for name in NAMES {
            let parcel = self.parcel(name);
            self.agent(name).take_in(parcel).unwrap();
        }
        self.play("ann", 1000);
        self.play("bob", 5);
        self.office().check_opens(Time(at), &id("ann")).unwrap();
        NAMES.iter().for_each(|name| self.say(name, at));
        for winner in self.office().awaited() {
            self.say(winner.as_str(), at);
        }
    }

    fn kinds(&mut self, name: &str) -> Vec<(u64, &'static str)> {
        let parcel = self.parcel(name);
        self.agent(name).take_in(parcel).unwrap();
        let content = |receipt: &Envelope| serde_json::from_str::<ReceiptContent>(receipt.content.get()).unwrap();
        let receipts = self.agent(name).receipts().unwrap();
        receipts.iter().map(content).map(|content| (content.context.round.0, content.kind.name())).collect()
    }
}

#[allow(clippy::unnecessary_wraps)] // a price may fail elsewhere
fn price(data: &Statistics) -> Result<Option<Amount>, Infallible> {
    Ok(Some(Amount::from_units(data.samples() as u32)))
}

fn code<T: std::fmt::Debug>(done: Result<T, OfficeError>) -> Code {
    match done.unwrap_err() {
        OfficeError::Refused(refusal) | OfficeError::Early { refusal, .. } => refusal.code,
        OfficeError::Engine(error) => panic!("{error}"),
    }
}

#[test]
fn rounds_that_are_carried_are_in_the_ledger_and_every_member_holds_its_receipts() {
    let mut carrier = Carrier::new();
    for at in [1000, 2000] {
        carrier.round(at);
    }
    let records = carrier.office().records();
    let paid = |ending: &Ending| match ending {
        Ending::Settled { paid, .. } => paid.iter().map(|(member, _)| member.to_string()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let winners: Vec<_> = records.iter().map(|record| paid(&record.ending)).collect();
    assert_eq!(records.iter().map(|record| record.opened).collect::<Vec<_>>(), [Time(1000), Time(2000)]);
    assert!(carrier.office().records().is_empty() && winners.iter().all(|names| !names.is_empty()));
    for name in ["ann", "bob"] {
        let expected = winners.iter().zip(1..).flat_map(|(names, round)| {
            let has_won = names.iter().any(|winner| winner == name);
            let kinds: &[&str] =
                if has_won { &["delivery-taken", "offer-taken", "paid", "won"] } else { &["lost", "offer-taken"] };
            kinds.iter().map(move |kind| (round, *kind))
        });
        assert_eq!(carrier.kinds(name), expected.collect::<Vec<_>>(), "{name}");
    }
    assert!(carrier.kinds("cyd").is_empty(), "it declined");
    let trust = Trust { federation: Some(carrier.federation.id), coordinator: None, checkpoint: None };
    let report = verify(&mut carrier.store(), &trust).unwrap();
    assert_eq!((report.problem, report.rounds), (None, 2));
}

#[test]
fn what_comes_twice_or_late_changes_nothing() {
    let mut carrier = Carrier::new();
    carrier.play("ann", 1000);
    let early = carrier.parcel("ann");
    let said = carrier.said("ann").unwrap();
    for _ in 0..2 {
        carrier.hand_in("ann", 1000, &said).unwrap();
        assert_eq!(serde_json::to_string(&carrier.said("bob")).unwrap(), r#"{"decline":{"round":1}}"#);
    }
    for name in ["bob", "cyd"] {
        let declined = carrier.said(name).unwrap();
        for _ in 0..2 {
            carrier.hand_in(name, 1000, &declined).unwrap();
        }
    }
    let parcel = carrier.parcel("ann");
    let deliveries = [(); 2].map(|()| {
        let view = carrier.agent("ann").take_in(parcel.clone()).unwrap();
        carrier.agent("ann").answer(&view, price).unwrap().unwrap()
    });
    let [first, second] = deliveries.each_ref().map(|said| serde_json::to_string(said).unwrap());
    assert_eq!(first, second);
    for delivery in &deliveries {
        carrier.hand_in("ann", 1000, delivery).unwrap();
    }
    assert_eq!(carrier.office().closed(), RoundId(1));
    assert_eq!(carrier.kinds("ann").len(), 4);
    // What is older than what it holds receipts for is reported: the ledger may have gone back.
    let error = carrier.agent("ann").take_in(early).unwrap_err();
    assert!(error.to_string().contains("went back"), "{error}");
}

#[test]
fn a_coordinator_that_was_killed_goes_on_within_the_round_and_a_signed_offer_stands() {
    let mut whole = Carrier::new();
    whole.round(1000);
    let mut parts = Carrier::new();
    parts.play("ann", 1000);
    parts.play("bob", 5);
    let lost = parts.said("ann").unwrap();
    // Its offer is lost with the coordinator; what it learned since is for another round.
    parts.restart();
    parts.agents.remove(&id("ann"));
    parts.agents.insert(id("ann"), parts.reopened("ann"));
    assert_eq!(serde_json::to_string(&parts.said("ann").unwrap()).unwrap(), serde_json::to_string(&lost).unwrap());
    for name in NAMES {
        parts.say(name, 1000);
        parts.restart();
        assert_eq!(parts.office().now(), Time(1000));
    }
    for winner in parts.office().awaited() {
        parts.say(winner.as_str(), 1000);
        parts.restart();
    }
    assert_eq!(parts.office().closed(), RoundId(1));
    assert_eq!(parts.office().settled(), whole.office().settled());
    assert_eq!(parts.kinds("bob"), whole.kinds("bob"));
}

#[test]
fn who_does_not_deliver_in_time_is_not_paid() {
    let mut carrier = Carrier::new();
    carrier.play("ann", 1000);
    NAMES.iter().for_each(|name| carrier.say(name, 1000));
    let deadline = carrier.office().round().unwrap().deadline();
    carrier.office().tick(Time(deadline.0 - 1)).unwrap();
    assert!(carrier.office().round().is_some());
    carrier.office().tick(deadline).unwrap();
    assert_eq!(carrier.kinds("ann").last(), Some(&(1, "won")));
    assert!(carrier.kinds("ann").contains(&(1, "voided")));
}

#[test]
fn no_price_is_no_offer_and_a_price_that_fails_changes_nothing() {
    let mut carrier = Carrier::new();
    carrier.play("ann", 1000);
    let parcel = carrier.parcel("ann");
    let view = carrier.agent("ann").take_in(parcel).unwrap();
    let unwilling = carrier.agent("ann").answer(&view, |_| Ok::<_, Infallible>(None)).unwrap();
    assert!(unwilling.is_none());
    let failed = carrier.agent("ann").answer(&view, |_| Err("no idea")).unwrap_err();
    assert!(matches!(failed, AnswerError::Price("no idea")));
    assert!(carrier.agent("ann").rehearsal().unwrap().in_flight().is_none());
    carrier.say("ann", 1000);
}

#[test]
fn what_could_not_have_been_observed_is_not_followed() {
    let mut carrier = Carrier::new();
    let good = (vec![0.5, 0.5], 0.5);
    for (arm, reward, expected) in [
        (vec![2.0, 0.0], 0.5, "has length 2"),
        (vec![0.5], 0.5, "arm 0"),
        (vec![f64::NAN, 0.0], 0.5, "arm 0"),
        (vec![0.5, 0.5], 1.5, "at most 1 in size"),
        (vec![0.5, 0.5], f64::INFINITY, "finite"),
    ] {
        let wrong = carrier.agent("ann").follow(vec![good.clone(), (arm, reward)]).unwrap_err();
        assert!(wrong.place == 1 && wrong.to_string().contains(expected), "{wrong}");
    }
    assert_eq!(carrier.agent("ann").known().samples(), 0, "nothing of it is learned");
}

#[test]
fn who_may_not_open_a_round_is_told_why_and_when_it_may() {
    let mut carrier = Carrier::under(RawTerms { gap_ms: 500, ..testing::terms(2) });
    assert_eq!(code(carrier.office().check_opens(Time(0), &id("eve"))), Code::NotAMember);
    carrier.round(1000);
    match carrier.office().check_opens(Time(1200), &id("ann")).unwrap_err() {
        OfficeError::Early { refusal, wait_ms } => assert_eq!((refusal.code, wait_ms), (Code::TooSoon, 300)),
        other => panic!("{other}"),
    }
    carrier.office().check_opens(Time(1500), &id("ann")).unwrap();
}

#[test]
fn a_node_is_a_member_only_if_it_signs_the_very_challenge_with_the_members_key() {
    let mut carrier = Carrier::new();
    let (asked, other) = (Nonce::random(), Nonce::random());
    let greeting = carrier.agent("ann").greet(asked);
    let greeted = |carrier: &mut Carrier, challenge, answer: &Envelope| {
        carrier.office().greeted(challenge, answer).map_err(|refusal| refusal.code)
    };
    assert_eq!(greeted(&mut carrier, asked, &greeting), Ok(id("ann")));
    assert_eq!(greeted(&mut carrier, other, &greeting), Err(Code::BadNonce));
    let forged = |name: &str, change: &dyn Fn(&mut Greeting), key: u8| {
        let mut content: Greeting = serde_json::from_str(greeting.content.get()).unwrap();
        content.member = id(name);
        change(&mut content);
        Federation::key(key).seal(GREETING_SCHEMA, &content)
    };
    let kept = |_: &mut Greeting| {};
    assert_eq!(greeted(&mut carrier, asked, &forged("ann", &kept, 1)), Ok(id("ann")));
    assert_eq!(greeted(&mut carrier, asked, &forged("bob", &kept, 1)), Err(Code::BadSignature));
    assert_eq!(greeted(&mut carrier, asked, &forged("eve", &kept, 1)), Err(Code::NotAMember));
    let foreign = |content: &mut Greeting| content.federation = Digest::of(b"other");
    assert_eq!(greeted(&mut carrier, asked, &forged("ann", &foreign, 1)), Err(Code::OtherFederation));
    let terms = |content: &mut Greeting| content.terms = Digest::of(b"other");
    assert_eq!(greeted(&mut carrier, asked, &forged("ann", &terms, 1)), Err(Code::OtherTerms));
}

#[test]
fn nobody_speaks_for_another_member() {
    let mut carrier = Carrier::new();
    carrier.play("ann", 1000);
    let said = carrier.said("ann").unwrap();
    assert_eq!(code(carrier.hand_in("bob", 1000, &said)), Code::OtherMember);
    assert_eq!(carrier.office().round().map(OpenRound::round), None);
    carrier.hand_in("ann", 1000, &said).unwrap();
}
