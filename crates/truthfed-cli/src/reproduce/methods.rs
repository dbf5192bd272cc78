//! Figures 1a and 1b: regret, communication, incentive and social cost of all mechanisms, and of Truth-FedBan in four readings.

use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure};
use truthfed_report::page::{Section, Table};
use truthfed_sim::experiment::{Spread, run_seeds};
use truthfed_sim::simulation::Run;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Cell, Claim, Number, Sample};
use super::interval::Interval;
use super::lab::{
    Brief, INCENTIVE, Lab, REGRET, ROUNDS, SCALARS, SOCIAL_COST, difference, each, label, mean, palette,
    reading_changes, reproduced_if, series, signed, simulate,
};
use super::readings::{READINGS, Reading, TRIGGERS, with_target};

/// The mechanisms that are compared with Truth-FedBan: those of the paper first.
const OTHERS: [&str; 5] = ["everyone", "greedy", "inc-feducb", "ratchet", "clock"];
/// Regret within a tenth counts as competitive, and so does communication.
const COMPETITIVE: f64 = 0.1;

/// Everything that was run in the paper's setting while all clients tell the truth.
pub(super) struct Methods {
    /// Truth-FedBan, by reading.
    pub(super) readings: Vec<Vec<Brief>>,
    /// The others with the first trigger, and greedy with the second.
    others: Vec<(&'static str, Vec<Brief>)>,
    pub(super) greedy: [Vec<Brief>; 2],
    /// Rounds of a few runs of each mechanism, with the first trigger.
    pub(super) recorded: Vec<(&'static str, Vec<Run>)>,
}

impl Methods {
    fn of(&self, method: &str) -> &[Brief] {
        &self.others.iter().find(|(name, _)| *name == method).expect("a method compared").1
    }

    /// Greedy with the trigger of a reading.
    pub(super) fn greedy(&self, reading: &Reading) -> &[Brief] {
        &self.greedy[usize::from(reading.trigger == TRIGGERS[1])]
    }

    /// Name and runs of each line of the figures: readings A and B, then the others.
    fn lines(&self) -> Vec<(String, &[Brief])> {
        let own = [(label("truth-fedban"), 0), (format!("{}, printed target", label("truth-fedban")), 1)];
        let own = own.into_iter().map(|(name, reading)| (name, self.readings[reading].as_slice()));
        own.chain(self.others.iter().map(|(name, runs)| (label(name), runs.as_slice()))).collect()
    }
}

pub(super) fn run(lab: &Lab) -> Result<(Part, Methods), WorldError> {
    lab.stage("comparing mechanisms");
    let methods = measure(lab)?;
    let text = format!(
        "This section compares mechanisms in the paper's setting: 25 clients that act in turn, dimension 5, {} steps, \
         25 of 1000 arms at each step, costs 1e-4 det(gram) + U(0, 100), coverage 0.5, clients that count since the last \
         round. Under one seed all mechanisms see the same arms and the same noise, so differences are taken seed by seed. \
         Bands show the standard deviation over the seeds, error bars 95 % intervals of the mean.",
        lab.steps()
    );
    let items = [
        differences(&methods).into(),
        regret_and_communication(&methods).into(),
        money(&methods).into(),
        table(&methods).into(),
    ];
    let section = Section::new("mechanisms", "Mechanisms compared", [text], items);
    let claims = claims(lab, &methods);
    Ok((Part { section, claims, ours: Vec::new() }, methods))
}

fn measure(lab: &Lab) -> Result<Methods, WorldError> {
    let reading = |reading: &Reading| lab.briefs(&reading_changes(reading, &[]), lab.seeds);
    let other = |name: &'static str| Ok((name, lab.briefs(&[("rounds.mechanism", name)], lab.seeds)?));
    let since_delivery = [("rounds.mechanism", "greedy"), ("rounds.trigger", TRIGGERS[1])];
    let others: Vec<(&str, Vec<Brief>)> = OTHERS.into_iter().map(other).collect::<Result<_, WorldError>>()?;
    let greedy = others.iter().find(|(name, _)| *name == "greedy").expect("it is among them").1.clone();
    let record = |name: &'static str| {
        let config = lab.config(&[("rounds.mechanism", name)]);
        Ok((name, run_seeds(&config, lab.few(), || {})?))
    };
    let recorded = ["truth-fedban"].into_iter().chain(OTHERS).map(record).collect::<Result<_, WorldError>>()?;
    Ok(Methods {
        readings: READINGS.iter().map(reading).collect::<Result<_, _>>()?,
        greedy: [greedy, lab.briefs(&since_delivery, lab.seeds)?],
        others,
        recorded,
    })
}

/// What Truth-FedBan pays and costs more than greedy, in percent of greedy.
fn differences(methods: &Methods) -> Figure {
    let chart = |title: &str, figure: fn(&Totals) -> f64| {
        let group = |(reading, runs): (&Reading, &Vec<Brief>)| {
            let greedy = methods.greedy(reading);
            let scale = 100.0 / mean(greedy, figure).mean;
            let Interval { mean, half } = difference(runs, greedy, figure);
            let (height, sd) = (scale * mean, scale * half);
            let bar = Bar { name: label("truth-fedban"), height, sd, label: Some(signed(height)) };
            BarGroup::new(reading.name, [bar])
        };
        let groups = READINGS.iter().zip(&methods.readings).map(group);
        Chart::bars(title, Axis::linear("over greedy, %"), groups)
    };
    let caption = "What Truth-FedBan pays and costs beyond greedy with the same trigger, seed by seed, in percent of greedy, \
                   with 95 % intervals. Below zero it is cheaper, as Figure 1b of the paper has it.";
    let charts = [chart("Incentive", INCENTIVE), chart("Social cost", SOCIAL_COST)];
    let title = "Truth-FedBan against greedy in each reading";
    Figure::new("against-greedy", title, caption, charts).in_columns(2).with_palette(palette())
}

fn regret_and_communication(methods: &Methods) -> Figure {
    let chart = |title: &str, y: &str, figure: fn(&Totals) -> f64| {
        let lines = methods.lines().into_iter().map(|(name, runs)| series(name, over_time(runs, figure)));
        Chart::lines(title, Axis::linear("step"), Axis::linear(y), lines)
    };
    let caption = "Figure 1a of the paper, with more mechanisms. Communication is counted in scalars: in each round every client \
                   sends a matrix and receives a matrix and a moment, and every winner sends a moment. That the lines lie on \
                   each other is the finding: most regret is lost before the first round.";
    let charts = [chart("Regret", "cumulative regret", REGRET), chart("Communication", "scalars sent", SCALARS)];
    let title = "Regret and communication over time";
    Figure::new("figure-1a", title, caption, charts).in_columns(2).with_palette(palette())
}

fn over_time(runs: &[Brief], figure: fn(&Totals) -> f64) -> Vec<(f64, Spread)> {
    let moments = runs.iter().map(|run| run.curve.len()).min().unwrap_or(0);
    let at = |moment: usize| {
        let spread = Spread::of(runs.iter().map(|run| figure(&run.curve[moment])));
        (runs[0].curve[moment].steps as f64, spread)
    };
    (0..moments).map(at).collect()
}

fn money(methods: &Methods) -> Figure {
    let chart = |title: &str, figure: fn(&Totals) -> f64| {
        let bar = |(name, runs): (String, &[Brief])| {
            let Interval { mean, half } = mean(runs, figure);
            Bar { name, height: mean, sd: half, label: Some(format!("{mean:.0}")) }
        };
        Chart::bars(title, Axis::linear("units of money"), [BarGroup::new("", methods.lines().into_iter().map(bar))])
    };
    let caption = "Figure 1b of the paper, with more mechanisms. Incentive is what the coordinator pays in total, social cost \
                   the true cost of those who take part.";
    let charts = [chart("Incentive", INCENTIVE), chart("Social cost", SOCIAL_COST)];
    Figure::new("figure-1b", "Incentive and social cost", caption, charts).in_columns(2).with_palette(palette())
}

fn table(methods: &Methods) -> Table {
    let packed = |totals: &Totals| totals.packed_scalars as f64;
    let winners = |totals: &Totals| totals.participations as f64 / totals.rounds.max(1) as f64;
    let figures: [fn(&Totals) -> f64; 7] = [REGRET, ROUNDS, SCALARS, packed, winners, SOCIAL_COST, INCENTIVE];
    let row = |name: String, runs: &[Brief]| -> Vec<String> {
        std::iter::once(name).chain(figures.map(|figure| mean(runs, figure).words())).collect()
    };
    let own = READINGS.iter().zip(&methods.readings);
    let own = own.map(|(reading, runs)| row(format!("{}, reading {}", label("truth-fedban"), reading.name), runs));
    let others = methods.others.iter().map(|(name, runs)| row(label(name), runs));
    let since_delivery = row("greedy, since-delivery".to_owned(), &methods.greedy[1]);
    let header = ["mechanism", "regret", "rounds", "scalars", "packed", "winners / round", "social cost", "incentive"];
    let caption = "Means over the seeds with 95 % intervals.";
    Table::new(caption, header, own.chain(others).chain([since_delivery])).with_numeric(1..header.len())
}

/// For the terminal: regret, scalars, social cost and incentive, each a mean over the seeds.
pub(super) fn summary(methods: &Methods) -> Vec<Vec<String>> {
    let row = |name: String, runs: &[Brief]| {
        let mean = |figure: fn(&Totals) -> f64| mean(runs, figure).mean;
        vec![
            name,
            format!("{:.2}", mean(REGRET)),
            format!("{:.0}", mean(SCALARS)),
            format!("{:.0}", mean(SOCIAL_COST)),
            format!("{:.0}", mean(INCENTIVE)),
        ]
    };
    let own = READINGS.iter().zip(&methods.readings);
    let own = own.map(|(reading, runs)| row(format!("truth-fedban, {}", reading.name), runs));
    own.chain(methods.others.iter().map(|(name, runs)| row((*name).to_owned(), runs))).collect()
}

fn claims(lab: &Lab, methods: &Methods) -> Vec<Claim> {
    vec![
        competitive_regret(lab, methods),
        competitive_communication(lab, methods),
        more_often(lab, methods),
        cheaper(lab, methods, "cheaper-incentive", "pays less", INCENTIVE),
        cheaper(lab, methods, "cheaper-social-cost", "has a lower social cost", SOCIAL_COST),
    ]
}

/// A cell for each reading.
pub(super) fn by_reading(lab: &Lab, cell: impl Fn(usize, &Reading) -> (bool, String, Vec<Number>)) -> Vec<Cell> {
    let cell = |(place, reading): (usize, &Reading)| {
        let (holds, measured, numbers) = cell(place, reading);
        let command = simulate(&reading_changes(reading, &[]), lab.seeds);
        let (verdict, sample) = (reproduced_if(holds), Sample::runs(lab.seeds));
        Cell { readings: vec![reading.name], verdict, measured, numbers, sample, command }
    };
    READINGS.iter().enumerate().map(cell).collect()
}

fn competitive_regret(lab: &Lab, methods: &Methods) -> Claim {
    let everyone = methods.of("everyone");
    let base = mean(everyone, REGRET);
    let cells = by_reading(lab, |place, _| {
        let runs = &methods.readings[place];
        let more = difference(runs, everyone, REGRET);
        let words = format!(
            "regret {} against {} of everyone; seed by seed {}",
            mean(runs, REGRET).words(),
            base.words(),
            more.signed()
        );
        let numbers = vec![Number::with_interval("regret over that of everyone", more)];
        (more.high() <= COMPETITIVE * base.mean, words, numbers)
    });
    let claim = "Truth-FedBan has a regret competitive with DisLinUCB (at most a tenth more).";
    Claim::new("competitive-regret", "Figure 1a", claim, "Hardly any mechanism matters here for regret.", cells)
}

fn competitive_communication(lab: &Lab, methods: &Methods) -> Claim {
    let everyone = methods.of("everyone");
    let base = mean(everyone, SCALARS).mean;
    let cells = by_reading(lab, |place, _| {
        let runs = &methods.readings[place];
        let ratio = Interval::of(each(runs, SCALARS).into_iter().map(|scalars| scalars / base));
        let words = format!("{} scalars, {} times those of everyone", mean(runs, SCALARS).words(), ratio.words());
        let numbers = vec![Number::with_interval("scalars over those of everyone", ratio)];
        (ratio.high() <= 1.0 + COMPETITIVE, words, numbers)
    });
    let claim = "Truth-FedBan communicates about as much as DisLinUCB (at most a tenth more).";
    let why = "Since-delivery, whoever loses asks for a round at every step.";
    Claim::new("competitive-communication", "Figure 1a", claim, why, cells)
}

fn more_often(lab: &Lab, methods: &Methods) -> Claim {
    let cell = |target: &str| {
        let runs = |trigger: &str| {
            let is_it = |reading: &Reading| reading.target == target && reading.trigger == trigger;
            &methods.readings[READINGS.iter().position(is_it).expect("all pairs are readings")]
        };
        let (seldom, often) = (runs(TRIGGERS[0]), runs(TRIGGERS[1]));
        let change = difference(often, seldom, REGRET);
        let measured = format!(
            "{} rounds since-delivery, {} since-round; regret seed by seed {}",
            mean(often, ROUNDS).words(),
            mean(seldom, ROUNDS).words(),
            change.signed()
        );
        Cell {
            readings: with_target(target),
            verdict: reproduced_if(change.is_below(0.0)),
            measured,
            numbers: vec![Number::with_interval("regret since-delivery minus since-round", change)],
            sample: Sample::runs(lab.seeds),
            command: simulate(&[("rounds.target", target), ("rounds.mechanism", "truth-fedban")], lab.seeds),
        }
    };
    let claim = "More frequent communication leads to lower regret.";
    let cells = super::readings::TARGETS.map(cell).to_vec();
    Claim::new("more-often", "Section 3", claim, "Compared within a reading of the target.", cells)
}

fn cheaper(lab: &Lab, methods: &Methods, id: &'static str, what: &str, figure: fn(&Totals) -> f64) -> Claim {
    let cells = by_reading(lab, |place, reading| {
        let (runs, greedy) = (&methods.readings[place], methods.greedy(reading));
        let more = difference(runs, greedy, figure);
        let (own, theirs) = (mean(runs, figure), mean(greedy, figure));
        let ratio = own.mean / theirs.mean;
        let words = format!("{} against {} (×{ratio:.2}); seed by seed {}", own.words(), theirs.words(), more.signed());
        let numbers = vec![
            Number::with_interval("truth-fedban", own),
            Number::with_interval("greedy", theirs),
            Number::with_interval("difference", more),
        ];
        (more.is_below(0.0), words, numbers)
    });
    let claim = format!("Truth-FedBan {what} than plain greedy.");
    let why = "Normalised, the target asks for less than greedy must buy; printed, for more. Since-delivery, doubling budgets \
               overshoot in every one of many rounds.";
    Claim::new(id, "Figure 1b", claim, why, cells)
}
