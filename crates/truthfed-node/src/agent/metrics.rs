//! What monitoring sees of an agent.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::core::Status;

/// The status, in the text format of Prometheus. All are gauges: what an agent knows can become less, when something is forgotten.
pub(super) fn text(status: &Status) -> String {
    let mut registry = Registry::with_prefix("truthfed_agent");
    let mut add = |name: &str, help: &str, value: i64| {
        let gauge: Gauge = Gauge::default();
        gauge.set(value);
        registry.register(name, help, gauge);
    };
    let count = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    add("known_samples", "Observations it decides by, its own and others'", count(status.known));
    add("unshared_samples", "Its own observations that nobody else has", count(status.unshared));
    add("offered_samples", "Its own observations that are offered in an open round", count(status.in_flight));
    add("last_round", "The last round that is in what it knows", count(status.last_round.0));
    add("payments_waiting", "Payments that wait until others' data confirms them", count(status.payments_waiting));
    add(
        "coordinator_reachable",
        "1 if the coordinator answered the last request",
        i64::from(status.coordinator_reachable),
    );
    add("takes_part", "1 if it takes part in rounds, 0 if it has a problem", i64::from(status.problem.is_none()));
    let earned: Gauge<f64, std::sync::atomic::AtomicU64> = Gauge::default();
    earned.set(status.earned.parse().unwrap_or(f64::NAN));
    registry.register("earned_units", "What it was paid so far, by its receipts", earned);
    let mut text = String::new();
    encode(&mut text, &registry).expect("a String takes everything");
    text
}
