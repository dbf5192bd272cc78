//! Federated linear bandits whose clients are paid, and have no reason to lie.
//!
//! N clients learn one linear contextual bandit together. Each collects data locally; now and then a
//! round opens, every client offers its data at an ask, an auction buys the cheapest set of clients
//! that covers enough information, and pays each winner its critical value: the largest ask with which
//! it would still have won. So the true cost is the best ask.
//!
//! - [`statistics`]: Gram matrices, moments, Cholesky factors.
//! - [`bandit`]: LinUCB, the local decisions of a client.
//! - [`auction`]: rounds, eight mechanisms, exact payments and their certificate.
//! - [`audit`]: tries to refute what a mechanism claims, yours too, and makes counterexamples small.
//! - [`protocol`]: the coordinator and the member as state machines without I/O.
//! - [`generate`]: random rounds from a seed.
//!
//! This crate is pure: no I/O, no clock, no global randomness, and the same input gives the same bits on
//! every machine and at any number of threads.
//!
//! ```
//! use truthfed::auction::{Clock, Mechanism, Offer, Round, RoundSpec, certify};
//! use truthfed::statistics::Gram;
//!
//! // Three clients in one dimension; half of all information is enough.
//! let offer = |client: &str, ask: &str, information: f64| -> Result<Offer, Box<dyn std::error::Error>> {
//!     Ok(Offer { client: client.parse()?, ask: ask.parse()?, gram: Gram::from_rows(&[[information]])? })
//! };
//! let offers = vec![offer("ann", "3", 4.0)?, offer("bob", "5", 4.0)?, offer("cyd", "9", 4.0)?];
//! let round = Round::new(RoundSpec { reserve: "100".parse()?, ..RoundSpec::new(Gram::zeros(1)?, offers) })?;
//!
//! let outcome = Clock.run(&round)?;
//! let names: Vec<_> = outcome.winners().iter().map(|winner| winner.client.as_str()).collect();
//! assert_eq!(names, ["ann", "bob"]);
//! // Each of them wins with any ask up to that of cyd, and is paid just that.
//! assert!(outcome.winners().iter().all(|winner| winner.payment.to_string() == "9"));
//! certify(&round, &Clock, &outcome)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(unnameable_types)]

pub mod auction;
pub mod audit;
mod bad_input;
pub mod bandit;
pub mod generate;
mod money;
#[cfg(feature = "planted-faults")]
pub mod planted;
pub mod protocol;
pub mod statistics;
mod stop;

pub use bad_input::BadInput;
pub use money::{Amount, AmountError, Total};
pub use stop::{Stop, Stopped};
