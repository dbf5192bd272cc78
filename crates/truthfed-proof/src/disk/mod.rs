//! A disk in memory for SQLite that can fail, fill up and lose power.
//!
//! Databases on a [`Disk`] are opened with rusqlite as any other, under the name [`Disk::vfs`]. Every write, truncation,
//! sync, deletion and creation is a step, and each can go wrong by a [`Plan`]. A loss of power keeps what was synced; of
//! the rest it keeps, drops or tears every single change, in no order. All choices follow from a seed: the same seed and
//! the same calls give the same disk.
//!
//! The disk promises no more than SQLite may expect of the plainest: sectors of 512 bytes, none of them written whole for
//! sure, and a tear can damage the bytes beside it. It has one folder, which is synced as SQLite's own file system for
//! Unix does it: with the first sync of a new journal, or with a deletion that asks for it.
//!
//! ```
//! use rusqlite::{Connection, OpenFlags};
//! use truthfed_proof::disk::{Disk, Fault, Plan};
//!
//! let disk = Disk::new(7);
//! let open = || Connection::open_with_flags_and_vfs(disk.path("a.db"), OpenFlags::default(), disk.vfs().as_str());
//! disk.plan(Plan { after: 3, fault: Fault::PowerLoss });
//! assert!(open()?.execute_batch("CREATE TABLE a (b)").is_err());
//! disk.restart();
//! open()?.execute_batch("CREATE TABLE a (b)")?;
//! # Ok::<(), rusqlite::Error>(())
//! ```
//!
//! Not here: what is kept on a disk; memory maps of a database (`mmap_size`); systems that forget what they could not
//! sync, as some do: here a sync that failed can be repeated.

mod content;
mod fate;
mod fault;
mod folder;
mod lock;
mod machine;
mod vfs;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

pub use self::fate::Statistics;
pub use self::fault::{Fault, Lasts, Operation, Plan};
use self::machine::Machine;
use self::vfs::Boot;

/// A machine's disk, and its clock. A copy is the same disk.
#[derive(Debug, Clone)]
pub struct Disk {
    machine: Arc<Mutex<Machine>>,
    boot: Arc<Mutex<Arc<Boot>>>,
}

impl Disk {
    /// An empty disk whose choices follow from a seed.
    pub fn new(seed: u64) -> Disk {
        Disk::of(Machine::new(seed, false))
    }

    /// A disk that also promises, and keeps, what SQLite takes for granted of every disk under Unix and Windows: a write
    /// that is torn damages no bytes beside it.
    pub fn powersafe(seed: u64) -> Disk {
        Disk::of(Machine::new(seed, true))
    }

    fn of(machine: Machine) -> Disk {
        let machine = Arc::new(Mutex::new(machine));
        let boot = Boot::new(machine.clone(), 0);
        Disk { machine, boot: Arc::new(Mutex::new(boot)) }
    }

    /// The name under which SQLite knows this disk, up to the next crash or loss of power: whoever opened a database
    /// before it is cut off for good.
    pub fn vfs(&self) -> String {
        self.boot().name().to_owned()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(self.machine().path(name))
    }

    pub fn clock_ms(&self) -> i64 {
        self.machine().clock_us.div_euclid(1000)
    }

    /// Sets the clock. It stands still but for this, and for SQLite waiting for a lock.
    pub fn set_clock_ms(&self, now: i64) {
        self.machine().clock_us = now * 1000;
    }

    /// Writes, truncations, syncs, deletions and creations so far, whether they succeeded or not.
    pub fn steps(&self) -> u64 {
        self.machine().faults.steps
    }

    pub fn reads(&self) -> u64 {
        self.machine().faults.reads
    }

    pub fn plan(&self, plan: Plan) {
        self.machine().faults.add(plan);
    }

    /// Nothing goes wrong any more: plans are forgotten, and failures that last are over.
    pub fn mend(&self) {
        self.machine().faults.plans.clear();
    }

    /// How many bytes all files together may have; no limit without one. Above it nothing can grow.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.machine().capacity = bytes;
    }

    pub fn used(&self) -> u64 {
        self.machine().used()
    }

    /// The power is lost, and comes back: what was not synced is kept, dropped or torn, and all that was open is dead.
    pub fn lose_power(&self) {
        self.machine().lose_power();
        self.restart();
    }

    /// The process is killed, the machine lives: what was written is there, and all that was open is dead.
    pub fn crash(&self) {
        self.machine().crash();
        self.restart();
    }

    /// Whether the power was lost by a [`Plan`], and [`Disk::restart`] was not called since.
    pub fn is_off(&self) -> bool {
        self.machine().boot != self.boot().number
    }

    /// The power comes back, if it was lost by a [`Plan`].
    pub fn restart(&self) {
        let number = self.machine().boot;
        let mut boot = self.boot.lock().expect("nothing panics while it holds the lock");
        if boot.number != number {
            *boot = Boot::new(self.machine.clone(), number);
        }
    }

    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        self.machine().files()
    }

    /// What became of changes that were not synced when the power was lost.
    pub fn statistics(&self) -> Statistics {
        self.machine().statistics
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        machine::lock(&self.machine)
    }

    fn boot(&self) -> Arc<Boot> {
        self.boot.lock().expect("nothing panics while it holds the lock").clone()
    }
}
