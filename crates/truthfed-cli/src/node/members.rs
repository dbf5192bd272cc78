//! `truthfed members`: lists, adds and revokes members, and rules about what they delivered.
//!
//! A running coordinator does it; if none runs, an engine that is started for it, and listing only reads the ledger
//! ([`super::operator`]).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use truthfed::auction::ClientId;
use truthfed::protocol::Judgement;
use truthfed_node::coordinator::operator::{
    DoubtLine, DoubtsReply, EnrolRequest, MemberLine, MembersReply, Order, OrderReply, RenewRequest, RuledReply,
    RulingName, RulingRequest, read_doubts, read_members,
};
use truthfed_node::engine::{self, Answer};
use truthfed_node::error::{Code, Refusal};
use truthfed_node::federation::{
    AddError, Applicant, Enrolment, Federation, add_member, certify_renewal, finish_renewal, open,
};
use truthfed_node::identity::{Certificate, RenewalRequest, Request, check_name};

use super::args::{AddArgs, FolderArgs, MemberArgs, MembersCommand, RenewArgs};
use super::ledger::units;
use super::operator::{an_engine, ask, is_unreachable, unexpected};
use super::{block_on, existing_store};
use crate::report::{Report, cells, json, table};

/// How often to ask again while a round is open, and how soon: for a minute.
const TRIES: u32 = 240;
const PAUSE: Duration = Duration::from_millis(250);
/// Longest file of a request; a real one has about 350 bytes.
const MOST_BYTES: u64 = 16 * 1024;

pub(crate) fn run(command: &MembersCommand) -> anyhow::Result<Report> {
    match command {
        MembersCommand::List(args) => list(args),
        MembersCommand::Add(args) => add(args),
        MembersCommand::Renew(args) => renew(args),
        MembersCommand::Revoke(args) => revoke(args),
        MembersCommand::Doubts(args) => doubts(args),
        MembersCommand::Release(args) => rule(args, RulingName::Release),
        MembersCommand::Void(args) => rule(args, RulingName::Void),
        MembersCommand::Forget(args) => rule(args, RulingName::Forget),
    }
}

fn list(args: &FolderArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    let reply = match block_on(ask(&federation, &Order::Members)) {
        Err(error) if is_unreachable(&error) => {
            MembersReply { members: read_members(existing_store(&federation)?.as_mut())? }
        }
        Ok(OrderReply::Members(reply)) => reply,
        reply => return unexpected(reply),
    };
    Ok(Report::done(if args.json { json(&reply) } else { words(&reply) }))
}

fn words(reply: &MembersReply) -> String {
    let row = |member: &MemberLine| {
        let state = if member.is_revoked { "revoked" } else { "member" };
        cells(&[&member.member, &state, &member.certificate])
    };
    table(&["name", "state", "certificate (SHA-256)"], &[], reply.members.iter().map(row).collect())
}

#[derive(Serialize)]
struct Added {
    member: String,
    bundle: String,
}

fn add(AddArgs { of, member, request }: &AddArgs) -> anyhow::Result<Report> {
    let applicant = applicant(member.as_deref(), request.as_deref())?;
    let issued = add_member(&of.folder, &applicant);
    let federation = open(&of.folder)?;
    let Enrolment { member, key, certificate } = match issued {
        Err(AddError::Exists(member)) => unfinished(&federation, member)?,
        issued => issued?,
    };
    let request = EnrolRequest { member: member.to_string(), key, certificate };
    block_on(change(&federation, Order::Enrol(request)))?;
    let bundle = of.folder.join("members").join(member.as_str()).display().to_string();
    let told = match applicant {
        Applicant::Named(_) => format!("Move {bundle} to the member, who runs: truthfed agent {bundle}"),
        Applicant::Requesting(_) => {
            format!("Send {bundle} to the member, who runs: truthfed member join {member} {bundle}")
        }
    };
    Ok(Report::done(match of.json {
        true => json(&Added { member: member.to_string(), bundle }),
        false => format!("{member} is a member. {told}\n"),
    }))
}

fn applicant(name: Option<&str>, request: Option<&Path>) -> anyhow::Result<Applicant> {
    let Some(path) = request else { return Ok(Applicant::named(name.context("a name or --request is needed")?)?) };
    let text = read_small(path)?;
    let request = Request::read(&text).with_context(|| path.display().to_string())?;
    if let Some(name) = name.filter(|name| *name != request.member().as_str()) {
        bail!("{0} is the request of {1}, not of {name}: add {1}", path.display(), request.member());
    }
    Ok(Applicant::Requesting(request))
}

/// A request comes from outside: what is far too long for one is not read.
fn read_small(path: &Path) -> anyhow::Result<String> {
    let named = || format!("{}: name the file that the member sent", path.display());
    let mut text = String::new();
    File::open(path).with_context(named)?.take(MOST_BYTES + 1).read_to_string(&mut text).with_context(named)?;
    ensure!(
        text.len() as u64 <= MOST_BYTES,
        "{} has more than {MOST_BYTES} bytes: it is not a request, name the file that the member sent",
        path.display()
    );
    Ok(text)
}

/// The enrolment of a member that has a bundle but is not enrolled, because an earlier attempt failed in between.
fn unfinished(federation: &Federation, member: ClientId) -> anyhow::Result<Enrolment> {
    let members = block_on(change(federation, Order::Members))?.members;
    let on_roster = federation.roster.iter().find(|enrolment| enrolment.member == member);
    match on_roster {
        Some(enrolment) if members.iter().all(|line| line.member != member) => Ok(enrolment.clone()),
        _ => Err(AddError::Exists(member).into()),
    }
}

#[derive(Serialize)]
struct RenewedMember {
    member: String,
    certificate: String,
    last_day: String,
}

fn renew(RenewArgs { of, request }: &RenewArgs) -> anyhow::Result<Report> {
    let text = read_small(request)?;
    let renewal = RenewalRequest::read(&text).with_context(|| request.display().to_string())?;
    let enrolment = certify_renewal(&of.folder, &renewal)?;
    let federation = open(&of.folder)?;
    let Enrolment { member, key, certificate } = &enrolment;
    let order = RenewRequest { key: *key, certificate: *certificate, signature: renewal.signature };
    block_on(renewed(&federation, member, &order))?;
    let file = finish_renewal(&of.folder, &enrolment)?;
    let last_day = Certificate::from_pem(&std::fs::read_to_string(&file)?)?.last_day();
    let (member, certificate) = (member.to_string(), file.display().to_string());
    Ok(Report::done(match of.json {
        true => json(&RenewedMember { member, certificate, last_day }),
        false => format!(
            "{member} has a new certificate until {last_day}; the one before is refused from now on. Send {certificate} to the member, \
             who runs:\n  truthfed member renew {member} --issued {member}.pem\nand starts its agent again.\n"
        ),
    }))
}

/// Has a renewal journaled, as soon as no round is open.
async fn renewed(federation: &Federation, member: &ClientId, request: &RenewRequest) -> anyhow::Result<()> {
    let order = Order::Renew(member.clone(), request.clone());
    for _ in 0..TRIES {
        match ask(federation, &order).await {
            Ok(OrderReply::Renew(_)) => return Ok(()),
            Err(error) if is_unreachable(&error) => return renewed_by_an_engine(federation, member, request).await,
            Err(error) if is_round_open(&error) => tokio::time::sleep(PAUSE).await,
            reply => return unexpected(reply),
        }
    }
    bail!("a round was open for a minute each time: try again")
}

async fn renewed_by_an_engine(
    federation: &Federation,
    member: &ClientId,
    request: &RenewRequest,
) -> anyhow::Result<()> {
    let RenewRequest { key, certificate, signature } = request.clone();
    let running = an_engine(federation).await?;
    let handle = running.handle();
    let renewed =
        until_no_round_is_open(async || handle.renew(member.clone(), key, certificate, signature).await).await;
    drop(handle);
    running.stop().await?;
    renewed?;
    Ok(())
}

/// Asks an engine again and again while a round is open: for a minute.
async fn until_no_round_is_open(ask: impl AsyncFn() -> Answer) -> Answer {
    let mut answer = ask().await;
    for _ in 1..TRIES {
        if !matches!(answer, Err(Refusal { code: Code::RoundOpen, .. })) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        answer = ask().await;
    }
    answer
}

fn revoke(MemberArgs { of, member }: &MemberArgs) -> anyhow::Result<Report> {
    let federation = open(&of.folder)?;
    let member = check_name(member)?;
    block_on(change(&federation, Order::Revoke(member.clone())))?;
    Ok(Report::done(match of.json {
        true => json(&BTreeMap::from([("revoked", member)])),
        false => format!("{member} is revoked; the coordinator refuses its certificate.\n"),
    }))
}

fn doubts(args: &FolderArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    let reply = match block_on(ask(&federation, &Order::Doubts)) {
        Err(error) if is_unreachable(&error) => {
            DoubtsReply { doubts: read_doubts(existing_store(&federation)?.as_mut())? }
        }
        Ok(OrderReply::Doubts(reply)) => reply,
        reply => return unexpected(reply),
    };
    Ok(Report::done(if args.json { json(&reply) } else { doubts_in_words(&reply) }))
}

fn doubts_in_words(DoubtsReply { doubts }: &DoubtsReply) -> String {
    if doubts.is_empty() {
        return "Nothing is in doubt, and no payment waits.\n".to_owned();
    }
    let row = |line: &DoubtLine| {
        let state = if line.is_held { "held" } else { "not confirmed yet" };
        let waiting = units(i128::from(line.waiting_micros));
        cells(&[&line.member, &state, &line.since, &line.samples, &line.payments, &waiting])
    };
    let header = ["name", "", "since round", "samples", "payments that wait", "in all"];
    table(&header, &[2, 3, 4, 5], doubts.iter().map(row).collect())
}

/// Rules about what a member delivered, as soon as no round is open.
fn rule(MemberArgs { of, member }: &MemberArgs, ruling: RulingName) -> anyhow::Result<Report> {
    let federation = open(&of.folder)?;
    let member = check_name(member)?;
    let RuledReply { paid, paid_micros, void, void_micros } = block_on(ruled(&federation, &member, ruling))?;
    let what = match ruling {
        RulingName::Release => "what was in doubt of it is settled",
        RulingName::Void => "what was in doubt of it is void",
        RulingName::Forget => "nothing that it delivered is shared any more",
    };
    let payments = |count: u64, micros: i64| format!("{count} ({} in all)", units(i128::from(micros)));
    Ok(Report::done(match of.json {
        true => json(&RuledReply { paid, paid_micros, void, void_micros }),
        false => format!(
            "{member}: {what}. Payments made: {}; void: {}.\n",
            payments(paid, paid_micros),
            payments(void, void_micros)
        ),
    }))
}

async fn ruled(federation: &Federation, member: &ClientId, ruling: RulingName) -> anyhow::Result<RuledReply> {
    let order = Order::Rule(member.clone(), RulingRequest { ruling });
    for _ in 0..TRIES {
        match ask(federation, &order).await {
            Ok(OrderReply::Rule(reply)) => return Ok(reply),
            Err(error) if is_unreachable(&error) => return ruled_by_an_engine(federation, member, ruling).await,
            Err(error) if is_round_open(&error) => tokio::time::sleep(PAUSE).await,
            reply => return unexpected(reply),
        }
    }
    bail!("a round was open for a minute each time: try again")
}

fn is_round_open(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Refusal { code: Code::RoundOpen, .. }))
}

/// Makes a change, if the order is one, and returns all members.
async fn change(federation: &Federation, order: Order) -> anyhow::Result<MembersReply> {
    match over_the_network(federation, &order).await {
        Err(error) if is_unreachable(&error) => with_an_engine(federation, order).await,
        reply => reply,
    }
}

async fn over_the_network(federation: &Federation, order: &Order) -> anyhow::Result<MembersReply> {
    for order in [order, &Order::Members] {
        if let OrderReply::Members(members) = ask(federation, order).await? {
            return Ok(members);
        }
    }
    bail!("the coordinator did not say who the members are")
}

async fn ruled_by_an_engine(
    federation: &Federation,
    member: &ClientId,
    ruling: RulingName,
) -> anyhow::Result<RuledReply> {
    let running = an_engine(federation).await?;
    let handle = running.handle();
    let ruled = until_no_round_is_open(async || handle.rule(member.clone(), ruling.into()).await).await;
    drop(handle);
    running.stop().await?;
    let judgement: Judgement = serde_json::from_str(&String::from(ruled?))?;
    Ok(RuledReply::from(&judgement))
}

async fn with_an_engine(federation: &Federation, order: Order) -> anyhow::Result<MembersReply> {
    let running = an_engine(federation).await?;
    let handle = running.handle();
    let changed = match order {
        // The first start of a federation enrols its whole roster.
        Order::Enrol(request) if !is_enrolled(&handle, &request)? => {
            handle.enrol(check_name(&request.member)?, request.key, request.certificate).await
        }
        Order::Revoke(member) if !handle.published().members().contains_key(&member) => {
            let message = format!("{member} is not, and was not, a member of this federation");
            Err(Refusal::new(Code::UnknownMember, message))
        }
        Order::Revoke(member) => handle.revoke(member).await,
        _ => Ok(String::new().into()),
    };
    let published = handle.published();
    let members = published.members().iter().map(|(member, info)| MemberLine::of(member, info)).collect();
    drop(handle);
    running.stop().await?;
    changed?;
    Ok(MembersReply { members })
}

fn is_enrolled(handle: &engine::Handle, request: &EnrolRequest) -> anyhow::Result<bool> {
    let name = check_name(&request.member)?;
    let published = handle.published();
    Ok(published.members().get(&name).is_some_and(|info| info.certificate == request.certificate && !info.is_revoked))
}
