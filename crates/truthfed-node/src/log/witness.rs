//! A witness: signs heads of one log beside its own key, each only if it goes on from the last one that it signed.
//!
//! Whoever asks for a witness's signature under a head knows that everybody who does sees the same journal. A witness need not be
//! trusted with anything in the journal, and sees nothing of it.
//!
//! ```text
//! WITNESS/witness.json   its name, and the key of the log
//!         witness.key    its own key
//!         last.head      the last head that it signed
//!         refused.head   one that it did not, because it is of another history
//! ```
//!
//! Promises: it never signs two heads of which one does not go on from the other, whatever is asked of it in whatever order, also after
//! a crash: a head is on disk before its signature leaves.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::merkle::Top;
use super::note::{Kind, NoteKey, SignedHead};
use super::proof::{Proof, ProofError};
use crate::identity::{PrivateFileError, read_private, write_private};
use crate::signature::{KeyError, Signer};

/// The schema this version reads and writes.
const SCHEMA: &str = "truthfed.witness/1";
const SETTINGS: &str = "witness.json";
const KEY: &str = "witness.key";
const LAST: &str = "last.head";
const REFUSED: &str = "refused.head";
const LOCK: &str = "witness.lock";

pub struct Witness {
    folder: PathBuf,
    key: NoteKey,
    signer: Signer,
    log: NoteKey,
    /// Nobody else signs in this folder meanwhile.
    _lock: File,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    schema: String,
    name: String,
    log: String,
}

#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// Whoever runs it: take another folder.
    #[error("{} exists already: name a folder that does not", .0.display())]
    Exists(PathBuf),
    /// Whoever runs it: a name such as `witness.example`, and the key that `truthfed ledger prove --key` prints.
    #[error("{0}")]
    Settings(String),
    #[error("{}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error(transparent)]
    KeyFile(#[from] PrivateFileError),
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Whoever runs it: wait for the other one.
    #[error("{} is in use by another witness: wait until it ends", .0.display())]
    InUse(PathBuf),
    /// Whoever gave the proof.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// Whoever gave the proof: ask for one from the last head.
    #[error(
        "the last head it signed has {last} entries: ask for a proof from there (truthfed ledger prove --from {last})"
    )]
    NotFrom { last: u64 },
    /// Nobody: it was signed already, and a later one too.
    #[error("it has signed a head of {last} entries: one of {shown} is older")]
    Older { last: u64, shown: u64 },
    /// The log signed two histories.
    #[error(
        "the log signed two histories: the journal of {shown} entries does not go on from that of {last} entries, which this witness \
         signed. {} and {} are the two heads",
        LAST,
        REFUSED
    )]
    TwoHistories { last: u64, shown: u64 },
}

impl Witness {
    /// Makes a witness with a key of its own, in a new folder.
    pub fn create(folder: &Path, name: &str, log: &NoteKey) -> Result<Witness, WitnessError> {
        let signer = Signer::random();
        if NoteKey::of_witness(name, signer.public()).is_none() {
            let problem = "a name has no spaces, no control characters and no +, such as witness.example";
            return Err(WitnessError::Settings(format!("--name: {problem}")));
        }
        if log.kind() != Kind::Log {
            return Err(WitnessError::Settings("--log: is the key of a witness, not of a log".to_owned()));
        }
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| WitnessError::Io { path, error }
        };
        match fs::create_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(WitnessError::Exists(folder.to_owned()));
            }
            made => made.map_err(failed(folder))?,
        }
        let settings = Settings { schema: SCHEMA.to_owned(), name: name.to_owned(), log: log.to_string() };
        write_private(&folder.join(KEY), &signer.to_pem()).map_err(failed(&folder.join(KEY)))?;
        let text = serde_json::to_string_pretty(&settings).expect("our own structs are JSON") + "\n";
        write(&folder.join(SETTINGS), &text)?;
        Witness::open(folder)
    }

    pub fn open(folder: &Path) -> Result<Witness, WitnessError> {
        let wrong = |problem: &dyn ToString| {
            WitnessError::Settings(format!("{}: {}", folder.join(SETTINGS).display(), problem.to_string()))
        };
        let text = read(&folder.join(SETTINGS))?.ok_or_else(|| wrong(&"it is missing: this is no witness's folder"))?;
        let Settings { schema, name, log } = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
        if schema != SCHEMA {
            return Err(wrong(&format!("schema is `{schema}`, this version reads `{SCHEMA}`")));
        }
        let signer = Signer::from_pem(&read_private(&folder.join(KEY))?)?;
        let key = NoteKey::of_witness(&name, signer.public()).ok_or_else(|| wrong(&"name cannot be one"))?;
        let log = log.parse().map_err(|error| wrong(&error))?;
        let path = folder.join(LOCK);
        let lock = File::create(&path).map_err(|error| WitnessError::Io { path: path.clone(), error })?;
        match lock.try_lock() {
            Err(fs::TryLockError::WouldBlock) => return Err(WitnessError::InUse(folder.to_owned())),
            Err(fs::TryLockError::Error(error)) => return Err(WitnessError::Io { path, error }),
            Ok(()) => {}
        }
        Ok(Witness { folder: folder.to_owned(), key, signer, log, _lock: lock })
    }

    /// By which its signatures are checked.
    pub fn key(&self) -> &NoteKey {
        &self.key
    }

    /// Whose heads it signs.
    pub fn log(&self) -> &NoteKey {
        &self.log
    }

    /// The last head that it signed, with its signature.
    pub fn last(&self) -> Result<Option<SignedHead>, WitnessError> {
        let path = self.folder.join(LAST);
        let Some(text) = read(&path)? else { return Ok(None) };
        let head = SignedHead::read(&text).map_err(ProofError::from)?;
        // A head that was put there by somebody else is none to go on from.
        match head.is_signed_by(&self.key) && head.is_signed_by(&self.log) {
            true => Ok(Some(head)),
            false => Err(WitnessError::Settings(format!("{}: is not what this witness signed", path.display()))),
        }
    }

    /// Signs the head of a proof, at this time in seconds since 1970; the same head again gives the same. Fails when it does not go on
    /// from the last one.
    pub fn sign(&self, proof: &Proof, seconds: u64) -> Result<SignedHead, WitnessError> {
        let mut head = proof.check(&self.log)?;
        if let Some(last) = self.last()? {
            if last.top() == head.top() {
                return Ok(last);
            }
            self.check_goes_on(proof, last.top(), &head)?;
        }
        head.cosign(&self.signer, &self.key, seconds);
        write(&self.folder.join(LAST), &head.to_string())?;
        Ok(head)
    }

    fn check_goes_on(&self, proof: &Proof, (last, root): Top, head: &SignedHead) -> Result<(), WitnessError> {
        let (shown, _) = head.top();
        if shown < last {
            return Err(WitnessError::Older { last, shown });
        }
        match &proof.grown {
            Some(grown) if grown.leads((last, root), head.top()) => Ok(()),
            // What was proved is that it went on from another root of that size.
            grown if shown == last || grown.as_ref().is_some_and(|grown| grown.from == last) => {
                write(&self.folder.join(REFUSED), &head.to_string())?;
                Err(WitnessError::TwoHistories { last, shown })
            }
            _ => Err(WitnessError::NotFrom { last }),
        }
    }
}

fn read(path: &Path) -> Result<Option<String>, WitnessError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(WitnessError::Io { path: path.to_owned(), error }),
    }
}

/// Replaces a file, whole and on disk, or not at all.
fn write(path: &Path, text: &str) -> Result<(), WitnessError> {
    let beside = path.with_extension("new");
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    });
    written.map_err(|error| WitnessError::Io { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::log::{Grown, Whole};
    use crate::testing::{Federation, Played};

    const FEDERATION: Digest = crate::digest::Hex([7; 32]);

    fn log() -> NoteKey {
        NoteKey::of_log(FEDERATION, Federation::key(1).public())
    }

    /// A journal that went one way, and one that went another after some entries.
    fn histories() -> [Whole; 2] {
        [3, 4].map(|ask| {
            let mut played = Played::new(&["a", "b", "c"]);
            played.begin();
            played.offers(&[("a", ask), ("b", 3)]);
            Whole::read(&mut played.store()).unwrap()
        })
    }

    /// A proof that a journal of so many entries grew from one of so many.
    fn grown(whole: &Whole, from: Option<u64>, size: u64) -> Proof {
        let head = SignedHead::sign(&Federation::key(1), FEDERATION, whole.top(size));
        let grown = from.map(|from| {
            let Ok(grown) = Grown::of(from, &mut whole.tree(size));
            grown.unwrap()
        });
        Proof { grown, ..Proof::of(&head) }
    }

    #[test]
    fn a_witness_signs_what_goes_on_from_its_last_head_and_nothing_else() {
        let place = crate::testing::folder();
        let folder = place.path().join("witness");
        let ([one, other], size) = (histories(), histories()[0].size());
        let witness = Witness::create(&folder, "witness.example", &log()).unwrap();
        let signed = witness.sign(&grown(&one, None, 3), 5).unwrap();
        assert!(signed.is_signed_by(witness.key()) && signed.is_signed_by(&log()));
        assert_eq!(witness.sign(&grown(&one, None, 3), 6).unwrap(), signed, "the same again gives the same");
        assert!(matches!(Witness::open(&folder), Err(WitnessError::InUse(_))));
        drop(witness);
        let witness = Witness::open(&folder).unwrap();
        assert!(matches!(witness.sign(&grown(&one, None, size), 7), Err(WitnessError::NotFrom { last: 3 })));
        assert!(matches!(witness.sign(&grown(&one, Some(2), size), 7), Err(WitnessError::NotFrom { last: 3 })));
        witness.sign(&grown(&one, Some(3), size), 7).unwrap();
        let older = witness.sign(&grown(&one, None, 3), 8);
        assert!(matches!(older, Err(WitnessError::Older { shown: 3, .. })));
        for proof in [grown(&other, Some(size), other.size()), grown(&other, None, size)] {
            let refused = witness.sign(&proof, 9).unwrap_err();
            assert!(matches!(refused, WitnessError::TwoHistories { .. }), "{refused}");
            let kept = SignedHead::read(&fs::read_to_string(folder.join(REFUSED)).unwrap()).unwrap();
            assert!(kept.is_signed_by(&log()) && !kept.is_signed_by(witness.key()));
        }
        assert_eq!(witness.last().unwrap().unwrap().top(), one.top(size));
    }

    #[test]
    fn a_head_of_another_log_or_beside_its_own_last_is_not_signed_on_from() {
        let place = crate::testing::folder();
        let folder = place.path().join("witness");
        let witness = Witness::create(&folder, "w", &log()).unwrap();
        let [one, _] = histories();
        let foreign = SignedHead::sign(&Federation::key(2), FEDERATION, one.top(2));
        assert!(matches!(witness.sign(&Proof::of(&foreign), 1), Err(WitnessError::Proof(_))));
        witness.sign(&grown(&one, None, 4), 1).unwrap();
        // Somebody puts an older head of the log in its place.
        fs::write(folder.join(LAST), grown(&one, None, 2).head).unwrap();
        assert!(matches!(witness.sign(&grown(&one, Some(2), 5), 2), Err(WitnessError::Settings(_))));
        assert!(matches!(Witness::create(&folder, "w", &log()), Err(WitnessError::Exists(_))));
        let unnamed = Witness::create(&place.path().join("x"), "a b", &log());
        assert!(matches!(unnamed, Err(WitnessError::Settings(_))));
        assert!(matches!(Witness::create(&place.path().join("y"), "w", witness.key()), Err(WitnessError::Settings(_))));
    }
}
