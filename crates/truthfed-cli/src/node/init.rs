//! `truthfed init`: creates the folder of a new federation.

use serde::Serialize;
use truthfed_node::federation::{InitOptions, init};

use super::args::InitArgs;
use crate::report::{Report, json};

#[derive(Serialize)]
struct Made {
    folder: String,
    federation: String,
    members: Vec<String>,
}

pub(crate) fn run(args: &InitArgs) -> anyhow::Result<Report> {
    let members = match args.member.is_empty() {
        true => InitOptions::with_members(usize::from(args.members)).members,
        false => args.member.clone(),
    };
    let created = init(&args.folder, &InitOptions { name: args.name.clone(), members, changes: args.set.clone() })?;
    let made = Made {
        folder: created.folder.display().to_string(),
        federation: created.federation.to_string(),
        members: created.members.iter().map(|member| member.member.to_string()).collect(),
    };
    Ok(Report::done(if args.json { json(&made) } else { words(&made) }))
}

fn words(Made { folder, federation, members }: &Made) -> String {
    let bundles = match members.as_slice() {
        [] => format!("No members yet: truthfed members add {folder} NAME\n"),
        [first, ..] => format!(
            "{} members. Move each folder of {folder}/members to its member, who runs:\n  truthfed agent {folder}/members/{first}\n",
            members.len()
        ),
    };
    format!(
        "Created the federation {federation} in {folder}.\n\
         {bundles}\
         Settings and terms are in {folder}/federation.toml. Every bundle has a copy of terms and address: to change them, \
         create\na new folder with --set. Then:\n  truthfed serve {folder}\n"
    )
}
