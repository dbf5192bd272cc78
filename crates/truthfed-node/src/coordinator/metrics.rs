//! What monitoring sees: sums and times, never anything about one member.

use std::fmt;
use std::time::{Duration, SystemTime};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use super::stage::{Role, Stage};
use crate::net::Refusals;

/// Upper ends of the classes of request times, in seconds; long polls wait up to 30.
const SECONDS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0, 31.0];

/// Names and values.
type Labels<const N: usize> = [(&'static str, String); N];

pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Labels<2>, Counter>,
    times: Family<Labels<1>, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    connections: Gauge,
}

/// Something that is counted until this is dropped.
pub(super) struct UnderWay(Gauge);

impl UnderWay {
    fn of(gauge: &Gauge) -> UnderWay {
        gauge.inc();
        UnderWay(gauge.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(super) fn new(stage: watch::Receiver<Stage>, doors: Doors) -> Metrics {
        let mut registry = Registry::with_prefix("truthfed");
        let requests = Family::default();
        registry.register("requests", "Requests by route and code", requests.clone());
        let times = Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        registry.register("request_seconds", "Time until a request was answered", times.clone());
        let in_flight = Gauge::default();
        registry.register("requests_in_flight", "Requests that are not answered yet", in_flight.clone());
        let connections = Gauge::default();
        registry.register("connections", "Open connections of members and the operator", connections.clone());
        registry.register_collector(Box::new(Engine(stage)));
        registry.register_collector(Box::new(doors));
        Metrics { registry, requests, times, in_flight, connections }
    }

    pub(super) fn request_under_way(&self) -> UnderWay {
        UnderWay::of(&self.in_flight)
    }

    pub(super) fn open_connection(&self) -> UnderWay {
        UnderWay::of(&self.connections)
    }

    pub(super) fn request(&self, route: &str, code: &str, took: Duration) {
        let (route, code) = (("route", route.to_owned()), ("code", code.to_owned()));
        self.requests.get_or_create(&[route.clone(), code]).inc();
        self.times.get_or_create(&[route]).observe(took.as_secs_f64());
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).expect("a String takes everything");
        text
    }
}

/// Who is not let in, and how long the coordinator's own certificate lasts.
#[derive(Debug)]
pub(super) struct Doors {
    pub(super) refusals: Refusals,
    /// When the certificate expires.
    pub(super) expires: SystemTime,
}

impl Collector for Doors {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let expires = self.expires.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        let help = "When the coordinator's certificate expires, in seconds since 1970";
        write(&mut encoder, "certificate_expires_seconds", help, &ConstGauge::new(expires))?;
        let version = "1 for the version of this program";
        let mut family = encoder.encode_descriptor("build_info", version, None, MetricType::Gauge)?;
        let labels = [("version", env!("CARGO_PKG_VERSION"))];
        ConstGauge::new(1i64).encode(family.encode_family(&labels)?)?;
        let refused = "Handshakes without a connection since the start, by cause";
        let mut family = encoder.encode_descriptor("handshakes_refused", refused, None, MetricType::Counter)?;
        for (why, count) in self.refusals.counts() {
            ConstCounter::new(count).encode(family.encode_family(&[("why", why)])?)?;
        }
        Ok(())
    }
}

/// What the engine counts, read when it is asked for.
struct Engine(watch::Receiver<Stage>);

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine")
    }
}

impl Collector for Engine {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let stage = self.0.borrow().clone();
        let (role, _) = stage.role();
        roles(&mut encoder, role)?;
        let mut gauge = |name: &str, help: &str, value: i64| write(&mut encoder, name, help, &ConstGauge::new(value));
        gauge("healthy", "0 when the coordinator fails; 1 for a standby, too", i64::from(role != Role::Failing))?;
        let Stage::Active(engine) = stage else { return Ok(()) };
        let (published, counts) = (engine.published(), engine.published().counts());
        let members = published.members().values().filter(|member| !member.is_revoked).count();
        gauge("lease_epoch", "Epoch of the lease", engine.epoch() as i64)?;
        gauge("members", "Members that may take part", members as i64)?;
        gauge("journal_entries", "Entries of the journal", published.entries() as i64)?;
        gauge("closed_round", "The last round that ended", published.closed().0 as i64)?;
        gauge("open_round", "The round that is open, or 0", published.open_round().map_or(0, |round| round.0 as i64))?;
        gauge("paused", "1 if the operator lets no round open", i64::from(published.paused().is_some()))?;
        for (name, help, count) in [
            ("rounds_settled", "Rounds settled since the start", counts.settled),
            ("rounds_aborted", "Rounds that ended without an auction since the start", counts.aborted),
            ("offers", "Offers taken since the start", counts.offers),
            ("deliveries", "Deliveries taken since the start", counts.deliveries),
            ("defaults", "Winners that did not deliver since the start", counts.defaults),
            ("payments", "Payments posted since the start", counts.payments),
            ("commits", "Transactions committed since the start", counts.commits),
            ("commit_microseconds", "Time spent in commits since the start", counts.commit_us),
        ] {
            write(&mut encoder, name, help, &ConstCounter::new(count))?;
        }
        Ok(())
    }
}

fn roles(encoder: &mut DescriptorEncoder<'_>, role: Role) -> fmt::Result {
    let mut family =
        encoder.encode_descriptor("role", "1 for what the coordinator does now", None, MetricType::Gauge)?;
    for known in Role::ALL {
        ConstGauge::new(i64::from(known == role)).encode(family.encode_family(&[("role", known.name())])?)?;
    }
    Ok(())
}

fn write(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, metric: &impl EncodeMetric) -> fmt::Result {
    metric.encode(encoder.encode_descriptor(name, help, None, metric.metric_type())?)
}
