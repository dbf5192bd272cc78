//! Looks at the ledger while rounds go on, and at everything once all is quiet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;
use truthfed_node::digest::Digest;
use truthfed_node::engine::read_checkpoint;
use truthfed_node::journal::{Entry, Head};
use truthfed_node::ledger::{Account, Posting, Statement, Trust, receipts, verify};
use truthfed_node::store::{Sqlite, Store};

use crate::application::{Report, Sample, Seat, report, unit};
use crate::federation::{ARMS, MEMBERS, checkpoint, ledger, people, terms};

/// Follows the ledger of a folder.
pub(crate) struct Auditor {
    folder: PathBuf,
    store: Option<Sqlite>,
    head: Head,
    hashes: Vec<Digest>,
    last_posting: u64,
    balances: BTreeMap<Account, i128>,
    /// The last round that was opened, and the last that ended.
    pub(crate) opened: RoundId,
    pub(crate) closed: RoundId,
    /// Rounds in which somebody was paid, and in which a winner did not deliver.
    pub(crate) paid: u64,
    pub(crate) defaulted: u64,
}

impl Auditor {
    pub(crate) fn new(folder: &Path) -> Auditor {
        Auditor {
            folder: folder.to_owned(),
            store: None,
            head: Head::START,
            hashes: Vec::new(),
            last_posting: 0,
            balances: BTreeMap::new(),
            opened: RoundId(0),
            closed: RoundId(0),
            paid: 0,
            defaulted: 0,
        }
    }

    pub(crate) fn head(&self) -> Head {
        self.head
    }

    /// Checks what is new; a line for each entry.
    pub(crate) fn look(&mut self) -> Vec<String> {
        if self.store.is_none() {
            // Until the coordinator has made its tables there is nothing to see.
            self.store = Sqlite::open_existing(&ledger(&self.folder)).ok();
        }
        let Some(store) = self.store.as_mut() else { return Vec::new() };
        let rows = store.rows(self.head.number, usize::MAX >> 1).unwrap();
        let postings = store.postings(self.last_posting, usize::MAX >> 1).unwrap();
        let mut lines = Vec::with_capacity(rows.len());
        for row in rows {
            let entry = self.head.follow(&row).unwrap();
            self.hashes.push(row.hash);
            self.follow(&entry);
            lines.push(format!("entry {} {} {}", row.number, entry.about().kind, row.hash));
        }
        self.post(&postings);
        lines
    }

    fn follow(&mut self, entry: &Entry) {
        match entry {
            Entry::Opened { round, .. } => {
                assert_eq!((*round, self.opened), (RoundId(self.closed.0 + 1), self.closed), "one round at a time");
                self.opened = *round;
            }
            Entry::Awarded { winners, .. } => {
                for award in winners {
                    assert!(award.payment_micros >= award.ask_micros, "{award:?} is paid less than it asked");
                    assert!(award.payment_micros <= terms().reserve, "{award:?} is paid more than the reserve");
                }
            }
            Entry::Settled { round, paid, defaulted, .. } => {
                self.paid += u64::from(!paid.is_empty());
                self.defaulted += u64::from(!defaulted.is_empty());
                self.close(*round);
            }
            Entry::Aborted { round, .. } => self.close(*round),
            _ => {}
        }
    }

    fn close(&mut self, round: RoundId) {
        assert_eq!(round, self.opened, "a round ends that is open");
        self.closed = round;
    }

    /// Double entry: after every entry all accounts together hold nothing, and escrow holds no less than nothing.
    fn post(&mut self, postings: &[Posting]) {
        for movement in postings.chunk_by(|one, other| one.entry == other.entry) {
            for posting in movement {
                self.last_posting += 1;
                assert_eq!(posting.number, self.last_posting);
                *self.balances.entry(posting.account.clone()).or_default() += i128::from(posting.micros);
            }
            assert_eq!(self.balances.values().sum::<i128>(), 0, "double entry");
            assert!(self.balances.get(&Account::Escrow).is_none_or(|escrow| *escrow >= 0), "{:?}", self.balances);
        }
    }

    /// Everything, once the coordinator has no round open and the agents' hosts are down.
    pub(crate) fn finish(&mut self, seats: &[Arc<Seat>]) {
        self.look();
        assert_eq!(self.opened, self.closed);
        assert!(self.balances.get(&Account::Escrow).is_none_or(|escrow| *escrow == 0), "nothing is pending");
        let store = self.store.as_mut().expect("the coordinator ran");
        let trust = Trust {
            federation: Some(people().authority.federation()),
            coordinator: Some(people().server.certificate().key()),
            checkpoint: read_checkpoint(&checkpoint(&self.folder)).unwrap(),
        };
        let verified = verify(store, &trust).unwrap();
        assert!(verified.is_right(), "{verified}");
        assert_eq!(verified.rounds, self.closed.0);
        let kept: Vec<Digest> = store.rows(0, usize::MAX >> 1).unwrap().iter().map(|row| row.hash).collect();
        assert_eq!(kept, self.hashes, "what was seen on the way is what is kept");
        let reports: Vec<Report> = seats.iter().map(|seat| self.check_member(seat)).collect();
        check_samples(seats, &reports);
    }

    /// What a member's file says, after a restart, against the ledger.
    fn check_member(&mut self, seat: &Seat) -> Report {
        let mut agent = seat.open();
        let store = self.store.as_mut().expect("the coordinator ran");
        let statement = Statement::read(store, &seat.bundle.member).unwrap();
        let bundle = receipts::Bundle {
            member: seat.bundle.member.clone(),
            federation: seat.bundle.federation,
            coordinator: seat.bundle.coordinator_key,
        };
        let checked = receipts::check(&bundle, &agent.receipts().unwrap(), Some(&statement)).unwrap();
        assert_eq!(checked.posted_micros, statement.totals.posted_micros, "every payment has a receipt");
        let account = self.balances.get(&Account::Member(seat.bundle.member.clone()));
        assert_eq!(account.copied().unwrap_or(0), statement.totals.posted_micros);
        let now = report(&mut agent);
        assert_eq!(Some(&now), seat.report().as_ref(), "the file says what the agent said");
        assert_eq!((now.status.last_round, now.status.in_flight), (self.closed, 0));
        now
    }
}

/// Every agent knows all that was settled, of each member the same, and its own samples: each of them once.
fn check_samples(seats: &[Arc<Seat>], reports: &[Report]) {
    let learned: Vec<Vec<Sample>> = seats.iter().map(|seat| seat.learned()).collect();
    for (own, report) in reports.iter().enumerate() {
        let mut expected = Statistics::new(MEMBERS * ARMS).unwrap();
        for (member, samples) in learned.iter().enumerate() {
            // Data is offered as a whole, and comes back as a whole: what is settled of a member is what it learned first.
            let settled = samples.len() - reports[member].status.unshared as usize;
            let known = if member == own { samples.len() } else { settled };
            samples[..known].iter().for_each(|(arm, reward)| expected.observe(&unit(*arm), *reward).unwrap());
        }
        assert_eq!(report.known, expected, "what member {own} knows");
    }
}
