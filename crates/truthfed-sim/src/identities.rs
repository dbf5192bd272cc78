//! Which member stands for which client.
//!
//! Every client is one member, with the same number. One client may enrol twice: the second identity is the last
//! member, and what the client observes goes to the two in turn. Or it and the next one may enrol as one: what both
//! observe goes to the first, and the member of the second has nothing. All randomness stays that of the clients, so they see
//! the same arms and the same noise as if each had enrolled once.

use truthfed::auction::ClientId;
use truthfed::protocol::Terms;
use truthfed::statistics::Statistics;

use crate::world::Cost;

/// Clients, and the members that stand for them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identities {
    clients: usize,
    enrolment: Enrolment,
    /// Whether the next observation of a client with two goes to the second.
    second: bool,
}

/// Who enrols otherwise than each as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Enrolment {
    #[default]
    Each,
    /// This client as two.
    Split(usize),
    /// This client and the next as one.
    Merged(usize),
}

impl Identities {
    pub(crate) fn new(clients: usize, enrolment: Enrolment) -> Identities {
        Identities { clients, enrolment, second: false }
    }

    pub(crate) fn members(&self) -> usize {
        self.clients + usize::from(matches!(self.enrolment, Enrolment::Split(_)))
    }

    /// The client that a member stands for.
    pub(crate) fn owner(&self, member: usize) -> usize {
        match self.enrolment {
            Enrolment::Split(client) if member == self.clients => client,
            _ => member,
        }
    }

    /// Who enrols together with a client, if they are merged.
    pub(crate) fn partner(&self, client: usize) -> usize {
        (client + 1) % self.clients
    }

    /// The terms, with a quota for what each member collects.
    pub(crate) fn terms(&self, terms: &Terms, id: impl Fn(usize) -> ClientId) -> Terms {
        let mut raw = terms.raw().clone();
        let samples = raw.quota.samples;
        let members = match self.enrolment {
            Enrolment::Split(client) if samples > 0 => vec![(client, samples / 2), (self.clients, samples / 2)],
            Enrolment::Merged(client) if samples > 0 => vec![(client, 2 * samples)],
            _ => vec![],
        };
        raw.quota.members = members.into_iter().map(|(member, samples)| (id(member), samples)).collect();
        raw.try_into().expect("quotas of about the same size are valid too")
    }

    /// The member that takes the client's next step.
    pub(crate) fn next(&mut self, client: usize) -> usize {
        match self.enrolment {
            Enrolment::Split(split) if split == client => {
                self.second = !self.second;
                if self.second { client } else { self.clients }
            }
            Enrolment::Merged(first) if self.partner(first) == client => first,
            _ => client,
        }
    }
}

/// The cost of what a member delivers, from the cost of what clients deliver.
///
/// What a client pays for taking part whatever it delivers (its cost of nothing) is shared evenly by its identities, so
/// that selling two halves costs as much as selling the whole, up to how the rest of the cost depends on the data: a
/// determinant is smaller in two halves, a cost per sample is not. Two clients that enrol as one both pay it.
pub(crate) struct IdentityCost<'c> {
    pub(crate) cost: &'c dyn Cost,
    pub(crate) identities: Identities,
    pub(crate) nothing: Statistics,
}

impl Cost for IdentityCost<'_> {
    fn of(&self, member: usize, unshared: &Statistics) -> f64 {
        let owner = self.identities.owner(member);
        let cost = self.cost.of(owner, unshared);
        let base = |client: usize| self.cost.of(client, &self.nothing);
        match self.identities.enrolment {
            Enrolment::Split(client) if client == owner => cost - base(owner) / 2.0,
            Enrolment::Merged(first) if first == owner => cost + base(self.identities.partner(first)),
            _ => cost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::federation::client_id;

    #[test]
    fn a_client_with_two_identities_acts_as_each_in_turn() {
        let mut identities = Identities::new(3, Enrolment::Split(1));
        let acted: Vec<usize> = [0, 1, 2, 0, 1, 2, 1].into_iter().map(|client| identities.next(client)).collect();
        assert_eq!(acted, [0, 1, 2, 0, 3, 2, 1]);
        assert_eq!((identities.members(), identities.owner(3)), (4, 1));
    }

    #[test]
    fn two_clients_that_enrol_as_one_act_as_the_first_and_both_pay_for_a_sale() {
        let mut identities = Identities::new(3, Enrolment::Merged(2));
        assert_eq!([0, 1, 2].map(|client| identities.next(client)), [2, 1, 2]);
        assert_eq!((identities.members(), identities.owner(2)), (3, 2));
        let cost = |client: usize, data: &Statistics| 10.0 * (client + 1) as f64 + data.samples() as f64;
        let merged = IdentityCost { cost: &cost, identities, nothing: Statistics::new(1).unwrap() };
        let mut one = Statistics::new(1).unwrap();
        one.observe(&[1.0], 0.0).unwrap();
        assert_eq!([0, 1, 2].map(|member| merged.of(member, &one)), [11.0, 21.0, 41.0]);
    }

    #[test]
    fn a_quota_is_shared_by_the_identities_of_a_client() {
        let config = Config::read("[rounds]\nquota = 1.5", &[]).unwrap();
        let quotas = |enrolment| {
            let terms = Identities::new(10, enrolment).terms(config.terms(), |member| client_id(member, 11));
            let quota = terms.raw().quota.clone();
            let mine = |member| *quota.members.get(&client_id(member, 11)).unwrap_or(&quota.samples);
            [3, 4, 10].map(mine)
        };
        assert_eq!(quotas(Enrolment::Each), [3000; 3]);
        assert_eq!(quotas(Enrolment::Split(3)), [1500, 3000, 1500]);
        assert_eq!(quotas(Enrolment::Merged(3)), [6000, 3000, 3000]);
    }

    #[test]
    fn two_halves_cost_what_the_whole_costs_unless_the_determinant_counts() {
        let cost = |client: usize, data: &Statistics| 10.0 * (client + 1) as f64 + data.samples() as f64;
        let nothing = Statistics::new(2).unwrap();
        let mut one = nothing.clone();
        one.observe(&[1.0, 0.0], 0.0).unwrap();
        let mut both = one.clone();
        both.observe(&[0.0, 1.0], 0.0).unwrap();
        let split = IdentityCost { cost: &cost, identities: Identities::new(2, Enrolment::Split(1)), nothing };
        assert_eq!(split.of(1, &one) + split.of(2, &one), cost(1, &both));
        assert_eq!(split.of(0, &one), cost(0, &one));
    }
}
