//! Worlds: the arms a client sees and the rewards it gets.
//!
//! One seed fixes everything. Each client has a stream of randomness of its own for arms and for noise, drawn
//! once per step whatever was chosen: two mechanisms under one seed see the same arms and the same noise.

mod arms;
mod arrivals;
mod costs;
mod error;
mod ratings;
mod source;
mod synthetic;

pub use arms::{ArmLaw, draw_arms, read_arms};
pub use arrivals::{Arrival, Arrivals};
pub(crate) use costs::to_amount;
pub use costs::{Cost, PaperCost};
pub use error::{LineProblem, WorldError};
pub use ratings::{Audience, Liked, Log, Ratings};
pub use source::Source;
pub use synthetic::Synthetic;

/// What the clients act in.
pub trait World {
    /// The arms the client may choose from at its next step, as indices of [`World::arm`].
    fn present(&mut self, client: usize) -> &[usize];

    /// The context of an arm.
    fn arm(&self, index: usize) -> &[f64];

    /// The reward of playing an arm that was just presented to the client.
    fn play(&mut self, client: usize, index: usize) -> Played;
}

/// What came of playing an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Played {
    /// What the client observes.
    pub reward: f64,
    /// How much less it can expect than with the best arm it was shown.
    pub regret: f64,
    /// What choosing blindly among the arms shown would have given on average.
    pub blind: f64,
}

/// What a stream of randomness is for; each purpose and client has one of its own.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// The hidden parameter.
    Theta,
    /// The fixed set of arms.
    Arms,
    /// Who acts next.
    Arrivals,
    /// Which arms a client is shown.
    Shown,
    /// The noise of a client's rewards.
    Noise,
    /// A client's costs.
    Costs,
    /// Who is away and who vanishes.
    Faults,
    /// Who misbehaves.
    Behaviour,
}

/// The stream of a purpose, for a client where it has one.
pub fn stream(seed: u64, purpose: Purpose, client: usize) -> truthfed::generate::Stream {
    truthfed::generate::Stream::new(seed, ((purpose as u64 + 1) << 32) | client as u64)
}
