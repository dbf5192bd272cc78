//! What an auditor may have of a federation: the journal, the certificates and the last checkpoint, and no key.
//!
//! ```text
//! BUNDLE/bundle.json         which federation, and the hash of every other file
//!        journal.jsonl       a line for each entry, in order
//!        checkpoint.json     what the coordinator vouched for outside of its store, if there is any
//!        authority.pem, server.pem, members/NAME.pem
//!        renewals/NAME-KEY.pem   what renewals issued or replaced, if there were any
//! ```
//!
//! A bundle is written whole or not at all. Whoever reads one finds every byte that was altered since: by the hashes in
//! `bundle.json`, and that file has one form only. Whoever alters a journal and hashes again is found by
//! [`verify_journal`](crate::ledger::verify_journal). What that cannot find, a bundle made up from nothing by somebody with keys of
//! his own, shows in the federation's name, which members know: it is the hash of `authority.pem`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::certified::{self, RENEWALS, read_renewal, read_renewals};
use super::open::{
    AUTHORITY, Enrolment, Federation, OpenError, ROSTER, SERVER, check_holder, check_issued, file, read_certificate,
    read_roster, read_text,
};
use crate::digest::{Digest, Hex, PublicKey};
use crate::identity::{Certificate, Purpose, check_name};
use crate::journal::{Head, Row};
use crate::ledger::{Checkpoint, Posting, Reference, Trust};
use crate::store::{
    Batch, Extent, Lease, Recorded, RequestKey, RequestKind, StandingRow, Store, StoreError, StoredReply,
};

/// The schema this version reads and writes.
const SCHEMA: &str = "truthfed.bundle/1";
const MANIFEST: &str = "bundle.json";
const JOURNAL: &str = "journal.jsonl";
const CHECKPOINT: &str = "checkpoint.json";
const MEMBERS: &str = "members";
/// Rows read at once.
const CHUNK: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema: String,
    /// The hash of `authority.pem`.
    federation: Digest,
    /// The key of `server.pem`, which signs checkpoints and receipts.
    coordinator: PublicKey,
    /// How many entries the journal has.
    entries: u64,
    /// The hash of the last one.
    head: Digest,
    /// The SHA-256 of every other file, by its path.
    files: BTreeMap<String, Digest>,
}

impl Manifest {
    /// As it is written: there is no other form.
    fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("our own structs are JSON");
        text.push('\n');
        text
    }
}

/// A line of the journal.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<E> {
    number: u64,
    hash: Digest,
    entry: E,
}

/// An entry as a line of JSON, with its number and its hash. Fails when its body is not JSON.
pub fn line(row: &Row) -> serde_json::Result<String> {
    let entry: &RawValue = serde_json::from_str(&row.body)?;
    Ok(serde_json::to_string(&Line { number: row.number, hash: row.hash, entry })? + "\n")
}

/// Why no bundle is written. Operator.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error("{} exists already: name a folder that does not", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}: {error}: name a place that exists and can be written to", path.display())]
    Unwritable { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal is damaged: verify it.
    #[error("entry {0} is not JSON: run `truthfed ledger verify`")]
    Unreadable(u64),
}

/// Writes what an auditor may have into a new folder. Gives the number of entries.
pub fn publish(
    federation: &Federation,
    store: &mut dyn Store,
    checkpoint: Option<Checkpoint>,
    target: &Path,
) -> Result<u64, PublishError> {
    if target.exists() {
        return Err(PublishError::Exists(target.to_owned()));
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unfinished = target.with_file_name(format!(".{name}.unfinished"));
    let unwritable = |error| PublishError::Unwritable { path: target.to_owned(), error };
    // What an earlier attempt left.
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir(&unfinished).map_err(unwritable)?;
    let written = fill(federation, store, checkpoint, &unfinished)
        .and_then(|entries| fs::rename(&unfinished, target).map(|()| entries).map_err(unwritable));
    if written.is_err() {
        let _ = fs::remove_dir_all(&unfinished);
    }
    written
}

fn fill(
    federation: &Federation,
    store: &mut dyn Store,
    checkpoint: Option<Checkpoint>,
    folder: &Path,
) -> Result<u64, PublishError> {
    let unwritable = |error| PublishError::Unwritable { path: folder.to_owned(), error };
    let mut files = BTreeMap::new();
    let mut write = |name: String, text: &str| -> Result<(), PublishError> {
        fs::write(folder.join(&name), text).map_err(unwritable)?;
        files.insert(name, Digest::of(text.as_bytes()));
        Ok(())
    };
    for (name, path) in [("authority.pem", AUTHORITY), ("server.pem", SERVER)] {
        write(name.to_owned(), &read_text(&file(&federation.folder, path, "pem"))?)?;
    }
    // After the journal, and the roster first: whoever it enrols or renews was certified before.
    let (head, hash) = write_journal(store, &folder.join(JOURNAL))?;
    fs::create_dir(folder.join(MEMBERS)).map_err(unwritable)?;
    for (Enrolment { member, .. }, certificate) in read_roster(&federation.folder.join(ROSTER), &federation.authority)?
    {
        write(format!("{MEMBERS}/{member}.pem"), certificate.pem())?;
    }
    let renewals = read_renewals(&federation.folder.join(RENEWALS), &federation.authority)?;
    if !renewals.is_empty() {
        fs::create_dir(folder.join(RENEWALS)).map_err(unwritable)?;
    }
    for (Enrolment { member, key, .. }, certificate) in renewals {
        write(format!("{RENEWALS}/{}", certified::file_name(member.as_str(), key)), certificate.pem())?;
    }
    if let Some(checkpoint) = checkpoint {
        let text = serde_json::to_string(&checkpoint).expect("our own structs are JSON");
        write(CHECKPOINT.to_owned(), &text)?;
    }
    files.insert(JOURNAL.to_owned(), hash);
    let (schema, federation, coordinator) = (SCHEMA.to_owned(), federation.id(), federation.server.certificate().key());
    let manifest = Manifest { schema, federation, coordinator, entries: head.number, head: head.hash, files };
    fs::write(folder.join(MANIFEST), manifest.text()).map_err(unwritable)?;
    Ok(head.number)
}

fn write_journal(store: &mut dyn Store, path: &Path) -> Result<(Head, Digest), PublishError> {
    let unwritable = |error| PublishError::Unwritable { path: path.to_owned(), error };
    let (mut out, mut hasher) = (BufWriter::new(File::create(path).map_err(unwritable)?), Sha256::new());
    let mut head = Head::START;
    loop {
        let rows = store.rows(head.number, CHUNK)?;
        if rows.is_empty() {
            break;
        }
        for row in rows {
            let text = line(&row).map_err(|_| PublishError::Unreadable(row.number))?;
            hasher.update(&text);
            out.write_all(text.as_bytes()).map_err(unwritable)?;
            head = Head { number: row.number, hash: row.hash };
        }
    }
    out.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all()).map_err(unwritable)?;
    Ok((head, Hex(hasher.finalize().into())))
}

/// Why a bundle is not what was published. Auditor: somebody altered it, or it is not whole; ask for it again.
#[derive(Debug, thiserror::Error)]
pub enum PublicError {
    #[error("{name}: {problem}: ask for the bundle again")]
    Altered { name: String, problem: String },
    #[error("cannot read {}: {error}: ask for the bundle again", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Certificate(#[from] OpenError),
}

impl PublicError {
    fn altered(name: &str, problem: &(impl ToString + ?Sized)) -> PublicError {
        PublicError::Altered { name: name.to_owned(), problem: problem.to_string() }
    }
}

/// An open bundle: a store that can only be read, and has a journal and nothing else.
#[derive(Debug)]
pub struct PublicBundle {
    /// What is known of the journal from the files beside it.
    pub trust: Trust,
    /// Whom the authority certified, with every key.
    pub certified: Vec<Enrolment>,
    head: Head,
    journal: BufReader<File>,
    /// Number of the last row that was read.
    read: u64,
}

impl PublicBundle {
    /// Whether a folder is one.
    pub fn is_there(folder: &Path) -> bool {
        folder.join(MANIFEST).is_file()
    }

    /// Opens a bundle, after every byte of it is found to be as it was published.
    pub fn open(folder: &Path) -> Result<PublicBundle, PublicError> {
        let text = read_text(&folder.join(MANIFEST))?;
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| PublicError::altered(MANIFEST, &error))?;
        if manifest.schema != SCHEMA {
            let problem = format!("schema is `{}`, this version reads `{SCHEMA}`", manifest.schema);
            return Err(PublicError::altered(MANIFEST, &problem));
        }
        if manifest.text() != text {
            return Err(PublicError::altered(MANIFEST, "is not in the form in which it is written"));
        }
        check_files(folder, &manifest.files)?;
        let certified = check_certificates(folder, &manifest)?;
        let checkpoint = match manifest.files.contains_key(CHECKPOINT) {
            true => {
                let read = serde_json::from_str(&read_text(&folder.join(CHECKPOINT))?);
                Some(read.map_err(|error| PublicError::altered(CHECKPOINT, &error))?)
            }
            false => None,
        };
        let path = folder.join(JOURNAL);
        let journal = File::open(&path).map_err(|error| PublicError::Unreadable { path, error })?;
        let head = Head { number: manifest.entries, hash: manifest.head };
        let (federation, coordinator) = (Some(manifest.federation), Some(manifest.coordinator));
        let trust = Trust { federation, coordinator, checkpoint };
        Ok(PublicBundle { trust, certified, head, journal: BufReader::new(journal), read: 0 })
    }

    fn next(&mut self) -> Result<Option<Row>, StoreError> {
        let mut text = String::new();
        let number = self.read + 1;
        let damaged = |problem: &dyn ToString| {
            StoreError::Damaged(format!("line {number} of {JOURNAL}: {}", problem.to_string()))
        };
        if self.journal.read_line(&mut text).map_err(|error| damaged(&error))? == 0 {
            return Ok(None);
        }
        if number > self.head.number {
            return Err(damaged(&format!("{MANIFEST} has {} entries", self.head.number)));
        }
        let Line { number, hash, entry } =
            serde_json::from_str::<Line<Box<RawValue>>>(&text).map_err(|error| damaged(&error))?;
        self.read += 1;
        Ok(Some(Row { number, hash, body: entry.get().to_owned() }))
    }
}

/// Every file that is listed is there with its hash, and no other is.
fn check_files(folder: &Path, files: &BTreeMap<String, Digest>) -> Result<(), PublicError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |error| PublicError::Unreadable { path, error }
    };
    for required in ["authority.pem", "server.pem", JOURNAL] {
        if !files.contains_key(required) {
            return Err(PublicError::altered(MANIFEST, &format!("does not list {required}")));
        }
    }
    for (name, expected) in files {
        let is_known = [JOURNAL, CHECKPOINT, "authority.pem", "server.pem"].contains(&name.as_str());
        if !is_known && member_of(name).is_none() && renewal_of(name).is_none() {
            return Err(PublicError::altered(MANIFEST, &format!("lists {name}, which no bundle has")));
        }
        let path = folder.join(name);
        if hash_of(&path).map_err(unreadable(&path))? != *expected {
            return Err(PublicError::altered(name, "was altered: it has another hash than when it was published"));
        }
    }
    let inner = [("", folder.to_owned()), ("members/", folder.join(MEMBERS)), ("renewals/", folder.join(RENEWALS))];
    for (prefix, place) in inner.into_iter().filter(|(_, place)| place.exists()) {
        for entry in fs::read_dir(&place).map_err(unreadable(&place))? {
            let name = entry.map_err(unreadable(&place))?.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            if !files.contains_key(&path) && ![MANIFEST, MEMBERS, RENEWALS].contains(&path.as_str()) {
                return Err(PublicError::altered(&path, "was not there when it was published"));
            }
        }
    }
    Ok(())
}

fn hash_of(path: &Path) -> io::Result<Digest> {
    let (mut file, mut hasher, mut buffer) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Hex(hasher.finalize().into())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

fn member_of(name: &str) -> Option<ClientId> {
    let member = name.strip_prefix("members/")?.strip_suffix(".pem")?;
    check_name(member).ok()
}

/// The name of a file of a renewal, without its folder.
fn renewal_of(name: &str) -> Option<&str> {
    name.strip_prefix("renewals/").filter(|name| certified::parts(name).is_some())
}

/// The authority is the federation's, and it certified the coordinator and all members.
fn check_certificates(folder: &Path, manifest: &Manifest) -> Result<Vec<Enrolment>, PublicError> {
    let read = |name: &str| -> Result<(Certificate, PathBuf), PublicError> {
        let path = folder.join(name);
        Ok((read_certificate(&path)?, path))
    };
    let (authority, _) = read("authority.pem")?;
    if authority.digest() != manifest.federation {
        return Err(PublicError::altered("authority.pem", "is the authority of another federation"));
    }
    let (server, path) = read("server.pem")?;
    check_issued(&server, &authority, Purpose::Server, &path)?;
    if server.key() != manifest.coordinator {
        return Err(PublicError::altered("server.pem", "has another key than signs for the coordinator"));
    }
    let mut certified = Vec::new();
    for (name, member) in manifest.files.keys().filter_map(|name| Some((name, member_of(name)?))) {
        let (certificate, path) = read(name)?;
        check_issued(&certificate, &authority, Purpose::Client, &path)?;
        check_holder(&certificate, &member, &path)?;
        certified.push(Enrolment::new(member, &certificate));
    }
    for name in manifest.files.keys().filter_map(|name| renewal_of(name)) {
        certified.push(read_renewal(&folder.join(RENEWALS).join(name), name, &authority)?.0);
    }
    Ok(certified)
}

fn read_only<T>() -> Result<T, StoreError> {
    Err(StoreError::Unusable("a bundle for auditors can only be read".to_owned()))
}

impl Store for PublicBundle {
    fn acquire(&mut self, _: u64) -> Result<Lease, StoreError> {
        read_only()
    }

    fn renew(&mut self, _: Lease, _: u64) -> Result<(), StoreError> {
        read_only()
    }

    fn release(&mut self, _: Lease) -> Result<(), StoreError> {
        read_only()
    }

    fn commit(&mut self, _: Lease, _: &Batch) -> Result<(), StoreError> {
        read_only()
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        Ok(self.head)
    }

    fn extent(&mut self) -> Result<Extent, StoreError> {
        Ok(Extent { head: self.head, standing: None, replies: 0 })
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        Ok(None)
    }

    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        if after < self.read {
            self.journal.rewind().map_err(|error| StoreError::Unavailable(error.to_string()))?;
            self.read = 0;
        }
        let mut rows = Vec::new();
        while rows.len() < most {
            let Some(row) = self.next()? else { break };
            if self.read > after {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    fn reply(&mut self, _: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        Ok(None)
    }

    fn replies(&mut self, _: &ClientId, _: RequestKind, _: RoundId) -> Result<Vec<StoredReply>, StoreError> {
        Ok(Vec::new())
    }

    fn postings(&mut self, _: u64, _: usize) -> Result<Vec<Posting>, StoreError> {
        Err(StoreError::Unusable("a bundle for auditors has no postings: they follow from its journal".to_owned()))
    }

    fn owed(&mut self, _: &ClientId) -> Result<i128, StoreError> {
        read_only()
    }

    fn payout(&mut self, _: &ClientId, _: &Reference) -> Result<Option<Recorded>, StoreError> {
        read_only()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::federation::{InitOptions, certify_renewal, finish_renewal, init, open, open_bundle};
    use crate::identity::RenewalRequest;
    use crate::signature::Signer;
    use crate::testing::{Memory, Played};

    /// A bundle of a small journal, beside its federation.
    fn published() -> (tempfile::TempDir, PathBuf, Memory) {
        let outer = crate::testing::folder();
        let (folder, target) = (outer.path().join("fed"), outer.path().join("audit"));
        init(&folder, &InitOptions::with_members(1)).unwrap();
        let own = open_bundle(&folder.join("members/m1")).unwrap();
        let request = RenewalRequest::text(own.federation, &own.member, own.identity.signer(), &Signer::random());
        let renewed = certify_renewal(&folder, &RenewalRequest::read(&request).unwrap()).unwrap();
        finish_renewal(&folder, &renewed).unwrap();
        let mut store = Played::new(&["a"]).store();
        let checkpoint = store.checkpoint();
        let entries = publish(&open(&folder).unwrap(), &mut store, checkpoint, &target).unwrap();
        assert_eq!(entries, store.rows.len() as u64);
        (outer, target, store)
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = |folder: &Path| -> Vec<PathBuf> {
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
        };
        let mut files = [entries(folder), entries(&folder.join(MEMBERS)), entries(&folder.join(RENEWALS))].concat();
        files.retain(|path| path.is_file());
        files.sort();
        files
    }

    #[test]
    fn a_bundle_has_the_journal_as_it_was_and_no_key() {
        let (_outer, folder, mut store) = published();
        let mut bundle = PublicBundle::open(&folder).unwrap();
        let rows = store.rows.clone();
        assert_eq!(bundle.rows(0, 99).unwrap(), rows);
        assert_eq!(bundle.rows(2, 1).unwrap(), rows[2..3], "from anywhere");
        assert_eq!(bundle.rows(rows.len() as u64, 9).unwrap(), []);
        assert_eq!((bundle.head().unwrap(), bundle.trust.checkpoint), (store.head().unwrap(), store.checkpoint()));
        assert_eq!(bundle.certified.len(), 3, "m1, before and after its renewal, and once more where it was issued");
        assert!(matches!(bundle.acquire(1), Err(StoreError::Unusable(_))));
        assert_eq!(files(&folder).len(), 8, "the two of the renewal among them");
        for path in files(&folder) {
            assert!(!fs::read_to_string(&path).unwrap().contains("PRIVATE"), "{}", path.display());
        }
    }

    /// Whether it opens, and its journal ends where it says: a verifier looks at that, too.
    fn is_whole(folder: &Path) -> bool {
        let Ok(mut bundle) = PublicBundle::open(folder) else { return false };
        let (rows, end) = (bundle.rows(0, 99).unwrap_or_default(), bundle.head().unwrap());
        rows.last().is_some_and(|last| Head { number: last.number, hash: last.hash } == end)
    }

    #[test]
    fn whatever_byte_is_altered_in_a_bundle_is_found() {
        let (_outer, folder, _) = published();
        for path in files(&folder) {
            let honest = fs::read(&path).unwrap();
            for place in 0..honest.len() {
                let mut altered = honest.clone();
                altered[place] ^= 1;
                fs::write(&path, &altered).unwrap();
                assert!(!is_whole(&folder), "byte {place} of {}", path.display());
            }
            for altered in [[&honest[..], b"\n"].concat(), honest[..honest.len() - 1].to_vec()] {
                fs::write(&path, altered).unwrap();
                assert!(PublicBundle::open(&folder).is_err(), "the end of {}", path.display());
            }
            fs::write(&path, &honest).unwrap();
        }
        assert!(is_whole(&folder));
    }

    #[test]
    fn files_that_are_missing_or_added_and_lines_beyond_the_end_are_found() {
        let (_outer, folder, store) = published();
        let refused = |expected: &str| {
            let error = PublicBundle::open(&folder).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        for path in files(&folder) {
            let honest = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            refused(path.file_name().unwrap().to_str().unwrap());
            fs::write(&path, honest).unwrap();
        }
        for name in ["more.txt", "members/eve.pem", "renewals/eve.pem"] {
            fs::write(folder.join(name), "x").unwrap();
            refused("was not there");
            fs::remove_file(folder.join(name)).unwrap();
        }
        // Somebody adds an entry, and its file's hash.
        let journal = folder.join(JOURNAL);
        let longer = fs::read_to_string(&journal).unwrap() + &line(&store.rows[0]).unwrap();
        fs::write(&journal, &longer).unwrap();
        let manifest = fs::read_to_string(folder.join(MANIFEST)).unwrap();
        let mut manifest: Manifest = serde_json::from_str(&manifest).unwrap();
        manifest.files.insert(JOURNAL.to_owned(), Digest::of(longer.as_bytes()));
        fs::write(folder.join(MANIFEST), manifest.text()).unwrap();
        let error = PublicBundle::open(&folder).unwrap().rows(0, 99).unwrap_err().to_string();
        assert!(error.contains(&format!("has {} entries", store.rows.len())), "{error}");
    }

    #[test]
    fn a_bundle_takes_the_place_of_nothing() {
        let (outer, folder, mut store) = published();
        let federation = open(&outer.path().join("fed")).unwrap();
        let refused = publish(&federation, &mut store, None, &folder).unwrap_err();
        assert!(matches!(refused, PublishError::Exists(_)), "{refused}");
    }
}
