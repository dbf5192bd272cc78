//! What happened, line by line, and one hash over all of it.

use std::collections::VecDeque;
use std::fmt;

use sha2::{Digest as _, Sha256};
use truthfed_node::digest::{Digest, Hex};

/// Lines that are kept to be shown with a violation.
const LAST: usize = 60;

/// A readable record of a run. The same seed gives the same lines, and so the same hash. By default
/// it keeps the last lines only.
#[derive(Debug, Default)]
pub struct Trace {
    hasher: Sha256,
    lines: VecDeque<String>,
    is_whole: bool,
    /// Steps so far; not every step has a line.
    pub(crate) steps: u64,
}

impl Trace {
    pub fn whole() -> Trace {
        Trace { is_whole: true, ..Trace::default() }
    }

    pub(crate) fn say(&mut self, now: u64, words: fmt::Arguments<'_>) {
        let line = format!("{now:>7} {words}");
        self.hasher.update(line.as_bytes());
        self.hasher.update(b"\n");
        if !self.is_whole && self.lines.len() == LAST {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    pub(crate) fn last(&self) -> Vec<String> {
        self.lines.iter().skip(self.lines.len().saturating_sub(LAST)).cloned().collect()
    }

    pub fn hash(&self) -> Digest {
        Hex(self.hasher.clone().finalize().into())
    }
}
