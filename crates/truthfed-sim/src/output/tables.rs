//! The tables of a simulation, as CSV.

use std::borrow::Cow;
use std::io;

use truthfed::Total;
use truthfed::auction::RoundDocument;
use truthfed::protocol::{Ending, RoundRecord};

use super::Writer;
use crate::federation::{client_id, paid};
use crate::simulation::Run;
use crate::totals::{FIGURES, Totals};

pub(super) fn curves(out: &mut Writer<'_>, runs: &[Run]) -> io::Result<()> {
    write!(out, "seed,step")?;
    figure_names(out)?;
    for (run, totals) in runs.iter().flat_map(|run| run.curve.iter().map(move |totals| (run, totals))) {
        write!(out, "{},{}", run.seed, totals.steps)?;
        figure_values(out, totals)?;
    }
    Ok(())
}

/// The rest of a header: every figure, after columns of the caller's.
pub(crate) fn figure_names(out: &mut Writer<'_>) -> io::Result<()> {
    FIGURES.iter().try_for_each(|figure| write!(out, ",{}", figure.name))?;
    writeln!(out)
}

/// The rest of a row: the value of every figure.
pub(crate) fn figure_values(out: &mut Writer<'_>, totals: &Totals) -> io::Result<()> {
    FIGURES.iter().try_for_each(|figure| write!(out, ",{}", (figure.of)(totals)))?;
    writeln!(out)
}

pub(super) fn clients(out: &mut Writer<'_>, runs: &[Run]) -> io::Result<()> {
    writeln!(out, "seed,client,regret,incentive,cost,utility,participations")?;
    for run in runs {
        for (client, totals) in run.clients.iter().enumerate() {
            let id = client_id(client, run.clients.len());
            write!(out, "{},{id},{},{}", run.seed, totals.regret, totals.incentive)?;
            writeln!(out, ",{},{},{}", totals.cost, totals.utility(), totals.participations)?;
        }
    }
    Ok(())
}

/// Every settled round, each a document on a line of its own.
pub(super) fn round_documents(out: &mut Writer<'_>, run: &Run) -> io::Result<()> {
    for (_, record) in &run.rounds {
        if let Ending::Settled { spec, .. } = &record.ending {
            writeln!(out, "{}", RoundDocument::of(spec))?;
        }
    }
    Ok(())
}

/// Every round that ended. `line` is where its document stands among those of its seed.
pub(super) fn rounds(out: &mut Writer<'_>, runs: &[Run]) -> io::Result<()> {
    writeln!(
        out,
        "seed,step,round,ending,line,asked_by,offers,winners,coverage,target,social_cost_by_asks,payments,defaulted,paid"
    )?;
    runs.iter().try_for_each(|run| rounds_of(out, run))
}

fn rounds_of(out: &mut Writer<'_>, run: &Run) -> io::Result<()> {
    let seed = run.seed;
    let mut line = 0;
    for (step, record) in &run.rounds {
        let RoundRecord { round, asked_by, ending, .. } = record;
        let Ending::Settled { spec, outcome, defaulted, .. } = ending else {
            writeln!(out, "{seed},{step},{round},{},,{asked_by},,,,,,,,", ending_name(ending))?;
            continue;
        };
        line += 1;
        write!(out, "{seed},{step},{round},{},{line},{asked_by}", ending_name(ending))?;
        write!(out, ",{},{}", spec.offers.len(), outcome.winners().len())?;
        write!(out, ",{},{}", outcome.coverage(), outcome.target())?;
        write!(out, ",{},{},{}", outcome.social_cost(), outcome.payments(), defaulted.len())?;
        let total: Total = paid(record).into_iter().map(|(_, payment)| payment).sum();
        writeln!(out, ",{total}")?;
    }
    Ok(())
}

fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Settled { .. } => "settled",
        Ending::NoOffers => "no-offers",
        Ending::Aborted(_) => "aborted",
        Ending::Invalid(_) => "invalid",
        Ending::Refused(_) => "refused",
    }
}

/// A text as a field of CSV, in quotes where it needs them.
pub(crate) fn csv_field(text: &str) -> Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(csv_field("plain 1.5"), "plain 1.5");
        assert_eq!(csv_field("a,b"), "\"a,b\"");
        assert_eq!(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
    }
}
