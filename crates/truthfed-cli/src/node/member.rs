//! `truthfed member`: what a member does on its own machine to become one, with a key that nobody else ever holds.

use serde::Serialize;
use truthfed_node::digest::Digest;
use truthfed_node::federation::{apply, join};

use super::args::{JoinArgs, MemberCommand, MemberInitArgs};
use crate::report::{Report, json};

pub(crate) fn run(command: &MemberCommand) -> anyhow::Result<Report> {
    match command {
        MemberCommand::Init(args) => init(args),
        MemberCommand::Join(args) => joined(args),
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
