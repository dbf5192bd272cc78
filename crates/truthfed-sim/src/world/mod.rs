//! Worlds: the arms a client sees and the rewards it gets.
//!
//! A seed determines everything. Each client has its own random streams for arms and noise, and draws from them once
//! per step whatever it chooses: two mechanisms under one seed see the same arms and the same noise.

mod arms;
mod arrivals;
mod costs;
mod error;
mod ratings;
mod source;
mod synthetic;

pub use arms::{ArmLaw, draw_arms, read_arms};
pub use arrivals::{Arrivals, arrivals};
pub use costs::{Cost, PaperCost};
pub use error::{LineProblem, WorldError};
pub use ratings::{Audience, Crowd, Features, Liked, Log, Ratings, sample_ratings};
pub use source::Source;
pub use synthetic::Synthetic;

/// The environment in which clients act.
pub trait World: Send {
    /// The arms the client may choose from at its next step, as indices of [`World::arm`].
    fn present(&mut self, client: usize) -> &[usize];

    fn arm(&self, index: usize) -> &[f64];

    /// The reward of playing an arm that was just presented to the client.
    fn play(&mut self, client: usize, index: usize) -> Played;
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Played {
    /// What the client observes.
    pub reward: f64,
    /// The expected reward of the best arm shown, minus that of the arm played.
    pub regret: f64,
    /// The mean expected reward of the arms shown: what a blind choice earns.
    pub blind: f64,
}

/// What a random stream is for. Each pair of purpose and client has its own stream, numbered by the order below.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// The hidden parameter.
    Theta,
    Arms,
    /// Who acts next.
    Arrivals,
    /// Which arms a client is shown.
    Shown,
    Noise,
    Costs,
    /// Who is away and who vanishes.
    Faults,
    /// Who misbehaves.
    Behaviour,
    /// What liars make up.
    Forgery,
    /// How the parameter of a client differs from the common one.
    Taste,
    /// How the common parameter wanders.
    Drift,
    /// Which items a client has.
    Catalogue,
}

/// The stream of a purpose and a client; `client` is 0 for purposes that all clients share.
pub fn stream(seed: u64, purpose: Purpose, client: usize) -> truthfed::generate::Stream {
    truthfed::generate::Stream::new(seed, ((purpose as u64 + 1) << 32) | client as u64)
}
