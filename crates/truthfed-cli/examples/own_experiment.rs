//! A mechanism of your own, simulated, swept and drawn: `cargo run -p truthfed-cli --example own_experiment` writes `out/own`.

use std::{error::Error, path::Path};

use truthfed::Amount;
use truthfed::auction::{Evaluations, Mechanism, Outcome, PaymentRule, Refusal, Round};
use truthfed_report::chart::{Axis, Chart, Figure, Point, Series};
use truthfed_report::export::figure_files;
use truthfed_sim::config::{Config, Parts};
use truthfed_sim::experiment::{over_time, run_seeds};
use truthfed_sim::output::{OutputFolder, SWEEP};
use truthfed_sim::sweep::{Sweep, run, write_results};

/// One price for all: whoever asks at most 60 takes part and is paid 60, whether the target is met or not.
struct OnePrice;

impl Mechanism for OnePrice {
    fn name(&self) -> &str {
        "one-price"
    }
    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        let price = Amount::from_units(60);
        let paid = round.seats().filter(|&seat| round.ask(seat) <= price).map(|seat| (seat, price)).collect();
        Ok(Outcome::new(round, self.name(), PaymentRule::Critical, round.coverage(), paid, Evaluations::default()))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    experiment(Path::new("out/own"))
}

pub(crate) fn experiment(folder: &Path) -> Result<(), Box<dyn Error>> {
    let parts = Parts::default().with_mechanism(OnePrice);
    let mut lines = Vec::new();
    for name in ["clock", "one-price"] {
        let config = Config::read_with("", &[format!("rounds.mechanism={name}")], &parts)?;
        let paid = over_time(&run_seeds(&config, 3, || {})?, |totals| totals.incentive);
        lines.push(Series::new(name, paid.into_iter().map(|(x, paid)| Point::new(x, paid.mean, paid.sd))));
    }
    let sweep = Sweep::read_with(include_str!("own_experiment.toml"), &parts)?;
    let output = OutputFolder::open(&folder.join("sweep"), &SWEEP)?;
    let totals = run(&sweep, Some(&output), 2, &|_| {})?;
    write_results(output, &sweep, &totals)?;
    let chart = Chart::lines("Paid to all clients", Axis::linear("step"), Axis::linear("units"), lines);
    let figure = Figure::new("payments", "Payments over time", "Mean and deviation of three seeds.", [chart]);
    figure_files(&figure)?.into_iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))?;
    Ok(())
}
