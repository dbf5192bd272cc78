//! `truthfed members`: lists, adds and revokes members.
//!
//! The command asks a running coordinator over the network, with the operator's certificate. If none runs, it starts an
//! engine just for the change; the lease keeps the two apart. Listing only reads the ledger then.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use truthfed::auction::ClientId;
use truthfed_node::coordinator::Config;
use truthfed_node::coordinator::operator::{EnrolRequest, MemberLine, MembersReply, Order, OrderReply, read_members};
use truthfed_node::engine;
use truthfed_node::federation::{AddError, Enrolment, Federation, add_member, open};
use truthfed_node::identity::check_name;
use truthfed_node::net::{Client, NetError, client_tls};

use super::args::{FolderArgs, MemberArgs, MembersCommand};
use super::{block_on, existing_store};
use crate::report::{Report, cells, json, table};

/// The lease of an engine that makes one change: long enough for it, short enough to wait for after a crash.
const LEASE_MS: u64 = 10_000;

pub(crate) fn run(command: &MembersCommand) -> anyhow::Result<Report> {
    match command {
        MembersCommand::List(args) => list(args),
        MembersCommand::Add(args) => add(args),
        MembersCommand::Revoke(args) => revoke(args),
    }
}

fn list(args: &FolderArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    let reply = match block_on(over_the_network(&federation, &Order::Members)) {
        Err(error) if is_unreachable(&error) => {
            MembersReply { members: read_members(existing_store(&federation)?.as_mut())? }
        }
        reply => reply?,
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

fn add(MemberArgs { of, member: name }: &MemberArgs) -> anyhow::Result<Report> {
    let issued = add_member(&of.folder, name);
    let federation = open(&of.folder)?;
    let Enrolment { member, key, certificate } = match issued {
        Err(AddError::Exists(member)) => unfinished(&federation, member)?,
        issued => issued?,
    };
    let request = EnrolRequest { member: member.to_string(), key, certificate };
    block_on(change(&federation, Order::Enrol(request)))?;
    let bundle = of.folder.join("members").join(name).display().to_string();
    Ok(Report::done(match of.json {
        true => json(&Added { member: member.to_string(), bundle }),
        false => format!("{member} is a member. Move {bundle} to the member, who runs: truthfed agent {bundle}\n"),
    }))
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

fn revoke(MemberArgs { of, member }: &MemberArgs) -> anyhow::Result<Report> {
    let federation = open(&of.folder)?;
    let member = check_name(member)?;
    block_on(change(&federation, Order::Revoke(member.clone())))?;
    Ok(Report::done(match of.json {
        true => json(&BTreeMap::from([("revoked", member)])),
        false => format!("{member} is revoked; the coordinator refuses its certificate.\n"),
    }))
}

/// Makes a change, if the order is one, and returns all members.
async fn change(federation: &Federation, order: Order) -> anyhow::Result<MembersReply> {
    match over_the_network(federation, &order).await {
        Err(error) if is_unreachable(&error) => with_an_engine(federation, order).await,
        reply => reply,
    }
}

fn is_unreachable(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(NetError::Unreachable { .. }))
}

async fn over_the_network(federation: &Federation, order: &Order) -> anyhow::Result<MembersReply> {
    let settings = &federation.settings;
    let tls = client_tls(&federation.operator_identity()?, &federation.authority)?;
    let client = Client::new(&settings.address, &settings.server_name, tls)?;
    for order in [order, &Order::Members] {
        let reply = client.send(order.message(), None).await?;
        if let Some(refusal) = reply.refusal() {
            return Err(refusal.into());
        }
        ensure!(reply.status.is_success(), "the coordinator answered with status {}", reply.status);
        if let OrderReply::Members(members) = order.read_reply(&reply.body)? {
            return Ok(members);
        }
    }
    bail!("the coordinator did not say who the members are")
}

async fn with_an_engine(federation: &Federation, order: Order) -> anyhow::Result<MembersReply> {
    let plan = Config::of(federation, LEASE_MS).plan;
    let begin = move || anyhow::Ok(engine::start(plan.setup(), &plan.store, &mut engine::Ahead::default())?);
    let running = tokio::task::spawn_blocking(begin).await?.with_context(|| {
        format!("no coordinator answers at {}, and the store cannot be used either", federation.settings.address)
    })?;
    let handle = running.handle();
    let changed = match order {
        // The first start of a federation enrols its whole roster.
        Order::Enrol(request) if !is_enrolled(&handle, &request)? => {
            handle.enrol(check_name(&request.member)?, request.key, request.certificate).await
        }
        Order::Revoke(member) => handle.revoke(member).await,
        _ => Ok(String::new().into()),
    };
    let line = |(member, info): (&ClientId, &engine::MemberInfo)| MemberLine {
        member: member.clone(),
        key: info.key,
        certificate: info.certificate,
        is_revoked: info.is_revoked,
    };
    let members = handle.published().members().iter().map(line).collect();
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
