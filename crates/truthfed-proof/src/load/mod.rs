//! Load and attacks on a real coordinator over loopback, and the figures they give.
//!
//! The coordinator runs in a process of its own, with TLS 1.3, client certificates and a synced SQLite file on a real disk, or a
//! PostgreSQL where there is one. Its
//! members, honest and hostile, are tasks of this process, each at an address of its own. What is measured shares the cores of
//! one machine with what measures it.
//!
//! - [`world`]: a federation for a measurement; [`server`]: its coordinator; [`agent`]: a member; [`rounds`]: whole rounds.
//! - [`burst`]: everyone offers at the same moment. [`attack`]: honest rounds beside slow connections ([`hostile`]) and floods
//!   ([`flood`]). [`wide`]: the same in 512 dimensions, with hostile members.
//! - [`takeover`]: a standby takes over in the middle of an auction. [`outage`]: a database goes away and comes back.
//! - [`ledger`]: a long journal: how soon a killed coordinator serves again, how long it takes to verify. [`page`]: many rounds, and how
//!   soon each view of the operator's page is answered.
//! - [`figures`]: what was found, beside its bounds; [`plan`]: how much is done; [`machine`]: what it is done on.
//!
//! Linux only: it reads `/proc`, and takes for granted that all of 127.0.0.0/8 is this machine.

pub mod agent;
pub mod attack;
pub mod burst;
pub mod figures;
pub mod flood;
pub mod hostile;
pub mod ledger;
pub mod machine;
pub mod outage;
pub mod page;
pub mod plan;
pub mod rounds;
pub mod server;
pub mod takeover;
pub mod wide;
pub mod world;
