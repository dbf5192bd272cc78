//! `truthfed member`: what a member does on its own machine: to become one, with a key that nobody else ever holds, and to see its page.

use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use truthfed_node::agent::Token;
use truthfed_node::client::Application;
use truthfed_node::digest::Digest;
use truthfed_node::federation::{apply, ask_renewal, join, open_bundle, take_renewal};

use super::agent::TOKEN;
use super::args::{JoinArgs, MemberCommand, MemberInitArgs, MemberPageArgs, MemberRenewArgs};
use super::block_on;
use crate::report::{Report, json};

pub(crate) fn run(command: &MemberCommand) -> anyhow::Result<Report> {
    match command {
        MemberCommand::Init(args) => init(args),
        MemberCommand::Join(args) => joined(args),
        MemberCommand::Renew(args) => renew(args),
        MemberCommand::Page(args) => page(args),
    }
}

#[derive(Serialize)]
struct Applied {
    member: String,
    request: String,
}

fn init(MemberInitArgs { folder, name, json: as_json }: &MemberInitArgs) -> anyhow::Result<Report> {
    let application = apply(folder, name.as_deref())?;
    let (member, request) = (application.member.to_string(), application.request.display().to_string());
    Ok(Report::done(match as_json {
        true => json(&Applied { member, request }),
        false => format!(
            "{folder} has a new key, which stays there. Send {request} to the operator, who runs:\n  \
             truthfed members add fed --request request.json\n\
             and sends you the folder fed/members/{member}. Then: truthfed member join {folder} {member}\n",
            folder = folder.display()
        ),
    }))
}

#[derive(Serialize)]
struct Joined {
    member: String,
    federation: Digest,
    bundle: String,
}

fn joined(JoinArgs { folder, issued, federation, json: as_json }: &JoinArgs) -> anyhow::Result<Report> {
    let bundle = join(folder, issued, *federation)?;
    let (member, last_day) = (bundle.member.to_string(), bundle.identity.certificate().last_day());
    let (federation, bundle) = (bundle.federation, folder.display().to_string());
    Ok(Report::done(match as_json {
        true => json(&Joined { member, federation, bundle }),
        false => format!(
            "{bundle} is the bundle of {member}, whose certificate lasts until {last_day}, in federation\n  {federation}\n\
             Ask the operator on another way whether it is this one. Then: truthfed agent {bundle}\n"
        ),
    }))
}

fn renew(MemberRenewArgs { bundle, issued, json: as_json }: &MemberRenewArgs) -> anyhow::Result<Report> {
    match issued {
        None => asked(bundle, *as_json),
        Some(issued) => taken(bundle, issued, *as_json),
    }
}

fn asked(folder: &Path, as_json: bool) -> anyhow::Result<Report> {
    let request = ask_renewal(folder)?;
    let member = open_bundle(folder)?.member.to_string();
    let (bundle, request) = (folder.display(), request.display().to_string());
    Ok(Report::done(match as_json {
        true => json(&Applied { member, request }),
        false => format!(
            "{bundle} has its next key; the present one stays in use. Send {request} to the operator, who runs:\n  \
             truthfed members renew fed --request renewal.json\n\
             and sends you fed/roster/{member}.pem. Then: truthfed member renew {bundle} --issued {member}.pem\n"
        ),
    }))
}

#[derive(Serialize)]
struct Taken {
    member: String,
    last_day: String,
}

fn taken(folder: &Path, issued: &Path, as_json: bool) -> anyhow::Result<Report> {
    let bundle = take_renewal(folder, issued)?;
    let (member, last_day) = (bundle.member.to_string(), bundle.identity.certificate().last_day());
    Ok(Report::done(match as_json {
        true => json(&Taken { member, last_day }),
        false => format!("{member} has a new key, and a certificate until {last_day}. Start its agent again.\n"),
    }))
}

fn page(MemberPageArgs { bundle, agent, token, seconds }: &MemberPageArgs) -> anyhow::Result<Report> {
    let file = token.clone().unwrap_or_else(|| bundle.join(TOKEN));
    let missing = || format!("no token of an agent: start it with `truthfed agent {}`", bundle.display());
    let token = Token::read(&file).with_context(missing)?;
    let link = block_on(async { Ok(Application::connect(*agent, Some(&token)).await?.page(*seconds).await?) })?;
    Ok(Report::done(format!("{link}\n")))
}
