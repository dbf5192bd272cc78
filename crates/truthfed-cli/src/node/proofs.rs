//! `truthfed ledger prove` and `check`: proofs from a journal, and their check by whoever has a key and no journal.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use serde::Serialize;
use truthfed_node::digest::Digest;
use truthfed_node::federation::{PublicBundle, open, open_bundle};
use truthfed_node::identity::Certificate;
use truthfed_node::journal::Head;
use truthfed_node::log::{Grown, NoteKey, PROOF_SCHEMA, Proof, ProofError, Proven, SignedHead, Whole, origin};
use truthfed_node::store::Store;

use super::args::{CheckArgs, ProveArgs};
use super::recorded;
use crate::report::{Report, counted, json};
use crate::source;

/// Largest file of heads or of a proof: a hundred of the largest entries.
const MAX_FILE: u64 = 512 << 20;
/// Only a member's bundle has it.
const MEMBER: &str = "member.toml";

pub(crate) fn prove(args: &ProveArgs) -> anyhow::Result<Report> {
    if args.key {
        return Ok(Report::done(format!("{}\n", key_of(&args.folder)?)));
    }
    let mut store = recorded(&args.folder)?;
    let whole = Whole::read(store.as_mut())?;
    let head = match &args.head {
        Some(path) => {
            let head = newest(&heads(path)?).with_context(|| source::name(path))?;
            let (folder, size) = (args.folder.display(), head.size());
            let end = whole.size();
            ensure!(size <= end, "{folder} has {end} entries, and the head is of {size}: take a later journal");
            if whole.top(size) != head.top() {
                let text =
                    format!("the journal of {folder} is not that of the head: the roots of {size} entries differ\n");
                return Ok(Report::refuted(text));
            }
            head
        }
        None => signed(args, &whole)?,
    };
    let mut proof = Proof::of(&head);
    let mut tree = whole.tree(head.size());
    for number in numbers(args, store.as_mut(), head.size())? {
        let (before, row) = row(store.as_mut(), number)?;
        let Ok(proven) = Proven::of(before, row, &mut tree);
        proof.entries.push(proven?);
    }
    if let Some(from) = args.from {
        let Ok(grown) = Grown::of(from, &mut tree);
        proof.grown = Some(grown.context("--from")?);
    }
    Ok(Report::done(match args.note {
        true => head.to_string(),
        false => json(&proof),
    }))
}

/// The head of the journal, or of its first entries, signed with the key in the federation's folder.
fn signed(args: &ProveArgs, whole: &Whole) -> anyhow::Result<SignedHead> {
    if PublicBundle::is_there(&args.folder) {
        bail!("a bundle has no key to sign a head: name one with --head, such as `truthfed member head` prints");
    }
    let federation = open(&args.folder)?;
    let size = args.size.unwrap_or(whole.size());
    ensure!(size <= whole.size(), "--size: the journal has {} entries", whole.size());
    Ok(SignedHead::sign(federation.server.signer(), federation.id(), whole.top(size)))
}

/// Which entries are to be proved.
fn numbers(args: &ProveArgs, store: &mut dyn Store, size: u64) -> anyhow::Result<Vec<u64>> {
    let Some(round) = args.round else { return Ok(args.entry.clone()) };
    let (mut found, mut last) = (args.entry.clone(), 0);
    while last < size {
        let rows = store.rows(last, 512)?;
        let Some(end) = rows.last() else { break };
        last = end.number;
        for row in rows.iter().filter(|row| row.number <= size) {
            let entry = row.entry()?;
            let about = entry.about();
            let is_asked =
                args.member.as_ref().is_none_or(|member| about.speaker.is_some_and(|of| of.as_str() == member));
            if about.round.is_some_and(|of| of.0 == round) && is_asked {
                found.push(row.number);
            }
        }
    }
    ensure!(!found.is_empty(), "the first {size} entries have nothing of that in round {round}");
    Ok(found)
}

/// An entry, and the hash before it.
fn row(store: &mut dyn Store, number: u64) -> anyhow::Result<(Digest, truthfed_node::journal::Row)> {
    let rows = store.rows(number.saturating_sub(2), 2)?;
    let before = rows.iter().find(|row| row.number + 1 == number).map_or(Head::START.hash, |row| row.hash);
    let row = rows.into_iter().find(|row| row.number == number);
    Ok((before, row.with_context(|| format!("--entry: there is no entry {number}"))?))
}

/// What was found in files of heads and proofs.
#[derive(Debug, Serialize)]
struct Checked {
    origin: String,
    key: String,
    /// By size: the root.
    heads: BTreeMap<u64, Digest>,
    /// Entries that are proved, by number.
    entries: Vec<u64>,
    /// Sizes of heads that no proof links to the next larger one.
    unlinked: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<Report> {
    let mut proofs = Vec::new();
    for path in &args.files {
        proofs.extend(read(path)?);
    }
    let first = SignedHead::read(&proofs[0].head).with_context(|| source::name(&args.files[0]))?;
    let key = key(&args.key, first.origin())?;
    let mut checked = Checked {
        origin: key.name().to_owned(),
        key: key.to_string(),
        heads: BTreeMap::new(),
        entries: Vec::new(),
        unlinked: Vec::new(),
        problem: None,
    };
    checked.problem = checked.take(&proofs, &key, &args.witness).err();
    let text = if args.json { json(&checked) } else { checked.words() };
    Ok(if checked.problem.is_some() { Report::refuted(text) } else { Report::done(text) })
}

impl Checked {
    /// Takes all in, the first thing that is wrong is the error.
    fn take(&mut self, proofs: &[Proof], key: &NoteKey, witnesses: &[NoteKey]) -> Result<(), String> {
        let mut links = Vec::new();
        for proof in proofs {
            let head = proof.check(key).map_err(|error| error.to_string())?;
            if let Some(witness) = witnesses.iter().find(|witness| !head.is_signed_by(witness)) {
                return Err(format!("the head of {} entries is not signed by {}", head.size(), witness.name()));
            }
            self.head(head.top())?;
            self.entries.extend(proof.entries.iter().map(|proven| proven.number));
            if let Some(grown) = &proof.grown {
                links.push((grown.from, grown.root, head.size()));
            }
        }
        // A proof that a journal went on from a root says nothing about another root of that size, which somebody signed.
        for (from, root, to) in &links {
            if let Some(signed) = self.heads.get(from).filter(|signed| *signed != root) {
                return Err(two_histories(&format!(
                    "the head of {to} entries went on from {root}, and the head of {from} entries is {signed}"
                )));
            }
        }
        let sizes: Vec<u64> = self.heads.keys().copied().collect();
        let is_linked = |from: u64, to: u64| {
            let reaches = |size: u64| links.iter().filter(move |(start, ..)| *start == size).map(|(_, _, end)| *end);
            reaches(from).any(|end| end == to || reaches(to).any(|other| other == end))
        };
        self.unlinked = sizes.windows(2).filter(|pair| !is_linked(pair[0], pair[1])).map(|pair| pair[0]).collect();
        Ok(())
    }

    fn head(&mut self, (size, root): (u64, Digest)) -> Result<(), String> {
        match self.heads.insert(size, root) {
            Some(before) if before != root => {
                Err(two_histories(&format!("both {before} and {root} are the root of {size} entries")))
            }
            _ => Ok(()),
        }
    }

    fn words(&self) -> String {
        if let Some(problem) = &self.problem {
            return format!("{problem}\n");
        }
        let sizes: Vec<String> = self.heads.keys().map(u64::to_string).collect();
        let heads = counted(sizes.len(), "head");
        let mut text = format!("{heads}, of {} entries, signed by {}", sizes.join(", "), self.key);
        if !self.entries.is_empty() {
            let entries: Vec<String> = self.entries.iter().map(u64::to_string).collect();
            text.push_str(&format!("; the journal has entry {}", entries.join(", ")));
        }
        text.push_str(".\n");
        for size in &self.unlinked {
            text.push_str(&format!(
                "Nothing here links the head of {size} entries to the next: ask for `truthfed ledger prove FED --from {size}`.\n"
            ));
        }
        text
    }
}

fn two_histories(what: &str) -> String {
    format!("the coordinator signed two histories: {what}")
}

/// A proof, or heads without one.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Proof>> {
    let text = source::read(path, MAX_FILE)?;
    if text.trim_start().starts_with('{') {
        let proof = truthfed_node::reading::read_json::<Proof>(text.as_bytes());
        let proof = proof.map_err(|refusal| anyhow::anyhow!("{}: {}", source::name(path), refusal.message))?;
        if proof.schema != PROOF_SCHEMA {
            return Err(ProofError::Schema(proof.schema)).with_context(|| source::name(path));
        }
        return Ok(vec![proof]);
    }
    let heads = split(&text).with_context(|| source::name(path))?;
    ensure!(!heads.is_empty(), "{}: it has no head in it", source::name(path));
    Ok(heads.iter().map(Proof::of).collect())
}

fn heads(path: &Path) -> anyhow::Result<Vec<SignedHead>> {
    let head = |proof: &Proof| SignedHead::read(&proof.head).with_context(|| source::name(path));
    read(path)?.iter().map(head).collect()
}

fn newest(heads: &[SignedHead]) -> Option<SignedHead> {
    heads.iter().max_by_key(|head| head.size()).cloned()
}

/// Notes that stand one below the other.
fn split(text: &str) -> anyhow::Result<Vec<SignedHead>> {
    let (mut notes, mut was_signature) = (vec![String::new()], false);
    for line in text.split_inclusive('\n') {
        let is_signature = line.starts_with('—');
        if was_signature && !is_signature {
            notes.push(String::new());
        }
        let last = notes.last_mut().expect("there is one");
        // Blank lines between two notes belong to neither.
        if !(last.is_empty() && line.trim().is_empty()) {
            last.push_str(line);
        }
        was_signature = is_signature;
    }
    notes.iter().filter(|note| !note.is_empty()).map(|note| Ok(SignedHead::read(note)?)).collect()
}

/// Whose heads they must be: a key as it is printed, a certificate, or a folder that has one.
fn key(text: &str, found: &str) -> anyhow::Result<NoteKey> {
    if let Ok(key) = text.parse() {
        return Ok(key);
    }
    let path = Path::new(text);
    if path.join(MEMBER).is_file() {
        let bundle = open_bundle(path)?;
        return Ok(NoteKey::of_log(bundle.federation, bundle.coordinator_key));
    }
    if path.is_dir() {
        let trust = PublicBundle::open(path)?.trust;
        let known = trust.federation.zip(trust.coordinator).context("the bundle names no federation")?;
        return Ok(NoteKey::of_log(known.0, known.1));
    }
    let pem = source::read(path, source::MAX_CONFIG)
        .context("--key: name the coordinator's key, its certificate (server.pem), or a bundle")?;
    let certificate = Certificate::from_pem(&pem).with_context(|| source::name(path))?;
    // A certificate does not say of which federation: whatever its key signed is one.
    let federation = found.strip_prefix("truthfed/").and_then(|federation| federation.parse().ok());
    let federation = federation.with_context(|| format!("origin: `{found}` is not `{}`", origin(Digest::of(b""))))?;
    Ok(NoteKey::of_log(federation, certificate.key()))
}

/// What a journal is to a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Under {
    /// The head is of it.
    Same,
    /// It ends before.
    Shorter,
    /// The head is of another.
    Other,
}

impl Under {
    pub(super) fn of(store: &mut dyn Store, head: &SignedHead) -> anyhow::Result<Under> {
        let whole = Whole::read(store)?;
        Ok(if head.size() > whole.size() {
            Under::Shorter
        } else if whole.top(head.size()) == head.top() {
            Under::Same
        } else {
            Under::Other
        })
    }
}

/// The key by which the heads of a federation's folder or bundle are checked.
fn key_of(folder: &Path) -> anyhow::Result<NoteKey> {
    match PublicBundle::is_there(folder) || folder.join(MEMBER).is_file() {
        true => key(&folder.display().to_string(), ""),
        false => {
            let federation = open(folder)?;
            Ok(NoteKey::of_log(federation.id(), federation.server.signer().public()))
        }
    }
}
