//! The journal after the last standing, read and checked: what recovery replays.
//!
//! A coordinator that stands by reads ahead, so that a takeover does not begin with it: in 512 dimensions the offers of one
//! round are a hundred megabytes. Entries are kept only after the checks that recovery makes: each is chained by its hash to
//! the one before, back to the standing, and data can give every offer. Recovery uses them only if they begin at the standing
//! that it has checked and lead to the end of the store's journal; if they do not, it reads all again.
//!
//! Not here: replaying entries, and the signatures of checkpoints (`recovery`).

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use truthfed::auction::{ClientId, Offer};
use truthfed::protocol::{CheckedOffer, RoundId, Terms};

use super::EngineError;
use super::state::Taken;
use crate::journal::{Entry, Head, JournalError, Row};
use crate::ledger::Checkpoint;
use crate::store::{Store, StoreError};
use crate::wire::{Envelope, OfferContent};

/// Rows read at once. In 512 dimensions that many offers are 350 MB.
const CHUNK: usize = 128;

/// What has been read of the journal; empty for a coordinator that did not stand by.
#[derive(Default)]
pub struct Ahead {
    /// Where the standing was taken.
    from: Head,
    /// The entries after it, each with the end of the journal that it makes.
    steps: Vec<(Head, Step)>,
}

/// A committed entry.
pub(super) enum Step {
    /// Without its text, which is most of a journal. None if it cannot be read, or no data gives it.
    Offered(RoundId, ClientId, Option<Read>),
    Other(Entry),
}

/// An offer of the journal.
pub(super) struct Read {
    pub(super) offer: Box<CheckedOffer>,
    pub(super) taken: Taken,
}

impl Ahead {
    /// Reads on while another coordinator is at work. Keeps nothing if that fails: recovery says what is wrong.
    pub(super) fn look(&mut self, terms: &Terms, store: &mut dyn Store) {
        if let Err(error) = self.follow(terms, store) {
            tracing::debug!(%error, "cannot read ahead");
            *self = Ahead::default();
        }
    }

    fn follow(&mut self, terms: &Terms, store: &mut dyn Store) -> Result<(), EngineError> {
        let end = store.head()?;
        if self.end() == Head::START {
            self.from = last_standing(store)?;
        }
        while self.read_before(end, terms, store)? {
            let is_end = |(_, step): &(Head, Step)| {
                matches!(step, Step::Other(Entry::Checkpoint(Checkpoint { standing: Some(_), .. })))
            };
            if let Some(last) = self.steps.iter().rposition(is_end) {
                self.from = self.steps[last].0;
                self.steps.drain(..=last);
            }
        }
        Ok(())
    }

    /// The entries between a standing and the end of the journal; reads those that are not kept. Fails when they are not chained.
    pub(super) fn between(
        &mut self,
        (from, end): (Head, Head),
        terms: &Terms,
        store: &mut dyn Store,
    ) -> Result<Vec<(Head, Step)>, EngineError> {
        let kept = self.end();
        if self.from != from || kept.number > end.number || (kept.number == end.number && kept != end) {
            *self = Ahead { from, steps: Vec::new() };
        }
        let is_kept = !self.steps.is_empty();
        match self.read_to(end, terms, store) {
            // The store has gone another way than what is kept.
            Err(EngineError::Journal(_)) if is_kept => {
                self.steps.clear();
                self.read_to(end, terms, store)?;
            }
            read => read?,
        }
        Ok(std::mem::take(&mut self.steps))
    }

    fn read_to(&mut self, end: Head, terms: &Terms, store: &mut dyn Store) -> Result<(), EngineError> {
        while self.read_before(end, terms, store)? {}
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> usize {
        self.steps.len()
    }

    fn end(&self) -> Head {
        self.steps.last().map_or(self.from, |(head, _)| *head)
    }

    /// Reads some more, if that end is not reached. Whether it read anything.
    fn read_before(&mut self, end: Head, terms: &Terms, store: &mut dyn Store) -> Result<bool, EngineError> {
        let before = self.end();
        if before.number >= end.number {
            return Ok(false);
        }
        let rows = store.rows(before.number, CHUNK)?;
        self.steps.extend(read(before, &rows, terms)?);
        Ok(!rows.is_empty())
    }
}

impl Step {
    /// The entry, unless it is an offer, which moves no money and is no news.
    pub(super) fn entry(&self) -> Option<&Entry> {
        match self {
            Step::Offered(..) => None,
            Step::Other(entry) => Some(entry),
        }
    }

    fn of(entry: Entry, terms: &Terms) -> Step {
        match entry {
            Entry::Offered { round, member, offer } => {
                let read = Read::of(&member, &offer, terms);
                Step::Offered(round, member, read)
            }
            entry => Step::Other(entry),
        }
    }
}

impl Read {
    fn of(member: &ClientId, envelope: &Envelope, terms: &Terms) -> Option<Read> {
        let content: OfferContent = serde_json::from_str(envelope.content.get()).ok()?;
        let OfferContent { gram, samples, ask_micros: ask, commitment, .. } = content;
        let offer = terms.checked(Offer { client: member.clone(), ask, gram }, samples).ok()?;
        Some(Read { offer: Box::new(offer), taken: Taken { digest: envelope.digest(), commitment } })
    }
}

/// Where the last standing was taken, as the store says.
fn last_standing(store: &mut dyn Store) -> Result<Head, StoreError> {
    let Some(standing) = store.standing()? else { return Ok(Head::START) };
    let rows = store.rows(standing.entry.saturating_sub(1), 1)?;
    Ok(rows.first().map_or(Head::START, |row| Head { number: row.number, hash: row.hash }))
}

/// The rows after the head, on all cores: in 512 dimensions reading them is most of a recovery, and members wait.
fn read(before: Head, rows: &[Row], terms: &Terms) -> Result<Vec<(Head, Step)>, JournalError> {
    let read = |(index, row): (usize, &Row)| {
        let mut head = match index.checked_sub(1).map(|last| &rows[last]) {
            Some(last) => Head { number: last.number, hash: last.hash },
            None => before,
        };
        let entry = head.follow(row)?;
        Ok((head, Step::of(entry, terms)))
    };
    let steps: Vec<Result<_, JournalError>> = rows.par_iter().enumerate().map(read).collect();
    // The first error, not the one that a thread happens to find first.
    steps.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::engine::Core;
    use crate::testing::{self, Fate, Forwarding, Memory, Played};

    /// A round that has ended, and a second one with these offers.
    fn played(asks: &[(&str, u32)]) -> Played {
        let mut played = Played::new(&["a", "b", "c", "d", "e"]);
        played.full_round();
        played.begin();
        played.offers(asks);
        played
    }

    fn last(played: &Played) -> Memory {
        played.history.last().unwrap().clone()
    }

    /// What a standby keeps of a store.
    fn looked(played: &Played, store: &Memory) -> Ahead {
        let mut ahead = Ahead::default();
        ahead.look(&played.federation.agreement, &mut store.clone());
        ahead
    }

    /// A core that takes over a store, and the entries after which it read rows beyond the standing.
    fn takes_over(played: &Played, store: &Memory, ahead: &mut Ahead) -> (Core, Vec<u64>) {
        let (reads, standing) = (Arc::new(Mutex::new(Vec::new())), store.standing.as_ref().unwrap().entry);
        let seen = reads.clone();
        let store = Forwarding::with(store.clone(), move |step| {
            if let testing::Step::Rows(after, _) = step
                && after >= standing
            {
                seen.lock().unwrap().push(after);
            }
            Fate::Pass
        });
        let core = Core::start_ahead(played.federation.setup(), Box::new(store), ahead).unwrap();
        let reads = reads.lock().unwrap().clone();
        (core, reads)
    }

    #[test]
    fn a_standby_that_read_ahead_reads_only_what_is_new_when_it_takes_over() {
        let mut played = played(&[("a", 3), ("b", 4), ("c", 5)]);
        let before = last(&played).rows.len() as u64;
        let mut ahead = looked(&played, &last(&played));
        played.offer("d", 6);
        let store = last(&played);
        let (cold, all) = takes_over(&played, &store, &mut Ahead::default());
        let (warm, new) = takes_over(&played, &store, &mut ahead);
        assert_eq!(new, [before]);
        assert_eq!(all, [store.standing.unwrap().entry]);
        let view = |core: &Core| serde_json::to_string(&core.published().view(&testing::id("a"))).unwrap();
        assert_eq!(view(&warm), view(&cold));
        let (_, none) = takes_over(&played, &last(&played), &mut looked(&played, &last(&played)));
        assert_eq!(none.len(), 0);
    }

    #[test]
    fn what_a_standby_read_is_forgotten_if_the_store_went_another_way() {
        let kept = played(&[("a", 3), ("b", 4), ("c", 5)]);
        let shorter = &kept.history[kept.history.len() - 2];
        for asks in [&[("a", 3), ("b", 4), ("c", 6)][..], &[("b", 3), ("a", 4), ("c", 6), ("d", 7)]] {
            let other = played(asks);
            let (mut core, _) = takes_over(&other, &last(&other), &mut looked(&kept, &last(&kept)));
            assert_eq!(core.version(), last(&other).rows.len() as u64);
            core.work(Vec::new(), &mut |_| false).unwrap();
        }
        let (core, reads) = takes_over(&kept, shorter, &mut looked(&kept, &last(&kept)));
        assert_eq!((core.version(), reads.len()), (shorter.rows.len() as u64, 1));
    }

    #[test]
    fn a_standby_does_not_keep_what_is_not_chained_and_a_takeover_names_it() {
        let mut first = Played::new(&["a", "b", "c", "d", "e"]);
        first.begin();
        first.offers(&[("a", 3), ("b", 4), ("c", 5)]);
        // The first journal is read in several pieces: it has no standing yet.
        for played in [first, played(&[("a", 3), ("b", 4), ("c", 5)])] {
            let mut altered = last(&played);
            let row = altered.rows.len() - 2;
            altered.rows[row].body.push(' ');
            let mut ahead = looked(&played, &altered);
            assert_eq!((ahead.from, ahead.entries()), (Head::START, 0));
            let number = altered.rows[row].number;
            let refused = Core::start_ahead(played.federation.setup(), Box::new(altered), &mut ahead).err().unwrap();
            assert!(
                matches!(refused, EngineError::Journal(JournalError::BrokenChain(at)) if at == number),
                "{refused}"
            );
        }
    }

    #[test]
    fn a_standby_keeps_one_round_and_finds_where_the_next_begins() {
        let played = Played::with_rounds();
        let mut ahead = Ahead::default();
        for store in &played.history {
            ahead.look(&played.federation.agreement, &mut store.clone());
            let standing = store.standing.as_ref().map_or(0, |standing| standing.entry);
            assert_eq!((ahead.from.number, ahead.end().number), (standing, store.rows.len() as u64));
        }
        assert!(ahead.from.number > 0 && played.history.len() > 10);
    }
}
