//! What machines are saved as: members, and the standing of a coordinator.

use truthfed::Amount;
use truthfed::auction::{Clock, Offer};
use truthfed::bandit::RawConfig;
use truthfed::protocol::{
    Coordinator, Input, Member, Notice, Quota, RawTerms, Request, RoundId, Snapshot, Standing, Terms, Time,
};
use truthfed::statistics::Statistics;

use crate::protocol::Price;
use crate::text::{json, message};

/// A member, or else a standing: what can be read can go on.
pub fn saved(bytes: &[u8]) -> bool {
    if let Some(member) = message::<Member>(bytes) {
        go_on(member);
        return true;
    }
    message::<Standing>(bytes).map(|standing| resume(&standing)).is_some()
}

fn go_on(mut member: Member) {
    let dimension = member.known().dimension();
    let unit: Vec<f64> = (0..dimension).map(|i| f64::from(i == 0)).collect();
    // What was saved may be far from anything that data gives; then the member says so.
    let _ = member.choose(&[&unit]);
    let _ = member.learn(&unit, 1.0);
    let (undelivered, mut free) = (member.undelivered(), Price(Some(Amount::ZERO)));
    for (closed, most) in [(0, None), (1, Some(1)), (RoundId::LAST.0 - 1, Some(0))] {
        member.open_round(most, &mut free);
        let _ = member.handle(Notice::Opened(RoundId(closed + 1), most), &mut free);
        let _ = member.handle(Notice::Awarded(RoundId(closed + 1)), &mut free);
        let snapshot = Snapshot { closed: RoundId(closed), settled: None, statistics: undelivered.clone(), own: None };
        let _ = member.handle(Notice::Snapshot(snapshot), &mut free);
        while member.poll().is_some() {}
    }
    let written = json(&member);
    let again: Result<Member, _> = serde_json::from_str(&written);
    again.unwrap_or_else(|error| panic!("it went on, and cannot be read any more: {error}: {written}"));
}

fn resume(standing: &Standing) {
    let dimension = standing.shares.values().next().map_or(1, |share| share.confirmed.dimension());
    if !standing.has_dimension(dimension) {
        return;
    }
    let bandit = RawConfig { dimension, ..RawConfig::default() };
    let samples = u64::from(standing.awarded.is_some());
    let quota = Quota { samples, per_ms: 1000, ..Quota::default() };
    let terms = Terms::try_from(RawTerms { bandit, quota, ..RawTerms::default() }).expect("valid terms");
    let mut coordinator = Coordinator::resume(terms, Box::new(Clock), standing.clone());
    assert_eq!(&coordinator.standing(), standing);
    let Some(member) = standing.members.keys().next().cloned() else { return };
    let mut data = Statistics::new(dimension).expect("a dimension that was read");
    let unit: Vec<f64> = (0..dimension).map(|i| f64::from(i == 0)).collect();
    (0..9).for_each(|_| data.observe(&unit, 1.0).expect("a valid observation"));
    let offer = Offer { client: member.clone(), ask: Amount::ZERO, gram: data.gram().clone() };
    let request = Request::Offer { round: RoundId(standing.closed.0 + 1), samples: data.samples(), offer };
    let opened = coordinator.handle(Time(0), Input::Request(member, request)).is_ok();
    assert_eq!(opened, coordinator.open().is_some() || coordinator.closed() > standing.closed);
    coordinator.handle(Time(u64::MAX), Input::Tick).expect("time passes");
}
