//! Many signatures at once: one equation for all of them, on all cores.
//!
//! A signature (R, s) by the key A holds when s B = R + k A, where k is the hash of R, A and what was signed. Of many, the sum
//! of all these equations is checked, each times a number z that follows from all of them, so that no false one can be made to
//! fit the others. (Bernstein, Duif, Lange, Schwabe, Yang: High-speed high-security signatures, section 5.) One sum over many
//! points costs less than many sums, and what one key signed is one point in it.
//!
//! Promises: what holds one by one holds together, and the claim that is named is the first that does not. One thing is not
//! seen together that is refused one by one: that the holder of a key bent its own signature by a point of small order. It
//! signed nevertheless.

use std::collections::BTreeMap;

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{IsIdentity, VartimeMultiscalarMul};
use rayon::iter::ParallelIterator;
use rayon::slice::{ParallelSlice, ParallelSliceMut};
use sha2::{Digest as _, Sha256, Sha512};

use crate::digest::Signature;
use crate::signature::Verifier;

/// Claims that are checked together.
const BATCH: usize = 2048;

/// That the holder of a key signed a content under a schema, which is to be checked.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    /// Nobody signs without a key.
    pub(crate) key: Option<Verifier>,
    pub(crate) schema: &'static str,
    pub(crate) content: Box<str>,
    pub(crate) signature: Signature,
}

/// The first claim that is not true.
pub(crate) fn first_false(claims: &[&Claim]) -> Option<usize> {
    // By key, so that what one signed comes together.
    let mut order: Vec<usize> = (0..claims.len()).collect();
    order.par_sort_by_key(|&place| (claims[place].key.map(|key| *key.bytes()), place));
    let in_batch = |places: &[usize]| {
        let batch: Vec<&Claim> = places.iter().map(|&place| claims[place]).collect();
        let false_ones = || places.iter().copied().filter(|&place| !claims[place].holds()).min();
        if all_hold(&batch).unwrap_or(false) { None } else { false_ones() }
    };
    order.par_chunks(BATCH).filter_map(in_batch).min()
}

impl Claim {
    fn holds(&self) -> bool {
        self.key.is_some_and(|key| key.is_signed(self.schema, self.content.as_bytes(), &self.signature))
    }

    fn equation(&self) -> Option<Equation> {
        let (key, (r, s)) = (self.key?, self.signature.0.split_at(32));
        let parts = [r, key.bytes(), self.schema.as_bytes(), b"\n", self.content.as_bytes()];
        let k = parts.iter().fold(Sha512::new(), Sha512::chain_update).finalize();
        Some(Equation {
            r: CompressedEdwardsY::from_slice(r).ok()?.decompress()?,
            s: Option::from(Scalar::from_canonical_bytes(s.try_into().ok()?))?,
            key,
            k: Scalar::from_bytes_mod_order_wide(&k.into()),
        })
    }
}

struct Equation {
    r: EdwardsPoint,
    s: Scalar,
    key: Verifier,
    k: Scalar,
}

/// Whether the sum of all equations holds; none when one of them is not even one.
fn all_hold(claims: &[&Claim]) -> Option<bool> {
    let equations: Vec<Equation> = claims.iter().map(|claim| claim.equation()).collect::<Option<_>>()?;
    let (mut s, mut keys) = (Scalar::ZERO, BTreeMap::new());
    let weights = weights(&equations);
    for (equation, z) in equations.iter().zip(&weights) {
        s += z * equation.s;
        keys.entry(*equation.key.bytes()).or_insert((equation.key.point(), Scalar::ZERO)).1 += z * equation.k;
    }
    let scalars = weights.iter().chain(keys.values().map(|(_, k)| k)).copied().chain([-s]);
    let points = equations.iter().map(|equation| equation.r).chain(keys.values().map(|(key, _)| *key));
    let sum = EdwardsPoint::vartime_multiscalar_mul(scalars, points.chain([ED25519_BASEPOINT_POINT]));
    Some(sum.is_identity())
}

/// A number of 128 bits for each equation, which nobody can choose: they follow from all equations together.
fn weights(equations: &[Equation]) -> Vec<Scalar> {
    let mut all = Sha256::new();
    for Equation { s, k, .. } in equations {
        // The hash k holds R, the key and what was signed.
        all.update(k.as_bytes());
        all.update(s.as_bytes());
    }
    let seed = all.finalize();
    let weight = |number: usize| {
        let hash: [u8; 32] = Sha256::new_with_prefix(seed).chain_update(number.to_be_bytes()).finalize().into();
        let (half, _) = hash.split_first_chunk().expect("a hash has 32 bytes");
        Scalar::from(u128::from_be_bytes(*half))
    };
    (0..equations.len()).map(weight).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::Signer;

    fn claims(count: usize) -> Vec<Claim> {
        let signers: Vec<Signer> = (0..7).map(|_| Signer::random()).collect();
        let claim = |number: usize| {
            let (signer, content) = (&signers[number % 7], format!("content {number}"));
            let (key, signature) = (Verifier::new(&signer.public()), signer.sign("a/1", content.as_bytes()));
            Claim { key, schema: "a/1", content: content.into(), signature }
        };
        (0..count).map(claim).collect()
    }

    fn check(claims: &[Claim], expected: Option<usize>) {
        assert_eq!(first_false(&claims.iter().collect::<Vec<_>>()), expected);
    }

    #[test]
    fn true_claims_hold_together_as_they_do_one_by_one() {
        for count in [0, 1, 2, 8, BATCH, BATCH + 1] {
            check(&claims(count), None);
        }
    }

    #[test]
    fn the_first_false_claim_is_found_wherever_it_is_and_whatever_is_false() {
        let lies: [fn(&mut Claim); 6] = [
            |claim| claim.content = format!("{}x", claim.content).into(),
            |claim| claim.schema = "b/1",
            |claim| claim.key = None,
            |claim| claim.key = Verifier::new(&Signer::random().public()),
            |claim| claim.signature.0[0] ^= 1,
            |claim| claim.signature.0[40] ^= 1,
        ];
        for lie in lies {
            for (first, second) in [(0, 99), (13, 14), (50, 57), (98, 99)] {
                let mut claims = claims(100);
                for place in [first, second] {
                    lie(&mut claims[place]);
                }
                check(&claims, Some(first));
            }
        }
        let mut many = claims(2 * BATCH + 3);
        many[BATCH + 5].signature.0[40] ^= 1;
        check(&many, Some(BATCH + 5));
    }

    /// Each of the two is false, and without the numbers z their errors would cancel out.
    #[test]
    fn errors_that_cancel_out_are_found() {
        let mut claims = claims(20);
        let s = |claim: &Claim| -> Scalar { Scalar::from_bytes_mod_order(claim.signature.0[32..].try_into().unwrap()) };
        let (more, less) = (s(&claims[3]) + Scalar::ONE, s(&claims[10]) - Scalar::ONE);
        claims[3].signature.0[32..].copy_from_slice(more.as_bytes());
        claims[10].signature.0[32..].copy_from_slice(less.as_bytes());
        check(&claims, Some(3));
    }

    #[test]
    fn an_s_that_is_not_reduced_is_refused() {
        let mut claims = claims(5);
        let order = Scalar::ZERO - Scalar::ONE;
        let mut carry = 1;
        // s + l, which is s to whoever does not look: l is the largest scalar and one.
        for (byte, add) in claims[2].signature.0[32..].iter_mut().zip(order.as_bytes()) {
            let sum = u16::from(*byte) + u16::from(*add) + carry;
            (*byte, carry) = ((sum & 255) as u8, sum >> 8);
        }
        check(&claims, Some(2));
    }
}
