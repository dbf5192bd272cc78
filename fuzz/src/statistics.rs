//! Data as members offer and deliver it: honest data is never refused, and what is taken can be used.

use truthfed::Amount;
use truthfed::auction::Offer;
use truthfed::bandit::{Config, LinUcb, RawConfig, RefreshError};
use truthfed::protocol::{RawTerms, Surprise, Terms};
use truthfed::statistics::{Gram, MAX_OBSERVATION, Statistics};

use crate::bytes::Bytes;
use crate::text::{json, same};

/// Honest data: observations within the terms, in parts that are merged, offered and delivered.
pub fn honest(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let Some(terms) = terms(&mut bytes) else { return false };
    let mut parts = vec![Statistics::new(terms.dimension()).expect("checked terms")];
    for _ in 0..terms.raw().samples.min(64) {
        if bytes.is_empty() {
            break;
        }
        if bytes.below(8) == 0 {
            parts.push(Statistics::new(terms.dimension()).expect("checked terms"));
        }
        let (context, reward) = (within(&mut bytes, &terms), bytes.float());
        let most = terms.raw().reward;
        let reward = if reward.is_finite() { reward.clamp(-most, most) } else { most };
        if parts.last_mut().expect("there is one").observe(&context, reward).is_err() {
            return false;
        }
    }
    let mut data = Statistics::new(terms.dimension()).expect("checked terms");
    parts.iter().for_each(|part| data.merge(part).expect("one dimension"));
    check_taken(&terms, &data);
    true
}

/// Whatever passes the checks of offers and deliveries.
pub fn statistics(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let Some(terms) = terms(&mut bytes) else { return false };
    let lower = bytes.floats(terms.dimension() * (terms.dimension() + 1) / 2);
    let Ok(gram) = Gram::from_lower(terms.dimension(), lower) else { return false };
    let (offer, samples) = (offer(gram), bytes.count());
    if terms.check_offer(&offer, samples).is_err() {
        return false;
    }
    let moment = bytes.floats(terms.dimension());
    if terms.check_delivery(&offer, samples, &moment).is_err() {
        return false;
    }
    assert!(offer.gram.trace() <= samples as f64 * terms.raw().norm * terms.raw().norm * 1.001, "{offer:?}");
    let data = Statistics::from_parts(offer.gram, moment, samples).expect("both were checked");
    check_usable(&terms, &data);
    true
}

/// Terms of a federation, where sizes reach to their bounds.
fn terms(bytes: &mut Bytes<'_>) -> Option<Terms> {
    let size = |bytes: &mut Bytes<'_>| match bytes.below(4) {
        0 => bytes.float(),
        _ => bytes.pick(&[1.0, 1e-9, 1e-3, 1e3, 1e6, 1e9]),
    };
    let bandit = RawConfig { dimension: 1 + bytes.below(4), lambda: size(bytes), ..RawConfig::default() };
    let (norm, reward) = (size(bytes), size(bytes));
    let samples = bytes.pick(&[1000, 1, 50, 1_000_000, 1_000_000_000]);
    RawTerms { bandit, norm, reward, samples, ..RawTerms::default() }.try_into().ok()
}

/// A context that is as long as the terms allow, or shorter.
fn within(bytes: &mut Bytes<'_>, terms: &Terms) -> Vec<f64> {
    let longest = terms.raw().norm.min(MAX_OBSERVATION);
    let mut context = bytes.floats(terms.dimension());
    context.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = longest);
    // Scaled first, so that squares stay in range.
    let largest = context.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    if largest > longest {
        context.iter_mut().for_each(|x| *x = *x / largest * longest);
    }
    let norm = context.iter().map(|x| x * x).sum::<f64>().sqrt();
    if norm > longest {
        context.iter_mut().for_each(|x| *x = *x / norm * longest);
    }
    context
}

fn offer(gram: Gram) -> Offer {
    Offer { client: "m".parse().expect("a short name"), ask: Amount::ZERO, gram }
}

fn check_taken(terms: &Terms, data: &Statistics) {
    let (offer, samples) = (offer(data.gram().clone()), data.samples());
    same(data, &json(data), |text| serde_json::from_str(text));
    assert!(Gram::from_lower(terms.dimension(), data.gram().lower().to_vec()).is_ok(), "too large to be read");
    assert_eq!(terms.check_offer(&offer, samples), Ok(()), "{terms:?}");
    assert_eq!(terms.check_delivery(&offer, samples, data.moment()), Ok(()), "{terms:?} {offer:?}");
}

/// It can be merged, and a bandit can decide by it unless its ridge is drowned.
fn check_usable(terms: &Terms, data: &Statistics) {
    let (dimension, lambda) = (terms.dimension(), terms.bandit().lambda());
    let mut twice = data.clone();
    twice.merge(data).expect("one dimension");
    let config = RawConfig { dimension, lambda, ..RawConfig::default() };
    let config = Config::try_from(config).expect("checked terms have a valid dimension and ridge");
    // It says nothing, or a number.
    if let Some(surprise) = Surprise::of(&twice, lambda, 0.1, (data.gram(), data.samples()), data.moment()) {
        assert!(surprise.statistic.is_finite() && surprise.threshold.is_finite());
    }
    match LinUcb::knowing(config, twice) {
        Ok(bandit) => {
            assert!(bandit.log_det_ratio().is_finite() && bandit.theta().iter().all(|x| x.is_finite()), "{bandit:?}");
            let arms: Vec<Vec<f64>> =
                (0..dimension).map(|i| (0..dimension).map(|j| f64::from(i == j)).collect()).collect();
            assert!(bandit.choose(&arms).is_ok(), "{bandit:?}");
        }
        Err(RefreshError::NotPositive { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}
