//! Which member stands for which client.
//!
//! Every client is one member, with the same number. One client may enrol twice: the second identity is the last
//! member, and what the client observes goes to the two in turn. All randomness stays that of the client, so it sees
//! the same arms and the same noise as if it had enrolled once.

use truthfed::statistics::Statistics;

use crate::world::Cost;

/// Clients, and the members that stand for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identities {
    clients: usize,
    /// The client that has two.
    split: Option<usize>,
    /// Whether its next observation goes to the second.
    second: bool,
}

impl Identities {
    pub(crate) fn new(clients: usize, split: Option<usize>) -> Identities {
        Identities { clients, split, second: false }
    }

    pub(crate) fn members(&self) -> usize {
        self.clients + usize::from(self.split.is_some())
    }

    /// The client that a member stands for.
    pub(crate) fn owner(&self, member: usize) -> usize {
        if member < self.clients { member } else { self.split.expect("one more member only where a client has two") }
    }

    /// The member that takes the client's next step.
    pub(crate) fn next(&mut self, client: usize) -> usize {
        if self.split != Some(client) {
            return client;
        }
        self.second = !self.second;
        if self.second { client } else { self.clients }
    }
}

/// The cost of what a member delivers, from the cost of what clients deliver.
///
/// What a client pays for taking part whatever it delivers (its cost of nothing) is shared evenly by its identities, so
/// that selling two halves costs as much as selling the whole, up to how the rest of the cost depends on the data: a
/// determinant is smaller in two halves, a cost per sample is not.
pub(crate) struct IdentityCost<'c> {
    pub(crate) cost: &'c dyn Cost,
    pub(crate) identities: Identities,
    pub(crate) nothing: Statistics,
}

impl Cost for IdentityCost<'_> {
    fn of(&self, member: usize, unshared: &Statistics) -> f64 {
        let owner = self.identities.owner(member);
        let cost = self.cost.of(owner, unshared);
        if self.identities.split == Some(owner) { cost - self.cost.of(owner, &self.nothing) / 2.0 } else { cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_with_two_identities_acts_as_each_in_turn() {
        let mut identities = Identities::new(3, Some(1));
        let acted: Vec<usize> = [0, 1, 2, 0, 1, 2, 1].into_iter().map(|client| identities.next(client)).collect();
        assert_eq!(acted, [0, 1, 2, 0, 3, 2, 1]);
        assert_eq!((identities.members(), identities.owner(3)), (4, 1));
    }

    #[test]
    fn two_halves_cost_what_the_whole_costs_unless_the_determinant_counts() {
        let cost = |client: usize, data: &Statistics| 10.0 * (client + 1) as f64 + data.samples() as f64;
        let nothing = Statistics::new(2).unwrap();
        let mut one = nothing.clone();
        one.observe(&[1.0, 0.0], 0.0).unwrap();
        let mut both = one.clone();
        both.observe(&[0.0, 1.0], 0.0).unwrap();
        let split = IdentityCost { cost: &cost, identities: Identities::new(2, Some(1)), nothing };
        assert_eq!(split.of(1, &one) + split.of(2, &one), cost(1, &both));
        assert_eq!(split.of(0, &one), cost(0, &one));
    }
}
