//! `truthfed audit --replay`: a counterexample, run again and explained.

use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use serde_json::value::RawValue;
use truthfed::Amount;
use truthfed::auction::catalog::Claim;
use truthfed::auction::{RawMechanism, Round};
use truthfed::audit::{Account, Counterexample, Gain, Part, Property, Replay};

use crate::report::{Report, counted, decimal, json};
use crate::source;

pub(super) fn run(path: &Path, as_json: bool) -> anyhow::Result<Report> {
    let name = || source::name(path);
    let text = source::read(path, source::MAX_ROUND)?;
    let counterexample = Counterexample::read(&text).with_context(name)?;
    let setting = counterexample.setting().with_context(name)?;
    let replay = counterexample.replay(setting.mechanism().as_ref()).with_context(name)?;
    let is_claimed = counterexample.property.claim_of(&setting.claims()) == Claim::Yes;
    let text = match as_json {
        true => object(&counterexample, &replay, is_claimed),
        false => words(&counterexample, &replay, is_claimed),
    };
    Ok(if is_claimed && replay.reproduces { Report::refuted(text) } else { Report::done(text) })
}

fn words(counterexample: &Counterexample, replay: &Replay, is_claimed: bool) -> String {
    let Counterexample { mechanism: RawMechanism { name: mechanism, .. }, property, round, .. } = counterexample;
    let told = match property {
        Property::Monotone => replay.accounts.iter().map(two_asks).collect(),
        Property::Truthful | Property::Collusion | Property::CollusionInTotal => lies(replay, *property),
        _ => replay.faults.iter().map(|fault| format!("  {fault}\n")).collect::<String>(),
    };
    let verdict = match (replay.reproduces, is_claimed) {
        (true, true) => format!("It reproduces: {mechanism} fails {property}, which it claims."),
        (true, false) => format!("It reproduces: {mechanism} fails {property}, and does not claim it."),
        (false, _) => format!("It does not reproduce: {property} is not broken here."),
    };
    format!("{mechanism}, {property}: {}.\n{}{told}{verdict}\n", property.meaning(), scene(round))
}

fn scene(round: &Round) -> String {
    let spec = round.spec();
    let asks: Vec<String> = spec.offers.iter().map(|offer| format!("{} {}", offer.client, offer.ask)).collect();
    format!(
        "The round has {} in {}, coverage {}, reserve {}. True costs: {}.\n",
        counted(asks.len(), "client"),
        counted(round.dimension(), "dimension"),
        round.coverage().to_ratio(),
        round.reserve(),
        asks.join(", "),
    )
}

fn two_asks(Account { client, first, second, .. }: &Account) -> String {
    [first, second].map(|part| format!("  {client} asks {}: it {}.\n", part.ask, ending(part))).concat()
}

fn lies(replay: &Replay, property: Property) -> String {
    let mut text = String::from("When all tell the truth:\n");
    for Account { client, cost, first, .. } in &replay.accounts {
        text.push_str(&format!("  {client} asks its true cost, {cost}: it {}.\n", with_utility(first, *cost)));
    }
    text.push_str("With the lie:\n");
    for account in &replay.accounts {
        let Account { client, cost, second, .. } = account;
        let asks = if second.ask == *cost { "still asks" } else { "asks" };
        let (ended, change) = (with_utility(second, *cost), change(account.gain()));
        text.push_str(&format!("  {client} {asks} {}: it {ended}, {change}.\n", second.ask));
    }
    let total: Gain = replay.accounts.iter().map(Account::gain).sum();
    if property != Property::Truthful {
        text.push_str(&format!("Together they gain {total}.\n"));
    }
    text
}

fn change(gain: Gain) -> String {
    match gain.micros() {
        0 => "no more and no less than with the truth".to_owned(),
        1.. => format!("{gain} more than with the truth"),
        _ => format!("{} less than with the truth", Gain::ZERO - gain),
    }
}

fn ending(part: &Part) -> String {
    part.payment.map_or("loses".to_owned(), |payment| format!("wins and is paid {payment}"))
}

fn with_utility(part: &Part, cost: Amount) -> String {
    format!("{}; that leaves it {}", ending(part), part.utility(cost))
}

#[derive(Serialize)]
struct Object<'a> {
    mechanism: &'a str,
    property: &'a str,
    claimed: bool,
    reproduces: bool,
    gain: Option<Box<RawValue>>,
    accounts: Vec<AccountObject>,
    faults: &'a [String],
}

#[derive(Serialize)]
struct AccountObject {
    client: String,
    cost: Box<RawValue>,
    first: PartObject,
    second: PartObject,
    gain: Box<RawValue>,
}

#[derive(Serialize)]
struct PartObject {
    ask: Box<RawValue>,
    wins: bool,
    payment: Option<Box<RawValue>>,
    utility: Box<RawValue>,
}

fn object(counterexample: &Counterexample, replay: &Replay, claimed: bool) -> String {
    let part = |part: &Part, cost: Amount| PartObject {
        ask: decimal(&part.ask),
        wins: part.payment.is_some(),
        payment: part.payment.as_ref().map(decimal),
        utility: decimal(&part.utility(cost)),
    };
    let account = |account: &Account| AccountObject {
        client: account.client.to_string(),
        cost: decimal(&account.cost),
        first: part(&account.first, account.cost),
        second: part(&account.second, account.cost),
        gain: decimal(&account.gain()),
    };
    json(&Object {
        mechanism: &counterexample.mechanism.name,
        property: counterexample.property.name(),
        claimed,
        reproduces: replay.reproduces,
        gain: replay.gain.as_ref().map(decimal),
        accounts: replay.accounts.iter().map(account).collect(),
        faults: &replay.faults,
    })
}
