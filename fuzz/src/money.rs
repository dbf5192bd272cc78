//! Amounts of money as text, and the policies that are made of them.

use truthfed::Amount;
use truthfed::protocol::RoundId;
use truthfed::statistics::{Gram, Statistics};
use truthfed_node::agent::{Policy, Price, RawPolicy};

use crate::bytes::Bytes;
use crate::text::{same, text};

/// A decimal.
pub fn money(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Ok(amount) = text.parse::<Amount>() else { return false };
    assert!((Amount::ZERO..=Amount::MAX).contains(&amount));
    same(&amount, &amount.to_string(), str::parse);
    same(&amount, &amount.micros().to_string(), |micros| serde_json::from_str(micros));
    if let Ok(number) = text.parse::<f64>() {
        let error = (number - amount.to_f64()).abs();
        assert!(error <= 1e-9 + 1e-15 * number.abs(), "{text} is not {amount}");
    }
    true
}

/// A policy in TOML, and what it asks for data that follows after a line feed of its own.
pub fn policy(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let (toml, data) = text.split_once("\n---\n").unwrap_or((text, ""));
    let Ok(policy) = Policy::from_toml(toml) else { return false };
    let raw: RawPolicy = toml::from_str(toml).expect("a policy is a raw one first");
    same(&raw, &toml::to_string(&raw).expect("a policy is TOML"), |text| toml::from_str(text));
    if !matches!(raw, RawPolicy::Command { .. }) {
        check_price(&policy, &raw, &statistics(&mut Bytes(data.as_bytes())));
    }
    true
}

fn check_price(policy: &Policy, raw: &RawPolicy, data: &Statistics) {
    let price = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let price = price.block_on(policy.price(RoundId(1), data)).expect("only commands stay out of a round");
    let least = match *raw {
        RawPolicy::Constant { ask: Price(ask) } => ask,
        RawPolicy::PerSample { base: Price(base), .. } => base,
        // As whole micro-units, within the range of an amount.
        RawPolicy::Paper { base, .. } => Amount::from_micros((base * 1e6) as i64).unwrap_or(Amount::MAX),
        RawPolicy::Command { .. } => Amount::ZERO,
    };
    assert!(price >= least, "{raw:?} asks {price} for {data:?}");
}

/// Data of up to four dimensions, of any size that is taken.
fn statistics(bytes: &mut Bytes<'_>) -> Statistics {
    let dimension = 1 + bytes.below(64);
    let scale = bytes.pick(&[0.0, 1.0, 1e-12, 1e6, 1e12, 1e15]);
    let entries = (0..dimension).flat_map(|row| (0..=row).map(move |column| f64::from(row == column)));
    let gram = entries.map(|entry| scale * entry).collect();
    let gram = Gram::from_lower(dimension, gram).expect("a diagonal matrix within range");
    Statistics::from_parts(gram, vec![0.0; dimension], bytes.count() >> 1).expect("moments of its size")
}
