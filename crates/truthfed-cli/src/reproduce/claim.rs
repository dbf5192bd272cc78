//! A statement of the paper, and what each reading makes of it; a claim of our own; and the evidence for both.

use serde::Serialize;
use truthfed_report::page::{Column, Detail, Matrix, Row, Verdict, VerdictKind};

use super::decision::{Side, together};
use super::interval::Interval;
use super::readings::READINGS;

/// A checkable statement of the paper.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Claim {
    pub(super) id: &'static str,
    /// Where the paper states it, as it numbers its theorems, algorithms and figures.
    pub(super) source: &'static str,
    /// The statement in our words.
    pub(super) claim: String,
    /// What the cells say together.
    pub(super) synthesis: String,
    pub(super) cells: Vec<Cell>,
}

/// What the paper numbers and proves. Definitions, algorithms, equations and figures state nothing by themselves.
const NUMBERED: [&str; 3] = ["Proposition", "Lemma", "Theorem"];

/// What was measured under one or more readings.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Cell {
    pub(super) readings: Vec<&'static str>,
    #[serde(flatten)]
    pub(super) evidence: Evidence,
}

/// A claim about the mechanisms and rules of this program.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Own {
    pub(super) id: &'static str,
    pub(super) claim: &'static str,
    #[serde(flatten)]
    pub(super) evidence: Evidence,
}

/// What was measured, and the verdict that follows from its numbers.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Evidence {
    pub(super) verdict: VerdictKind,
    pub(super) measured: String,
    numbers: Vec<Number>,
    /// What was tried, such as seeds 1 to 30.
    sample: Sample,
    /// Repeats the measurement, or one case of it, in the folder of the report.
    command: String,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct Number {
    name: String,
    value: f64,
    /// Of 95 %, over the seeds; none over a single one, and of what is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<[f64; 2]>,
    /// Where the claim says it lies, if it is one of those that decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed: Option<Side>,
    /// The verdict if it lies on the other side.
    #[serde(skip_serializing_if = "Option::is_none")]
    otherwise: Option<VerdictKind>,
    #[serde(skip)]
    spread: Interval,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Sample {
    kind: &'static str,
    from: u64,
    to: u64,
}

impl Sample {
    /// Runs under seeds 1 to `to`.
    pub(super) fn runs(to: u64) -> Sample {
        Sample { kind: "seeds of runs", from: 1, to }
    }

    /// Rounds of `generate::varied_within`, from seed 0: few clients, and among them equal clients, equal asks and empty data.
    pub(super) fn odd_rounds(count: u64) -> Sample {
        Sample { kind: "seeds of small random rounds, odd ones among them", from: 0, to: count - 1 }
    }

    /// Rounds of `generate::federation`, from seed 1.
    pub(super) fn federations(to: u64) -> Sample {
        Sample { kind: "seeds of rounds of 25 clients", from: 1, to }
    }

    /// Rounds made for the purpose.
    pub(super) fn constructed(count: u64) -> Sample {
        Sample { kind: "constructed rounds", from: 1, to: count }
    }

    /// The same as [`Sample::federations`], and after them one made for the purpose.
    pub(super) fn federations_and_one(to: u64) -> Sample {
        Sample { kind: "seeds of rounds of 25 clients, and one constructed round", from: 1, to }
    }

    /// Rounds that were recorded in runs, in their order.
    pub(super) fn recorded(count: u64) -> Sample {
        Sample { kind: "recorded rounds", from: 1, to: count }
    }

    /// Random inputs, from seed 0.
    pub(super) fn draws(count: u64) -> Sample {
        Sample { kind: "seeds of random inputs", from: 0, to: count - 1 }
    }
}

impl Number {
    pub(super) fn exact(name: impl Into<String>, value: f64) -> Number {
        let spread = Interval { mean: value, half: 0.0 };
        Number { name: name.into(), value, interval: None, claimed: None, otherwise: None, spread }
    }

    pub(super) fn with_interval(name: impl Into<String>, spread: Interval) -> Number {
        let interval = spread.half.is_finite().then(|| [spread.low(), spread.high()]);
        Number { interval, spread, ..Number::exact(name, spread.mean) }
    }

    /// A quantity that decides: the claim says that it lies on this side.
    pub(super) fn deciding(name: impl Into<String>, interval: Interval, side: Side) -> Number {
        Number::with_interval(name, interval).claimed(side, VerdictKind::NotReproduced)
    }

    /// Cases of which one is a counterexample, such as violations of 600 tried.
    pub(super) fn never(name: &str, count: usize, tried: usize) -> Number {
        Number::share(name, count, tried).claimed(Side::AtMost(0.0), VerdictKind::Refuted)
    }

    /// Some of all cases.
    pub(super) fn share(name: &str, count: usize, tried: usize) -> Number {
        Number::exact(format!("{name}, of {tried}"), count as f64)
    }

    /// The claim says that it lies on this side. `otherwise` is the verdict if all of it lies on the other.
    pub(super) fn claimed(self, side: Side, otherwise: VerdictKind) -> Number {
        Number { claimed: Some(side), otherwise: Some(otherwise), ..self }
    }

    fn verdict(&self) -> Option<VerdictKind> {
        match self.claimed?.decide(self.spread) {
            VerdictKind::NotReproduced => self.otherwise,
            other => Some(other),
        }
    }
}

impl Evidence {
    pub(super) fn new(
        measured: impl Into<String>,
        numbers: Vec<Number>,
        sample: Sample,
        command: impl Into<String>,
    ) -> Evidence {
        let verdict = together(numbers.iter().filter_map(Number::verdict));
        Evidence { verdict, measured: measured.into(), numbers, sample, command: command.into() }
    }

    /// Under one or more readings.
    pub(super) fn under(self, readings: Vec<&'static str>) -> Cell {
        Cell { readings, evidence: self }
    }

    /// For a claim of our own.
    pub(super) fn on(self, id: &'static str, claim: &'static str) -> Own {
        Own { id, claim, evidence: self }
    }
}

impl Cell {
    pub(super) fn with_command(self, command: &str) -> Cell {
        Cell { evidence: Evidence { command: command.to_owned(), ..self.evidence }, ..self }
    }
}

impl Own {
    /// For the page.
    pub(super) fn told(&self) -> Verdict {
        let Evidence { verdict, measured, command, .. } = &self.evidence;
        Verdict::new(self.id, self.claim, measured.as_str(), *verdict, command)
    }
}

impl Claim {
    /// `why` explains the verdicts and holds whatever they are.
    pub(super) fn new(
        id: &'static str,
        source: &'static str,
        claim: impl Into<String>,
        why: &str,
        cells: Vec<Cell>,
    ) -> Claim {
        let found = Claim { id, source, claim: claim.into(), synthesis: String::new(), cells };
        let synthesis = format!("{} {why}", found.outcome()).trim_end().to_owned();
        Claim { synthesis, ..found }
    }

    /// The verdict under a reading.
    pub(super) fn verdict(&self, reading: &str) -> VerdictKind {
        let cell = self.cells.iter().find(|cell| cell.readings.contains(&reading));
        cell.expect("every claim has a cell for each reading").evidence.verdict
    }

    /// The propositions, lemmas and theorems that it is part of, such as Theorem 8.
    pub(super) fn numbered(&self) -> Vec<String> {
        let name = |part: &str| {
            let mut words = part.split(' ');
            let (kind, number) = (words.next()?, words.next()?);
            NUMBERED.contains(&kind).then(|| format!("{kind} {number}"))
        };
        self.source.split(", ").filter_map(name).collect()
    }

    /// Whether it is about something that the paper numbers, such as Figure 1a.
    pub(super) fn is_about(&self, name: &str) -> bool {
        let of_part = |part: &str| part.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        self.source.split(", ").any(of_part)
    }

    /// Which readings give which verdict, in words.
    fn outcome(&self) -> String {
        let kinds = [
            (VerdictKind::Reproduced, "Holds"),
            (VerdictKind::NotReproduced, "Not reproduced"),
            (VerdictKind::Refuted, "Refuted"),
            (VerdictKind::Undecided, "Undecided"),
        ];
        let part = |(kind, word): (VerdictKind, &str)| {
            let with: Vec<&str> =
                READINGS.iter().map(|reading| reading.name).filter(|name| self.verdict(name) == kind).collect();
            match with.len() {
                0 => None,
                all if all == READINGS.len() => Some(format!("{word} under all readings.")),
                _ => Some(format!("{word} under {}.", and(&with))),
            }
        };
        kinds.into_iter().filter_map(part).collect::<Vec<_>>().join(" ")
    }
}

/// Every numbered statement of the paper with the claims that it consists of, in the paper's order.
pub(super) fn by_number(claims: &[Claim]) -> Vec<(String, Vec<&Claim>)> {
    let mut all: Vec<(String, Vec<&Claim>)> = Vec::new();
    for claim in claims {
        for name in claim.numbered() {
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, parts)) => parts.push(claim),
                None => all.push((name, vec![claim])),
            }
        }
    }
    let number = |name: &str| name.rsplit(' ').next().and_then(|number| number.parse::<u32>().ok());
    all.sort_by_key(|(name, _)| number(name));
    all
}

pub(super) fn and(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// All claims as a matrix for the page.
pub(super) fn matrix(claims: &[Claim]) -> Matrix {
    let column =
        |reading: &super::readings::Reading| Column { name: reading.name.to_owned(), about: reading.about.to_owned() };
    let detail = |cell: &Cell| Detail {
        columns: and(&cell.readings),
        verdict: cell.evidence.verdict,
        measured: cell.evidence.measured.clone(),
        command: cell.evidence.command.clone(),
    };
    let row = |claim: &Claim| Row {
        id: claim.id.to_owned(),
        source: claim.source.to_owned(),
        claim: claim.claim.clone(),
        synthesis: claim.synthesis.clone(),
        marks: READINGS.iter().map(|reading| claim.verdict(reading.name)).collect(),
        details: claim.cells.iter().map(detail).collect(),
    };
    Matrix { columns: READINGS.iter().map(column).collect(), rows: claims.iter().map(row).collect() }
}

/// The mark of a verdict where there is no colour.
pub(super) fn mark(kind: VerdictKind) -> &'static str {
    match kind {
        VerdictKind::Reproduced => "+",
        VerdictKind::NotReproduced => "-",
        VerdictKind::Refuted => "x",
        VerdictKind::Undecided => "?",
    }
}

/// How many claims have each verdict under a reading.
pub(super) fn counts(claims: &[Claim], reading: &str) -> [usize; 4] {
    let count = |kind| claims.iter().filter(|claim| claim.verdict(reading) == kind).count();
    [VerdictKind::Reproduced, VerdictKind::NotReproduced, VerdictKind::Refuted, VerdictKind::Undecided].map(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use VerdictKind::{NotReproduced, Refuted, Reproduced, Undecided};

    fn claim(verdicts: [VerdictKind; 4]) -> Claim {
        let cell = |(reading, verdict): (&super::super::readings::Reading, VerdictKind)| {
            let evidence = Evidence::new("", Vec::new(), Sample::runs(30), "");
            Evidence { verdict, ..evidence }.under(vec![reading.name])
        };
        Claim::new("x", "Lemma 1", "all is well", "So it goes.", READINGS.iter().zip(verdicts).map(cell).collect())
    }

    #[test]
    fn the_synthesis_follows_from_the_cells() {
        let check = |verdicts, expected: &str| assert_eq!(claim(verdicts).synthesis, format!("{expected} So it goes."));
        check([Refuted; 4], "Refuted under all readings.");
        check(
            [Reproduced, NotReproduced, Reproduced, NotReproduced],
            "Holds under A and C. Not reproduced under B and D.",
        );
        check([Reproduced, Reproduced, Reproduced, Refuted], "Holds under A, B and C. Refuted under D.");
        check([Undecided; 4], "Undecided under all readings.");
    }

    fn check(numbers: Vec<Number>, expected: VerdictKind) {
        let evidence = Evidence::new("", numbers, Sample::runs(30), "");
        assert_eq!(evidence.verdict, expected, "{evidence:?}");
    }

    #[test]
    fn deciding_numbers_make_the_verdict_and_others_do_not() {
        let about = |mean: f64| Interval { mean, half: 1.0 };
        let rises = |mean| Number::deciding("change", about(mean), Side::Above(0.0));
        let beside = Number::with_interval("mean", about(-9.0));
        check(vec![rises(2.0), beside.clone()], Reproduced);
        check(vec![rises(2.0), rises(0.5), beside.clone()], Undecided);
        check(vec![rises(2.0), rises(-2.0)], NotReproduced);
        check(vec![beside], Undecided);
    }

    #[test]
    fn one_counterexample_refutes_whatever_else_was_found() {
        let rises = Number::deciding("change", Interval { mean: -2.0, half: 1.0 }, Side::Above(0.0));
        check(vec![Number::never("violations", 0, 600)], Reproduced);
        check(vec![Number::never("violations", 1, 600)], Refuted);
        check(vec![rises, Number::never("violations", 1, 600)], Refuted);
        let worst = |ratio| Number::exact("worst", ratio).claimed(Side::AtLeast(1.0), Refuted);
        check(vec![worst(1.0)], Reproduced);
        check(vec![worst(0.99)], Refuted);
    }

    #[test]
    fn numbered_statements_are_collected_from_their_parts() {
        let of = |source| Claim { source, ..claim([Refuted; 4]) };
        let sources =
            ["Theorem 10, Lemma 18", "Theorem 8 (b)", "Abstract, proof of Theorem 9", "Theorem 8 (a)", "Figure 1a"];
        let claims = sources.map(of);
        let found = by_number(&claims);
        let names: Vec<(&str, usize)> = found.iter().map(|(name, parts)| (name.as_str(), parts.len())).collect();
        assert_eq!(names, [("Theorem 8", 2), ("Theorem 10", 1), ("Lemma 18", 1)]);
    }

    #[test]
    fn verdicts_are_counted_by_reading() {
        let claims = [claim([Refuted; 4]), claim([Reproduced, NotReproduced, Undecided, NotReproduced])];
        let counted = ["A", "B", "C"].map(|reading| counts(&claims, reading));
        assert_eq!(counted, [[1, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 1]]);
    }
}
