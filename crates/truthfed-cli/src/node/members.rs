//! `truthfed members`: lists, adds and revokes members.
//!
//! The command asks a running coordinator over the network, with the operator's certificate. If none runs, it starts an
//! engine just for the change; the lease keeps the two apart.

use std::sync::Arc;

use anyhow::{Context, bail};
use serde::Serialize;
use truthfed::auction::ClientId;
use truthfed_node::coordinator::operator::{EnrolRequest, MemberLine, MembersReply, Order, OrderReply};
use truthfed_node::coordinator::{Config, Plan};
use truthfed_node::engine;
use truthfed_node::federation::{AddError, Enrolment, Federation, add_member, open};
use truthfed_node::identity::check_name;
use truthfed_node::net::{Client, NetError, client_tls};

use super::args::{FolderArgs, MemberArgs, MembersArgs, MembersCommand};
use super::block_on;
use crate::report::{Report, json, table};

/// The lease of an engine that makes one change: long enough for it, short enough to wait for after a crash.
const LEASE_MS: u64 = 10_000;

pub(crate) fn run(args: &MembersArgs) -> anyhow::Result<Report> {
    match &args.command {
        MembersCommand::List(args) => list(args),
        MembersCommand::Add(args) => add(args),
        MembersCommand::Revoke(args) => revoke(args),
    }
}

fn list(args: &FolderArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    let reply = block_on(change(&federation, None))?;
    Ok(Report::done(if args.json { json(&reply) } else { words(&reply) }))
}

fn words(reply: &MembersReply) -> String {
    let row = |member: &MemberLine| {
        let state = if member.is_revoked { "revoked" } else { "member" };
        vec![member.member.to_string(), state.to_owned(), member.certificate.to_string()]
    };
    table(&["name", "state", "certificate (SHA-256)"], &[], reply.members.iter().map(row).collect())
}

#[derive(Serialize)]
struct Added {
    member: String,
    bundle: String,
}

fn add(args: &MemberArgs) -> anyhow::Result<Report> {
    let issued = add_member(&args.folder, &args.member);
    let federation = open(&args.folder)?;
    let Enrolment { member, key, certificate } = match issued {
        Err(AddError::Exists(member)) => unfinished(&federation, member)?,
        issued => issued?,
    };
    let request = EnrolRequest { member: member.to_string(), key, certificate };
    block_on(change(&federation, Some(Change::Enrol(request))))?;
    let bundle = args.folder.join("members").join(&args.member).display().to_string();
    let added = Added { member: member.to_string(), bundle };
    Ok(Report::done(match args.json {
        true => json(&added),
        false => format!(
            "{member} is a member. Move {} to the member, who runs: truthfed agent {}\n",
            added.bundle, added.bundle
        ),
    }))
}

/// The enrolment of a member that has a bundle but is not enrolled, because an earlier attempt failed in between.
fn unfinished(federation: &Federation, member: ClientId) -> anyhow::Result<Enrolment> {
    let members = block_on(change(federation, None))?.members;
    let on_roster = federation.roster.iter().find(|enrolment| enrolment.member == member);
    match on_roster {
        Some(enrolment) if members.iter().all(|line| line.member != member) => Ok(enrolment.clone()),
        _ => Err(AddError::Exists(member).into()),
    }
}

#[derive(Serialize)]
struct Revoked {
    revoked: String,
}

fn revoke(args: &MemberArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    let member = check_name(&args.member)?;
    block_on(change(&federation, Some(Change::Revoke(member.to_string()))))?;
    Ok(Report::done(match args.json {
        true => json(&Revoked { revoked: member.to_string() }),
        false => format!("{member} is revoked; the coordinator refuses its certificate.\n"),
    }))
}

enum Change {
    Enrol(EnrolRequest),
    Revoke(String),
}

/// Makes a change and returns all members.
async fn change(federation: &Federation, change: Option<Change>) -> anyhow::Result<MembersReply> {
    match over_the_network(federation, &change).await {
        Err(error) if is_away(&error) => with_an_engine(federation, change).await,
        reply => reply,
    }
}

fn is_away(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(NetError::Unreachable { .. }))
}

async fn over_the_network(federation: &Federation, change: &Option<Change>) -> anyhow::Result<MembersReply> {
    let settings = &federation.settings;
    let tls = client_tls(&federation.operator_identity()?, &federation.authority)?;
    let client = Client::new(&settings.address, &settings.server_name, tls)?;
    let orders = match change {
        None => vec![Order::Members],
        Some(Change::Enrol(request)) => vec![Order::Enrol(request.clone()), Order::Members],
        Some(Change::Revoke(member)) => vec![Order::Revoke(check_name(member)?), Order::Members],
    };
    let mut replies = Vec::with_capacity(orders.len());
    for order in orders {
        let reply = client.send(order.message(), None).await?;
        match reply.refusal() {
            Some(refusal) => return Err(refusal.into()),
            None if reply.status.is_success() => replies.push(order.read_reply(&reply.body)?),
            None => bail!("the coordinator answered with status {}", reply.status),
        }
    }
    match replies.pop() {
        Some(OrderReply::Members(members)) => Ok(members),
        _ => bail!("the coordinator did not say who the members are"),
    }
}

async fn with_an_engine(federation: &Federation, change: Option<Change>) -> anyhow::Result<MembersReply> {
    let plan = Arc::new(Config::of(federation, LEASE_MS).plan);
    let started = {
        let plan = plan.clone();
        tokio::task::spawn_blocking(move || begin(&plan)).await?
    };
    let running = started.with_context(|| {
        format!("no coordinator answers at {}, and the store cannot be used either", federation.settings.address)
    })?;
    let handle = running.handle();
    let changed = match change {
        None => Ok(String::new()),
        // The first start of a federation enrols its whole roster.
        Some(Change::Enrol(request)) if is_enrolled(&handle, &request)? => Ok(String::new()),
        Some(Change::Enrol(EnrolRequest { member, key, certificate })) => {
            handle.enrol(check_name(&member)?, key, certificate).await
        }
        Some(Change::Revoke(member)) => handle.revoke(check_name(&member)?).await,
    };
    let line = |(member, info): (&_, &engine::MemberInfo)| MemberLine {
        member: Clone::clone(member),
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

fn begin(plan: &Plan) -> anyhow::Result<engine::Running> {
    Ok(engine::start(plan.setup(), (plan.store)()?)?)
}

fn is_enrolled(handle: &engine::Handle, request: &EnrolRequest) -> anyhow::Result<bool> {
    let name = check_name(&request.member)?;
    let published = handle.published();
    Ok(published.members().get(&name).is_some_and(|info| info.certificate == request.certificate && !info.is_revoked))
}
