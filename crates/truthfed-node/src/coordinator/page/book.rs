//! What the page shows of a journal, kept as the journal grows.
//!
//! Every entry is checked on the way, as `truthfed ledger verify` does but for members' signatures: a page must not show sums that the
//! journal does not bear out. All rounds are kept in a line each; auctions and movements of money only the last ones.
//!
//! Not here: what the open round's members ask, which nobody is told before the seal.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::Serialize;
use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Time};

use crate::calendar::Period;
use crate::coordinator::operator::{RoundReply, RoundSummary, add};
use crate::journal::{Entry, Row};
use crate::ledger::{Auctioned, Balance, Followed, Follower, Movement, Trust};

/// Movements that are kept: some 100 bytes each.
const MOVEMENTS: usize = 100_000;
/// Numbers in the matrices of the auctions that are kept, of 8 bytes each, unless a single auction has more.
const NUMBERS: usize = 4 << 20;

pub(super) struct Book {
    follower: Follower,
    at: Time,
    /// The round that has not ended, if there is one.
    open: Vec<RoundReply>,
    rounds: Vec<Figure>,
    members: BTreeMap<ClientId, Tally>,
    total: Balance,
    movements: VecDeque<Movement>,
    auctions: VecDeque<Arc<Auctioned>>,
    problem: Option<String>,
}

/// A round that ended.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    pub(super) summary: RoundSummary,
    pub(super) awarded_micros: i128,
    /// Winners without whom the target would have been missed.
    pub(super) essential: usize,
    pub(super) held: Vec<ClientId>,
    /// det V(winners) / det V(all admitted), and what the mechanism required; none without an auction.
    pub(super) coverage: Option<(f64, f64)>,
}

/// What a member did in all rounds so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) offers: u64,
    pub(super) won: u64,
    pub(super) defaulted: u64,
    /// Times that what it delivered was held.
    pub(super) held: u64,
    /// Of offers whose round no longer takes any.
    asks: (u64, i128),
    pub(super) last_round: Option<RoundId>,
    pub(super) balance: Balance,
}

impl Tally {
    /// The mean of what it asked, in micro-units.
    pub(super) fn mean_ask(&self) -> Option<i128> {
        let (count, sum) = self.asks;
        (count > 0).then(|| sum / i128::from(count))
    }
}

/// An entry as the page hears of it: who did what, and no numbers.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Step {
    pub(super) entry: u64,
    pub(super) kind: &'static str,
    pub(super) round: Option<RoundId>,
    pub(super) member: Option<ClientId>,
    pub(super) at_ms: Time,
}

impl Book {
    pub(super) fn new(trust: Trust) -> Book {
        Book {
            follower: Follower::new(trust),
            at: Time(0),
            open: Vec::new(),
            rounds: Vec::new(),
            members: BTreeMap::new(),
            total: Balance::default(),
            movements: VecDeque::new(),
            auctions: VecDeque::new(),
            problem: None,
        }
    }

    /// The last entry that is in it.
    pub(super) fn last(&self) -> u64 {
        self.follower.head().number
    }

    pub(super) fn hash(&self) -> crate::digest::Digest {
        self.follower.head().hash
    }

    /// What is wrong with the entry after the last.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(super) fn open(&self) -> Option<&RoundReply> {
        self.open.last()
    }

    pub(super) fn rounds(&self) -> &[Figure] {
        &self.rounds
    }

    pub(super) fn figure(&self, round: RoundId) -> Option<&Figure> {
        let place = self.rounds.binary_search_by_key(&round, |figure| figure.summary.round).ok()?;
        Some(&self.rounds[place])
    }

    pub(super) fn member(&self, member: &ClientId) -> Option<&Tally> {
        self.members.get(member)
    }

    pub(super) fn total(&self) -> &Balance {
        &self.total
    }

    pub(super) fn movements(&self) -> impl DoubleEndedIterator<Item = &Movement> {
        self.movements.iter()
    }

    pub(super) fn auction(&self, round: RoundId) -> Option<Arc<Auctioned>> {
        self.auctions.iter().find(|auctioned| auctioned.round == round).cloned()
    }

    /// Takes the rows that are next. Once one does not fit, nothing changes any more.
    pub(super) fn follow(&mut self, rows: Vec<Row>) -> Vec<Step> {
        let mut followed = Vec::with_capacity(rows.len());
        let ended = self.follower.follow(rows, |entry| followed.push(entry));
        let mut steps: Vec<Step> = followed.into_iter().map(|entry| self.take(entry)).collect();
        if let Err(problem) = ended {
            self.problem = Some(problem.to_string());
        }
        steps.retain(|step| step.kind != "checkpoint");
        steps
    }

    fn take(&mut self, Followed { number, entry, postings, auctioned }: Followed) -> Step {
        self.at = entry.at().unwrap_or(self.at);
        let (about, at_ms) = (entry.about(), self.at);
        let member = about.speaker.cloned().or_else(|| subject(&entry).cloned());
        let step = Step { entry: number, kind: about.kind, round: about.round, member, at_ms };
        for posting in postings {
            self.post(Movement { at: at_ms, posting });
        }
        if let Entry::Enrolled { member, .. } = &entry {
            self.members.entry(member.clone()).or_default();
        }
        let is_end = entry.is_end();
        // The follower has read every offer: this cannot fail, and a line that is missing would hide no money.
        let _ = add(&mut self.open, number, entry);
        if is_end && let Some(ended) = self.open.pop() {
            self.close(ended, auctioned);
        }
        step
    }

    fn post(&mut self, movement: Movement) {
        self.total.add(&movement, Period::ALWAYS);
        self.members.entry(movement.posting.member.clone()).or_default().balance.add(&movement, Period::ALWAYS);
        if self.movements.len() == MOVEMENTS {
            self.movements.pop_front();
        }
        self.movements.push_back(movement);
    }

    fn close(&mut self, ended: RoundReply, auctioned: Option<Auctioned>) {
        for offer in &ended.offers {
            let tally = self.members.entry(offer.member.clone()).or_default();
            tally.offers += 1;
            tally.last_round = Some(ended.summary.round);
            if let Some(ask) = offer.ask_micros {
                tally.asks = (tally.asks.0 + 1, tally.asks.1 + i128::from(ask.micros()));
            }
        }
        let mut count = |members: &mut dyn Iterator<Item = &ClientId>, add: fn(&mut Tally)| {
            members.for_each(|member| add(self.members.entry(member.clone()).or_default()));
        };
        count(&mut ended.awards.iter().map(|award| &award.member), |tally| tally.won += 1);
        count(&mut ended.defaulted.iter(), |tally| tally.defaulted += 1);
        count(&mut ended.held.iter(), |tally| tally.held += 1);
        self.rounds.push(Figure {
            awarded_micros: ended.awarded_micros(),
            essential: ended.awards.iter().filter(|award| award.essential).count(),
            coverage: auctioned.as_ref().map(|it| (it.outcome.coverage(), it.outcome.target())),
            held: ended.held,
            summary: ended.summary,
        });
        if let Some(auctioned) = auctioned {
            self.auctions.push_back(Arc::new(auctioned));
            while self.auctions.len() > 1 && self.auctions.iter().map(numbers).sum::<usize>() > NUMBERS {
                self.auctions.pop_front();
            }
        }
    }
}

fn numbers(auctioned: &Arc<Auctioned>) -> usize {
    (auctioned.spec.offers.len() + 1) * auctioned.spec.base.lower().len()
}

/// The member that an entry of the coordinator or the operator is about.
fn subject(entry: &Entry) -> Option<&ClientId> {
    match entry {
        Entry::Enrolled { member, .. }
        | Entry::Revoked { member }
        | Entry::Ruled { member, .. }
        | Entry::PaidOut { member, .. }
        | Entry::Opened { asked_by: member, .. } => Some(member),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::operator::read_rounds;
    use crate::ledger::{Accounts, movements};
    use crate::store::Store;
    use crate::testing::Played;

    fn rows(played: &Played) -> Vec<Row> {
        let (mut store, mut rows) = (played.store(), Vec::<Row>::new());
        loop {
            let next = store.rows(rows.len() as u64, 100).unwrap();
            if next.is_empty() {
                return rows;
            }
            rows.extend(next);
        }
    }

    #[test]
    fn the_book_says_what_the_ledger_and_the_rounds_say_however_it_is_fed() {
        for played in [Played::with_rounds(), Played::with_doubts()] {
            for size in [1, 7, 1000] {
                let mut book = Book::new(Trust::default());
                let mut steps = Vec::new();
                for chunk in rows(&played).chunks(size) {
                    steps.extend(book.follow(chunk.to_vec()));
                }
                assert_eq!((book.problem(), book.last()), (None, played.entries.len() as u64));
                let accounts = Accounts::read(&mut played.store(), Period::ALWAYS).unwrap();
                assert_eq!(*book.total(), accounts.total);
                for (member, balance) in &accounts.members {
                    assert_eq!(book.member(member).unwrap().balance, *balance, "{member}");
                }
                let mut moved = Vec::new();
                movements(&mut played.store(), |movement| moved.push(movement)).unwrap();
                assert!(book.movements().eq(&moved));
                let rounds = read_rounds(&mut played.store()).unwrap();
                let ended: Vec<&RoundSummary> = book.rounds().iter().map(|figure| &figure.summary).collect();
                let known: Vec<&RoundSummary> = rounds.iter().map(|round| &round.summary).collect();
                assert_eq!(ended, known);
                assert!(book.rounds().iter().any(|figure| figure.coverage.is_some_and(|(got, need)| got >= need)));
                for figure in book.rounds().iter().filter(|figure| figure.coverage.is_some()) {
                    let auctioned = book.auction(figure.summary.round).unwrap();
                    assert_eq!(auctioned.outcome.winners().len() as u64, figure.summary.winners);
                }
                let opened = steps.iter().filter(|step| step.kind == "opened").count();
                assert_eq!(
                    opened,
                    rounds.iter().filter(|round| round.summary.entry > 0 && !round.offers.is_empty()).count()
                );
            }
        }
    }

    #[test]
    fn a_journal_that_was_altered_is_followed_up_to_there() {
        let played = Played::with_rounds();
        let mut rows = rows(&played);
        let place = rows.iter().position(|row| row.body.contains("payment_micros")).unwrap();
        rows[place].body = rows[place].body.replacen("payment_micros\":", "payment_micros\":1", 1);
        let mut book = Book::new(Trust::default());
        book.follow(rows);
        assert_eq!(book.last(), place as u64);
        assert!(book.problem().unwrap().contains(&format!("entry {}", place + 1)), "{:?}", book.problem());
    }
}
