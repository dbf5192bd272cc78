//! Sums of Gram matrices from which clients are taken away, without drift.
//!
//! Subtracting client after client from one total would pile up rounding errors: after a million
//! subtractions little but noise could be left. A binary tree of partial sums recomputes the sums
//! above a client instead, O(d^2 log N) each, so the root depends only on who is left.

use super::Seat;
use super::round::add;

/// Clients summed directly in one leaf: the tree then takes a quarter of the memory of their matrices.
const BUCKET: usize = 8;

/// Partial sums over buckets of clients; node 1 is the root, node `k` sums `2k` and `2k + 1`.
#[derive(Debug, Clone)]
pub(super) struct SumTree {
    size: usize,
    leaves: usize,
    nodes: Vec<f64>,
    present: Vec<bool>,
    base: Vec<f64>,
    /// The base and everyone who is left.
    pub(super) root: Vec<f64>,
}

impl SumTree {
    /// The sum of `base` and all `grams` (packed, one after another).
    pub(super) fn new(base: &[f64], grams: &[f64]) -> SumTree {
        let size = base.len();
        let clients = grams.len() / size;
        let leaves = clients.div_ceil(BUCKET).next_power_of_two();
        let mut tree = SumTree {
            size,
            leaves,
            nodes: vec![0.0; 2 * leaves * size],
            present: vec![true; clients],
            base: base.to_vec(),
            root: vec![0.0; size],
        };
        for leaf in 0..clients.div_ceil(BUCKET) {
            tree.sum_leaf(leaf, grams);
        }
        for node in (1..leaves).rev() {
            tree.sum_children(node);
        }
        tree.sum_root();
        tree
    }

    pub(super) fn remove(&mut self, seat: Seat, grams: &[f64]) {
        self.present[seat.0] = false;
        let leaf = seat.0 / BUCKET;
        self.sum_leaf(leaf, grams);
        let mut node = (self.leaves + leaf) / 2;
        while node > 0 {
            self.sum_children(node);
            node /= 2;
        }
        self.sum_root();
    }

    fn sum_leaf(&mut self, leaf: usize, grams: &[f64]) {
        let size = self.size;
        let sum = &mut self.nodes[(self.leaves + leaf) * size..][..size];
        sum.fill(0.0);
        let first = leaf * BUCKET;
        let last = (first + BUCKET).min(self.present.len());
        for client in (first..last).filter(|&client| self.present[client]) {
            add(sum, &grams[client * size..][..size]);
        }
    }

    fn sum_children(&mut self, node: usize) {
        let size = self.size;
        let (above, below) = self.nodes.split_at_mut(2 * node * size);
        let (left, right) = below[..2 * size].split_at(size);
        for (sum, (l, r)) in above[node * size..].iter_mut().zip(left.iter().zip(right)) {
            *sum = l + r;
        }
    }

    fn sum_root(&mut self) {
        let size = self.size;
        for (root, (b, sum)) in self.root.iter_mut().zip(self.base.iter().zip(&self.nodes[size..2 * size])) {
            *root = b + sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Stream;

    #[test]
    fn the_sum_depends_only_on_who_is_left() {
        for clients in [0, 1, 2, 7, 8, 9, 31, 100] {
            let grams = Stream::new(clients as u64, 0).normals(3 * clients);
            let base = [1.0, 0.5, 2.0];
            let mut up = SumTree::new(&base, &grams);
            let mut down = up.clone();
            for client in 0..clients {
                up.remove(Seat(client), &grams);
                down.remove(Seat(clients - 1 - client), &grams);
            }
            assert_eq!(up.root, base);
            assert_eq!(down.root, base);
            if clients > 0 {
                let mut one_left = SumTree::new(&base, &grams);
                (1..clients).for_each(|client| one_left.remove(Seat(client), &grams));
                let expected: Vec<f64> = base.iter().zip(&grams).map(|(b, g)| b + g).collect();
                assert_eq!(one_left.root, expected);
            }
        }
    }
}
