//! Making the folder of a federation, and adding members to it.
//!
//! Whatever is made is made beside its place, written through to disk and then renamed: it is whole or not there. Nothing that
//! exists is overwritten.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use truthfed::auction::catalog;
use truthfed::auction::{ClientId, Kind};

use super::bundle::{BundleFile, MEMBER, write_bundle, write_identity, write_key};
use super::open::{
    AUTHORITY, Enrolment, MEMBERS, OPERATOR, OpenError, ROSTER, SERVER, SETTINGS, file, open, read_authority,
    read_certificate, read_identity, read_settings,
};
use super::settings::{Settings, SettingsError};
use super::{DEFAULT_TOML, lines};
use crate::digest::{Digest, Nonce, PublicKey};
use crate::identity::{
    Authority, Certificate, IssueError, NameError, Request, Validity, check_name, create_private_folder, write_private,
    write_public,
};

/// Most members that are made at once.
const MAX_MEMBERS: usize = 10_000;
/// Files that are synced at the same time.
const SYNCED_AT_ONCE: usize = 32;

#[derive(Debug, Clone, Default)]
pub struct InitOptions {
    /// The name of the federation; by default that of the folder.
    pub name: Option<String>,
    pub members: Vec<String>,
    /// Settings that differ from [`DEFAULT_TOML`], as `key=value`, such as `terms.reserve=500`.
    pub changes: Vec<String>,
}

impl InitOptions {
    pub fn with_members(count: usize) -> InitOptions {
        InitOptions { members: (1..=count).map(|number| format!("m{number}")).collect(), ..InitOptions::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    pub folder: PathBuf,
    /// The federation: the hash of its authority's certificate.
    pub federation: Digest,
    pub members: Vec<Enrolment>,
}

/// Why no federation is made. All are the operator's to mend; nothing was left behind.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("{} exists already and is not an empty folder: choose another name, or remove it", .0.display())]
    Exists(PathBuf),
    #[error("{} does not name a new folder: give it a name, such as `fed`", .0.display())]
    Unnamed(PathBuf),
    #[error(transparent)]
    Name(#[from] NameError),
    /// Two members of the same name; folders may not tell capitals apart.
    #[error("two members are named {0}, if capitals do not count: give each its own name")]
    Twice(String),
    #[error("{0} members are too many at once: at most {MAX_MEMBERS}, add the others later")]
    TooMany(usize),
    #[error("`{0}` changes no setting: write key=value with a key of federation.toml, such as terms.reserve=500")]
    Change(String),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error("cannot make {}: {error}: name a place that exists and can be written to", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Why a member is not added. All are the operator's to mend.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error("{0} was added already: choose another name")]
    Exists(ClientId),
    #[error("{0} is no member: see `truthfed members list`")]
    Unknown(ClientId),
    /// Somebody else made the request, or it is an old one.
    #[error(
        "the renewal is not signed with the present key of {0}: ask the member to run `truthfed member renew` again"
    )]
    NotHandedOver(ClientId),
    #[error("the request is for federation {found}, not for {expected}: name the folder of that one")]
    OtherFederation { found: Digest, expected: Digest },
    /// Two members with one key could not be told apart.
    #[error("{holder} has this key already: {member} must make a key of its own")]
    SharedKey { member: ClientId, holder: ClientId },
    /// What an earlier attempt left is not for this applicant.
    #[error("{} is a bundle for another key: remove it, and add the member again", .0.display())]
    OtherBundle(PathBuf),
    #[error("cannot write {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Makes the folder of a new federation; if it fails, nothing is left behind.
pub fn init(folder: &Path, options: &InitOptions) -> Result<Created, InitError> {
    let place = folder.file_name().and_then(|name| name.to_str());
    let place = place.ok_or_else(|| InitError::Unnamed(folder.to_owned()))?;
    if is_taken(folder) {
        return Err(InitError::Exists(folder.to_owned()));
    }
    let members = check_members(&options.members)?;
    let text = settings_text(place, options)?;
    let settings = Settings::read(&text)?;
    let authority = Authority::create(&settings.name, Validity::authority())?;

    let io = |error| InitError::Io { path: folder.to_owned(), error };
    let scratch = Scratch::beside(folder).map_err(io)?;
    create_private_folder(&scratch.path).map_err(io)?;
    let members = fill(&scratch.path, &text, &settings, &authority, &members)?;
    scratch.move_to(folder).map_err(|error| match is_taken(folder) {
        true => InitError::Exists(folder.to_owned()),
        false => io(error),
    })?;
    Ok(Created { folder: folder.to_owned(), federation: authority.federation(), members })
}

/// Who becomes a member.
#[derive(Debug, Clone)]
pub enum Applicant {
    /// Somebody whose key is made here, and then handed over.
    Named(ClientId),
    /// Somebody who has made its own key: its bundle comes without.
    Requesting(Request),
}

impl Applicant {
    pub fn named(name: &str) -> Result<Applicant, NameError> {
        check_name(name).map(Applicant::Named)
    }

    pub fn member(&self) -> &ClientId {
        match self {
            Applicant::Named(member) => member,
            Applicant::Requesting(request) => request.member(),
        }
    }
}

/// Issues the bundle of another member. The coordinator must still be told to enrol it.
pub fn add_member(folder: &Path, applicant: &Applicant) -> Result<Enrolment, AddError> {
    let member = applicant.member().clone();
    let on_roster = folder.join(ROSTER).join(format!("{member}.pem"));
    if on_roster.exists() {
        return Err(AddError::Exists(member));
    }
    let bundle = folder.join(MEMBERS).join(member.as_str());
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error| AddError::Io { path, error }
    };
    if let Applicant::Requesting(request) = applicant {
        check_own_key(folder, request)?;
    }
    // A bundle that is not on the roster is what a crash left of an earlier attempt: it is whole.
    if !bundle.exists() {
        let (settings, authority) = (read_settings(folder)?, read_authority(folder)?);
        let coordinator = read_certificate(&file(folder, SERVER, "pem"))?.key();
        fs::create_dir_all(folder.join(MEMBERS)).map_err(io(&bundle))?;
        let scratch = Scratch::beside(&bundle).map_err(io(&bundle))?;
        issue_bundle(&scratch.path, applicant, &settings, &authority, coordinator)?.map_err(io(&bundle))?;
        scratch.move_to(&bundle).map_err(io(&bundle))?;
    }
    let certificate = read_certificate(&file(&bundle, MEMBER, "pem"))?;
    let fits = match applicant {
        Applicant::Named(_) => file(&bundle, MEMBER, "key").exists(),
        Applicant::Requesting(request) => certificate.key() == request.key(),
    };
    if !fits {
        return Err(AddError::OtherBundle(bundle));
    }
    replace(&on_roster, certificate.pem()).map_err(io(&on_roster))?;
    Ok(Enrolment::new(member, &certificate))
}

pub(super) fn check_own_key(folder: &Path, request: &Request) -> Result<(), AddError> {
    let roster = open(folder)?.roster;
    match roster.into_iter().find(|enrolment| enrolment.key == request.key()) {
        Some(Enrolment { member: holder, .. }) => Err(AddError::SharedKey { member: request.member().clone(), holder }),
        None => Ok(()),
    }
}

/// Certifies the coordinator, under the names of the present settings, and the operator anew. Both keep their keys.
pub fn renew(folder: &Path) -> Result<Certificate, AddError> {
    let (settings, authority) = (read_settings(folder)?, read_authority(folder)?);
    let key = |stem| read_identity(folder, stem).map(|identity| identity.signer().clone());
    let operator = authority.renew_operator(key(OPERATOR)?, Validity::leaf());
    let server = authority.renew_server(key(SERVER)?, &settings.names, Validity::leaf())?;
    for (stem, renewed) in [(OPERATOR, &operator), (SERVER, &server)] {
        let path = file(folder, stem, "pem");
        replace(&path, renewed.certificate().pem()).map_err(|error| AddError::Io { path, error })?;
    }
    Ok(server.certificate().clone())
}

/// Writes a public file in one step, over what is there.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let scratch = Scratch::beside(path)?;
    write_public(&scratch.path, text)?;
    scratch.move_to(path)
}

pub(super) fn is_taken(folder: &Path) -> bool {
    let empty = |mut entries: fs::ReadDir| entries.next().is_none();
    folder.symlink_metadata().is_ok() && !fs::read_dir(folder).is_ok_and(empty)
}

fn check_members(names: &[String]) -> Result<Vec<ClientId>, InitError> {
    if names.len() > MAX_MEMBERS {
        return Err(InitError::TooMany(names.len()));
    }
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name.to_ascii_lowercase()) {
            return Err(InitError::Twice(name.clone()));
        }
    }
    names.iter().map(|name| check_name(name).map_err(InitError::from)).collect()
}

/// The commented defaults with the name and the changes put in.
fn settings_text(place: &str, options: &InitOptions) -> Result<String, InitError> {
    let name = match &options.name {
        Some(name) => check_name(name)?.to_string(),
        None => check_name(place).map_or("federation".to_owned(), String::from),
    };
    let mut text = lines::set(DEFAULT_TOML, "name", &quoted(&name)).expect("the defaults have a name");
    for change in &options.changes {
        // Without the value: it may hold the password of a database.
        let (key, value) = change.split_once('=').ok_or_else(|| InitError::Change(change.clone()))?;
        let wrong = || InitError::Change(key.to_owned());
        text = set(&text, key.trim(), value.trim()).ok_or_else(wrong)?;
    }
    Ok(text)
}

/// Changes a setting; the value is TOML, or else plain text.
fn set(text: &str, key: &str, value: &str) -> Option<String> {
    if value.contains('\n') {
        return None;
    }
    let is_text = is_text(text, key)?;
    let written = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
    let written = written.and_then(|mut table| table.remove("value"));
    let value = match written {
        // Amounts are text in the file, and numbers to everybody who types them.
        Some(typed) if typed.is_str() || !is_text => value.to_owned(),
        _ => quoted(value),
    };
    let insert = || lines::insert_after(text, MECHANISM, key.rsplit('.').next()?, &value);
    lines::set(text, key, &value).or_else(insert)
}

/// The key that the parameters of the mechanism follow.
const MECHANISM: &str = "terms.mechanism.name";

/// Whether a setting is text in the file; none if there is no such setting. Parameters of mechanisms need not stand there.
fn is_text(text: &str, key: &str) -> Option<bool> {
    let parameters = catalog::parameters().into_iter().map(|(parameter, _)| parameter);
    let mut named = parameters.filter(|parameter| key == format!("terms.mechanism.{}", parameter.name));
    if let Some(parameter) = named.next() {
        return Some(matches!(parameter.kind, Kind::Amount { .. } | Kind::Choice(_)));
    }
    let table = toml::from_str::<toml::Table>(text).ok()?;
    let table = toml::Value::from(table);
    let value = key.split('.').try_fold(&table, |value, part| value.get(part))?;
    // A number may stand in the place of `auto`.
    Some(value.as_str().is_some_and(|text| text != "auto"))
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn fill(
    folder: &Path,
    text: &str,
    settings: &Settings,
    authority: &Authority,
    members: &[ClientId],
) -> Result<Vec<Enrolment>, InitError> {
    let io = |error| InitError::Io { path: folder.to_owned(), error };
    let server = authority.issue_server(&settings.names, Validity::leaf())?;
    let operator = authority.issue_operator(Validity::leaf());
    // Private: it may come to have the password of a database.
    write_private(&folder.join(SETTINGS), text).map_err(io)?;
    for (stem, identity) in [(AUTHORITY, authority.identity()), (SERVER, &server), (OPERATOR, &operator)] {
        let inner = folder.join(stem).parent().map(Path::to_owned).expect("a stem has a folder");
        create_private_folder(&inner).and_then(|()| write_identity(folder, stem, identity)).map_err(io)?;
    }
    for name in [ROSTER, MEMBERS] {
        create_private_folder(&folder.join(name)).map_err(io)?;
    }
    let coordinator = server.certificate().key();
    let mut enrolments = Vec::with_capacity(members.len());
    for member in members {
        let bundle = folder.join(MEMBERS).join(member.as_str());
        let applicant = Applicant::Named(member.clone());
        let certificate = issue_bundle(&bundle, &applicant, settings, authority, coordinator)?.map_err(io)?;
        write_public(&folder.join(ROSTER).join(format!("{member}.pem")), certificate.pem()).map_err(io)?;
        enrolments.push(Enrolment::new(member.clone(), &certificate));
    }
    Ok(enrolments)
}

/// Issues a certificate and writes a bundle into a new folder. The outer error is about the name.
fn issue_bundle(
    folder: &Path,
    applicant: &Applicant,
    settings: &Settings,
    authority: &Authority,
    coordinator_key: PublicKey,
) -> Result<io::Result<Certificate>, IssueError> {
    let (certificate, key) = match applicant {
        Applicant::Named(member) => {
            let identity = authority.issue_member(member, Validity::leaf())?;
            (identity.certificate().clone(), Some(identity.signer().clone()))
        }
        Applicant::Requesting(request) => (authority.certify(request, Validity::leaf()), None),
    };
    let file = BundleFile {
        member: applicant.member().to_string(),
        coordinator: settings.address.clone(),
        server_name: settings.server_name.clone(),
        federation: authority.federation(),
        coordinator_key,
        terms: settings.agreement.hash(),
    };
    let written = write_bundle(folder, &file, &settings.agreement, authority.identity().certificate(), &certificate)
        .and_then(|()| key.map_or(Ok(()), |key| write_key(folder, MEMBER, &key)));
    Ok(written.map(|()| certificate))
}

/// A file or folder that is being made beside its place. It is removed unless it is moved there.
pub(super) struct Scratch {
    pub(super) path: PathBuf,
}

impl Scratch {
    pub(super) fn beside(place: &Path) -> io::Result<Scratch> {
        let name = place.file_name().and_then(|name| name.to_str()).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Scratch { path: place.with_file_name(format!(".{name}.{}", Nonce::random())) })
    }

    /// Writes it through and moves it to its place in one step.
    pub(super) fn move_to(self, place: &Path) -> io::Result<()> {
        sync(&self.path)?;
        fs::rename(&self.path, place)?;
        let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // After it was moved there is nothing to remove; and if it cannot be, it is only litter.
        let _ = match self.path.is_dir() {
            true => fs::remove_dir_all(&self.path),
            false => fs::remove_file(&self.path),
        };
    }
}

/// Waits until all of it is on disk. Many wait at the same time: the disk takes what waits together.
fn sync(path: &Path) -> io::Result<()> {
    let mut all = Vec::new();
    list(path, &mut all)?;
    let sync_some = |some: &[PathBuf]| some.iter().try_for_each(|path| File::open(path)?.sync_all());
    std::thread::scope(|scope| {
        let some = all.chunks(all.len().div_ceil(SYNCED_AT_ONCE));
        let threads: Vec<_> = some.map(|some| scope.spawn(move || sync_some(some))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("syncing does not panic"))
    })
}

fn list(path: &Path, all: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            list(&entry?.path(), all)?;
        }
    }
    all.push(path.to_owned());
    Ok(())
}
