//! I13: nobody but its owner gets to see an ask. The last digits of each tell it from every other number.

use std::collections::VecDeque;

use truthfed::Amount;
use truthfed::auction::ClientId;

use crate::chaos::report::{Verdict, check};

/// How many of the last asks are looked for.
const LAST: usize = 12;
/// Shorter ones could be anything.
const DIGITS: usize = 7;

#[derive(Default)]
pub(crate) struct Secrets(VecDeque<(ClientId, String)>);

impl Secrets {
    pub(crate) fn note(&mut self, owner: &ClientId, ask: Amount) {
        let digits = ask.micros().to_string();
        if digits.len() < DIGITS {
            return;
        }
        if self.0.len() == LAST {
            self.0.pop_front();
        }
        self.0.push_back((owner.clone(), digits));
    }

    /// What somebody is sent has nobody else's ask in it.
    pub(crate) fn check(&self, receiver: &ClientId, bytes: &str) -> Verdict {
        for (owner, digits) in self.0.iter().filter(|(owner, _)| owner != receiver) {
            let is_told = bytes.match_indices(digits).any(|(at, _)| is_number(bytes, at, digits.len()));
            check(!is_told, "I13", || format!("{receiver} is told the ask of {owner}: {bytes}"))?;
        }
        Ok(())
    }
}

/// Whether digits are a number of their own, and not a payment: one can be equal to an ask.
fn is_number(bytes: &str, at: usize, length: usize) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-');
    let (before, after) = (&bytes[..at], &bytes[at + length..]);
    !before.ends_with(is_part) && !after.starts_with(is_part) && !before.ends_with("payment_micros\":")
}
