//! A Merkle tree as in RFC 6962: its root, and proofs about it. Pure; where hashes are kept is up to the caller.
//!
//! The tree over n leaves splits at the largest power of two below n. The hash of a leaf is SHA-256 over a zero byte and the leaf,
//! that of an inner node over a one byte and its two children. A node over 2^k leaves that are complete never changes: such nodes
//! are numbered in the order in which they become complete, so that keeping them is appending to a list ([`completed`],
//! `position`), and every root and proof is made of a few of them.
//!
//! Promises: a proof that verifies is of that leaf, or of that smaller tree, unless SHA-256 is broken. No input makes a check panic.

use sha2::{Digest as _, Sha256};

use crate::digest::{Digest, Hex};

/// More hashes than any proof about a tree of at most 2^64 leaves has.
pub const MAX_PROOF: usize = 128;

pub fn leaf_hash(leaf: &[u8]) -> Digest {
    Hex(Sha256::new().chain_update([0]).chain_update(leaf).finalize().into())
}

pub(super) fn node_hash(left: Digest, right: Digest) -> Digest {
    Hex(Sha256::new().chain_update([1]).chain_update(left.0).chain_update(right.0).finalize().into())
}

/// The hash of a tree without leaves.
pub fn empty_root() -> Digest {
    Digest::of(&[])
}

/// How many nodes are complete when there are so many leaves, the leaves among them.
pub fn completed(leaves: u64) -> u64 {
    2 * leaves - u64::from(leaves.count_ones())
}

/// The most leaves whose nodes are among the first `nodes`.
pub fn leaves_of(nodes: u64) -> u64 {
    let mut leaves = nodes / 2;
    while completed(leaves + 1) <= nodes {
        leaves += 1;
    }
    leaves
}

/// The place of the `index`th node that has 2^`level` leaves.
fn position(level: u32, index: u64) -> u64 {
    completed(((index + 1) << level) - 1) + u64::from(level)
}

/// The nodes that become complete with the next leaf, itself first, when there are `leaves` already. `node` gives those that are kept,
/// by their place.
pub fn append<E>(leaves: u64, leaf: Digest, mut node: impl FnMut(u64) -> Result<Digest, E>) -> Result<Vec<Digest>, E> {
    let mut complete = vec![leaf];
    for level in 0..leaves.trailing_ones() {
        let left = node(position(level, (leaves >> level) - 1))?;
        let right = complete[complete.len() - 1];
        complete.push(node_hash(left, right));
    }
    Ok(complete)
}

/// A reason to ask for another proof: what was asked is not in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    #[error("entry {entry} is not in a tree of {size} entries")]
    NoSuchLeaf { entry: u64, size: u64 },
    #[error("from: a tree of {from} entries does not grow to one of {to}: it must be from 1 to `to`")]
    NotSmaller { from: u64, to: u64 },
}

/// A tree of so many leaves, whose complete nodes somebody keeps.
pub struct Tree<N> {
    pub size: u64,
    /// Gives a node by its place.
    pub node: N,
}

impl<E, N: FnMut(u64) -> Result<Digest, E>> Tree<N> {
    pub fn root(&mut self) -> Result<Digest, E> {
        if self.size == 0 { Ok(empty_root()) } else { self.hash(0, self.size) }
    }

    /// The hashes beside the way from a leaf, counted from 0, to the root.
    pub fn inclusion(&mut self, leaf: u64) -> Result<Vec<Digest>, E> {
        assert!(leaf < self.size, "the caller checks ranges");
        let (mut start, mut end, mut beside) = (0, self.size, Vec::new());
        while end - start > 1 {
            let middle = start + split(end - start);
            if leaf < middle {
                beside.push((middle, end));
                end = middle;
            } else {
                beside.push((start, middle));
                start = middle;
            }
        }
        beside.into_iter().rev().map(|(start, end)| self.hash(start, end)).collect()
    }

    /// What shows that the tree of the first `old` leaves became this one.
    pub fn consistency(&mut self, old: u64) -> Result<Vec<Digest>, E> {
        assert!(0 < old && old <= self.size, "the caller checks ranges");
        let (mut start, mut end, mut beside, mut is_known) = (0, self.size, Vec::new(), true);
        while end != old {
            let middle = start + split(end - start);
            if old <= middle {
                beside.push((middle, end));
                end = middle;
            } else {
                beside.push((start, middle));
                (start, is_known) = (middle, false);
            }
        }
        if !is_known {
            beside.push((start, end));
        }
        beside.into_iter().rev().map(|(start, end)| self.hash(start, end)).collect()
    }

    /// The hash of a part that splits have made: its left parts are complete.
    fn hash(&mut self, start: u64, end: u64) -> Result<Digest, E> {
        let leaves = end - start;
        if leaves.is_power_of_two() {
            let level = leaves.trailing_zeros();
            return (self.node)(position(level, start >> level));
        }
        let middle = start + split(leaves);
        Ok(node_hash(self.hash(start, middle)?, self.hash(middle, end)?))
    }
}

/// The largest power of two below n, which is at least 2.
fn split(n: u64) -> u64 {
    1 << (63 - (n - 1).leading_zeros())
}

/// Whether the hashes lead from a leaf, counted from 0, to the root of a tree of that size (RFC 9162, 2.1.3.2).
pub fn is_included(leaf: Digest, index: u64, size: u64, path: &[Digest], root: Digest) -> bool {
    if index >= size {
        return false;
    }
    let (mut place, mut last, mut hash) = (index, size - 1, leaf);
    for beside in path {
        if last == 0 {
            return false;
        }
        if place & 1 == 1 || place == last {
            hash = node_hash(*beside, hash);
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            hash = node_hash(hash, *beside);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    last == 0 && hash == root
}

/// What a head says of a tree: how many leaves, and the root.
pub type Top = (u64, Digest);

/// Whether the hashes show that the first tree is how the second began (RFC 9162, 2.1.4.2).
pub fn is_consistent((old, old_root): Top, (new, new_root): Top, path: &[Digest]) -> bool {
    if old == new {
        return path.is_empty() && old_root == new_root;
    }
    if old == 0 {
        return path.is_empty() && old_root == empty_root();
    }
    if old > new {
        return false;
    }
    let (first, rest) = if old.is_power_of_two() {
        (old_root, path)
    } else {
        let Some((first, rest)) = path.split_first() else { return false };
        (*first, rest)
    };
    let (mut place, mut last) = (old - 1, new - 1);
    let complete = place.trailing_ones();
    (place, last) = (place >> complete, last >> complete);
    let (mut old_hash, mut new_hash) = (first, first);
    for beside in rest {
        if last == 0 {
            return false;
        }
        if place & 1 == 1 || place == last {
            (old_hash, new_hash) = (node_hash(*beside, old_hash), node_hash(*beside, new_hash));
            while place & 1 == 0 && place != 0 {
                (place, last) = (place >> 1, last >> 1);
            }
        } else {
            new_hash = node_hash(new_hash, *beside);
        }
        (place, last) = (place >> 1, last >> 1);
    }
    last == 0 && old_hash == old_root && new_hash == new_root
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::testing::Numbers;

    /// The tree as RFC 6962 defines it, word for word.
    fn naive(leaves: &[Vec<u8>]) -> Digest {
        match leaves {
            [] => empty_root(),
            [leaf] => leaf_hash(leaf),
            leaves => {
                let (left, right) = leaves.split_at(half(leaves.len()));
                node_hash(naive(left), naive(right))
            }
        }
    }

    fn half(n: usize) -> usize {
        (0..).map(|power| 1 << power).take_while(|power| *power < n).last().unwrap()
    }

    /// PATH(m, D[n]) of RFC 6962, 2.1.1.
    fn naive_path(m: usize, leaves: &[Vec<u8>]) -> Vec<Digest> {
        if leaves.len() == 1 {
            return Vec::new();
        }
        let k = half(leaves.len());
        let (left, right) = leaves.split_at(k);
        let (mut path, beside) =
            if m < k { (naive_path(m, left), naive(right)) } else { (naive_path(m - k, right), naive(left)) };
        path.push(beside);
        path
    }

    /// SUBPROOF(m, D[n], b) of RFC 6962, 2.1.2.
    fn naive_proof(m: usize, leaves: &[Vec<u8>], is_known: bool) -> Vec<Digest> {
        if m == leaves.len() {
            return if is_known { Vec::new() } else { vec![naive(leaves)] };
        }
        let k = half(leaves.len());
        let (left, right) = leaves.split_at(k);
        let (mut proof, beside) = if m <= k {
            (naive_proof(m, left, is_known), naive(right))
        } else {
            (naive_proof(m - k, right, false), naive(left))
        };
        proof.push(beside);
        proof
    }

    fn kept(leaves: &[Vec<u8>]) -> Vec<Digest> {
        let mut nodes: Vec<Digest> = Vec::new();
        for (size, leaf) in leaves.iter().enumerate() {
            let node = |place: u64| Ok::<_, Infallible>(nodes[place as usize]);
            let complete = append(size as u64, leaf_hash(leaf), node).unwrap();
            nodes.extend(complete);
            assert_eq!(nodes.len() as u64, completed(size as u64 + 1));
            assert_eq!(leaves_of(nodes.len() as u64), size as u64 + 1);
        }
        nodes
    }

    fn tree(nodes: &[Digest], size: usize) -> Tree<impl FnMut(u64) -> Result<Digest, Infallible>> {
        Tree { size: size as u64, node: |place| Ok(nodes[place as usize]) }
    }

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
    }

    /// The leaves and hashes that the tests of Certificate Transparency use.
    const LEAVES: [&str; 8] =
        ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
    const ROOTS: [&str; 8] = [
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];

    #[test]
    fn the_vectors_of_certificate_transparency_come_out() {
        let leaves: Vec<Vec<u8>> = LEAVES.iter().map(|leaf| hex(leaf)).collect();
        let nodes = kept(&leaves);
        assert_eq!(empty_root().to_string(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        for (size, root) in (1..).zip(ROOTS) {
            assert_eq!(tree(&nodes, size).root().unwrap().to_string(), root, "of {size} leaves");
        }
        let path: Vec<String> = tree(&nodes, 8).inclusion(0).unwrap().iter().map(Digest::to_string).collect();
        assert_eq!(
            path,
            [
                "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
            ]
        );
        let proof: Vec<String> = tree(&nodes, 8).consistency(6).unwrap().iter().map(Digest::to_string).collect();
        assert_eq!(
            proof,
            [
                "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            ]
        );
    }

    #[test]
    fn roots_and_proofs_of_every_size_are_those_of_the_plain_definition_and_verify() {
        let leaves: Vec<Vec<u8>> = (0..70_u32).map(|leaf| leaf.to_be_bytes().to_vec()).collect();
        let nodes = kept(&leaves);
        for size in 1..=leaves.len() {
            let (leaves, mut tree) = (&leaves[..size], tree(&nodes, size));
            let root = tree.root().unwrap();
            assert_eq!(root, naive(leaves));
            for (index, leaf) in leaves.iter().enumerate() {
                let path = tree.inclusion(index as u64).unwrap();
                assert_eq!(path, naive_path(index, leaves));
                assert!(is_included(leaf_hash(leaf), index as u64, size as u64, &path, root));
                for wrong in 0..size {
                    let is_same = wrong == index;
                    assert_eq!(is_included(leaf_hash(leaf), wrong as u64, size as u64, &path, root), is_same);
                }
            }
            for old in 1..=size {
                let (before, proof) = (naive(&leaves[..old]), tree.consistency(old as u64).unwrap());
                assert_eq!(proof, naive_proof(old, leaves, true));
                assert!(is_consistent((old as u64, before), (size as u64, root), &proof), "{old} to {size}");
            }
        }
    }

    #[test]
    fn no_proof_that_was_altered_in_any_way_verifies() {
        let mut numbers = Numbers(17);
        let leaves: Vec<Vec<u8>> = (0..600_u32).map(|leaf| leaf.to_be_bytes().to_vec()).collect();
        let nodes = kept(&leaves);
        let mut below = |most| numbers.below(most);
        for _ in 0..2000 {
            let size = 2 + below(598);
            let (old, index, mut tree) = (1 + below(size - 1), below(size), tree(&nodes, size));
            let (root, before, leaf) = (tree.root().unwrap(), naive(&leaves[..old]), leaf_hash(&leaves[index]));
            let (path, proof) = (tree.inclusion(index as u64).unwrap(), tree.consistency(old as u64).unwrap());
            let included = |path: &[Digest], size, root| is_included(leaf, index as u64, size, path, root);
            let grown = |proof: &[Digest], old, new| is_consistent(old, new, proof);
            let (was, is) = ((old as u64, before), (size as u64, root));
            assert!(included(&path, size as u64, root) && grown(&proof, was, is));
            for altered in altered(&path, below(path.len().max(1))) {
                assert!(!included(&altered, size as u64, root), "{index} of {size}");
            }
            for altered in altered(&proof, below(proof.len().max(1))) {
                assert!(!grown(&altered, was, is), "{old} to {size}");
            }
            assert!(!included(&path, size as u64, before) || before == root);
            assert!(!grown(&proof, (old as u64, root), is) && !grown(&proof, was, (size as u64, before)));
            assert!(!grown(&proof, is, was), "a tree does not shrink");
            assert!(!included(&path, index as u64, root), "it is not in a tree that ends before it");
        }
    }

    /// A proof with a hash altered, left out, or added.
    fn altered(proof: &[Digest], at: usize) -> Vec<Vec<Digest>> {
        let mut all = vec![[proof, &[empty_root()]].concat(), [&[empty_root()], proof].concat()];
        if at < proof.len() {
            let (mut flipped, mut shorter) = (proof.to_vec(), proof.to_vec());
            flipped[at].0[at % 32] ^= 1;
            shorter.remove(at);
            all.extend([flipped, shorter]);
        }
        all
    }

    #[test]
    fn sizes_up_to_the_largest_make_no_check_panic() {
        let (hash, path) = (empty_root(), [empty_root(); MAX_PROOF]);
        for size in [0, 1, 2, 1 << 63, u64::MAX - 1, u64::MAX] {
            for other in [0, 1, (1 << 63) - 1, 1 << 63, u64::MAX] {
                for length in [0, 1, 63, 64, MAX_PROOF] {
                    assert!(!is_included(hash, other, size, &path[..length], hash) || (size, length) == (1, 0));
                    let is_same = length == 0 && (other == size || other == 0);
                    assert_eq!(is_consistent((other, hash), (size, hash), &path[..length]), is_same);
                }
            }
        }
    }
}
