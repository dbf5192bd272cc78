//! Figures, and whether each keeps its bound.

use std::time::Duration;

use serde::Serialize;
use truthfed_cli::report::table;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread(Vec<Duration>);

impl Spread {
    pub fn of(mut times: Vec<Duration>) -> Spread {
        assert!(!times.is_empty(), "a spread has at least one time");
        times.sort_unstable();
        Spread(times)
    }

    /// The smallest time that so many per cent do not exceed.
    pub fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent.min(100)).div_ceil(100);
        self.0[rank.max(1) - 1]
    }

    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    pub fn max(&self) -> Duration {
        self.percentile(100)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    pub what: String,
    pub value: f64,
    pub unit: &'static str,
    /// The most it may be.
    pub bound: Option<f64>,
    pub holds: bool,
}

impl Figure {
    pub fn told(what: impl Into<String>, value: f64, unit: &'static str) -> Figure {
        Figure { what: what.into(), value, unit, bound: None, holds: true }
    }

    pub fn bounded(what: impl Into<String>, value: f64, unit: &'static str, bound: f64) -> Figure {
        Figure { what: what.into(), value, unit, bound: Some(bound), holds: value <= bound }
    }
}

pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Figures {
    pub figures: Vec<Figure>,
}

impl Figures {
    pub fn hold(&self) -> bool {
        self.figures.iter().all(|figure| figure.holds)
    }

    pub fn table(&self) -> String {
        let rows = self.figures.iter().map(|Figure { what, value, unit, bound, holds }| {
            let bound = bound.map_or_else(String::new, number);
            let missed = if *holds { "" } else { "MISSED" };
            vec![what.clone(), number(*value), (*unit).to_owned(), bound, missed.to_owned()]
        });
        table(&["", "value", "", "at most", ""], &[1, 3], rows.collect())
    }
}

/// Whole when it is whole or large, else with as many places as matter.
fn number(value: f64) -> String {
    match value {
        value if value.fract() == 0.0 || value >= 1000.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(ms: impl IntoIterator<Item = u64>) -> Spread {
        Spread::of(ms.into_iter().map(Duration::from_millis).collect())
    }

    #[test]
    fn a_percentile_is_the_smallest_time_that_so_many_do_not_exceed() {
        let hundred = spread((1..=100).rev());
        for percent in [1, 50, 99, 100] {
            assert_eq!(hundred.percentile(percent), Duration::from_millis(percent as u64));
        }
        assert_eq!(hundred.percentile(0), Duration::from_millis(1));
        let three = spread([5, 1, 9]);
        assert_eq!((three.median(), three.percentile(99), three.max()), (three.0[1], three.0[2], three.0[2]));
        assert_eq!(spread([7]).percentile(99), Duration::from_millis(7));
        assert_eq!(spread(1..=1000).percentile(99), Duration::from_millis(990));
    }

    #[test]
    fn a_missed_bound_is_seen_in_the_whole_and_in_its_row() {
        let mut figures = Figures { figures: vec![Figure::told("connections", 12.0, "")] };
        figures.figures.push(Figure::bounded("kept", 250.0, "ms", 250.0));
        assert!(figures.hold() && !figures.table().contains("MISSED"));
        figures.figures.push(Figure::bounded("too slow", 250.1, "ms", 250.0));
        assert!(!figures.hold());
        let missed: Vec<String> =
            figures.table().lines().filter(|line| line.contains("MISSED")).map(str::to_owned).collect();
        assert_eq!(missed.len(), 1);
        assert!(missed[0].contains("too slow") && missed[0].contains("250.1"), "{missed:?}");
        let json: serde_json::Value = serde_json::from_str(&truthfed_cli::report::json(&figures)).unwrap();
        assert_eq!(
            (&json["figures"][2]["holds"], &json["figures"][0]["bound"]),
            (&false.into(), &serde_json::Value::Null)
        );
    }

    #[test]
    fn numbers_have_the_places_that_matter() {
        let cases = [(0.5, "0.50"), (3.0, "3"), (12.34, "12.3"), (1234.5, "1234"), (1_000_000.0, "1000000")];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }
}
