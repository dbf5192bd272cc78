//! Running the binary, and comparing the folders that it writes.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What takes longer hangs.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `truthfed` in a folder, with some bytes on standard input.
pub(crate) fn truthfed(folder: &Path, args: &[&str], input: impl AsRef<[u8]>) -> Run {
    let mut command = cargo_bin_cmd!("truthfed");
    command.current_dir(folder).args(args).write_stdin(input.as_ref()).timeout(LIMIT);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap_or_else(|| panic!("{args:?} hung or crashed"));
    Run { code, out: text(output.stdout), err: text(output.stderr) }
}

impl Run {
    /// What was printed, when all went well. Standard error may tell of progress.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!(self.code, 0, "{}", self.err);
        self.out
    }

    /// The object that was printed with `--json`, when all went well.
    #[track_caller]
    pub(crate) fn object<T: DeserializeOwned>(self) -> T {
        serde_json::from_str(&self.done()).unwrap()
    }

    /// The input is wrong: code 2, nothing on standard output, and the reason on standard error.
    #[track_caller]
    pub(crate) fn refused(self, expected: &str) {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
        assert!(self.err.contains(expected), "`{expected}` is not in: {}", self.err);
    }
}

/// Every file under a folder, by its path.
pub(crate) fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let inside = tree(&entry.path()).into_iter();
            files.extend(inside.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            files.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    files
}

/// The text in a packed file.
pub(crate) fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    truthfed_sim::gzip::unpacked(bytes).unwrap().read_to_string(&mut text).unwrap();
    text
}

/// Both folders hold the same files with the same bytes.
#[track_caller]
pub(crate) fn check_same(left: &Path, right: &Path) {
    let (left, right) = (tree(left), tree(right));
    assert!(left.keys().eq(right.keys()), "{:?}\n{:?}", left.keys(), right.keys());
    for (name, bytes) in left {
        assert!(bytes == right[&name], "{name} differs");
    }
}

/// The manifest is complete: it has the hash of every file, and of nothing else.
#[track_caller]
pub(crate) fn check_manifest(folder: &Path) -> Value {
    let mut files = tree(folder);
    let manifest: Value = serde_json::from_slice(&files.remove("manifest.json").unwrap()).unwrap();
    assert_eq!(manifest["complete"], true);
    let listed: BTreeMap<String, String> = serde_json::from_value(manifest["files"].clone()).unwrap();
    let hex = |bytes: &Vec<u8>| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let found: BTreeMap<String, String> = files.iter().map(|(name, bytes)| (name.clone(), hex(bytes))).collect();
    assert_eq!(listed, found);
    manifest
}

/// The records of a CSV file without quotes, each by the names of its columns.
pub(crate) fn records(text: &[u8]) -> Vec<BTreeMap<String, String>> {
    let mut lines = std::str::from_utf8(text).unwrap().lines().map(|line| line.split(',').map(str::to_owned));
    let header: Vec<String> = lines.next().unwrap().collect();
    lines.map(|line| header.iter().cloned().zip(line).collect()).collect()
}
