//! Figures 1a and 1b: regret, communication, incentive and social cost of all mechanisms, and of Truth-FedBan in four readings.

use truthfed_report::chart::{Axis, BarGroup, Chart, Figure, Point, Series};
use truthfed_report::page::{Section, Table};
use truthfed_sim::experiment::run_seeds;
use truthfed_sim::simulation::Run;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Cell, Claim, Evidence, Number, Sample};
use super::decision::Side;
use super::interval::Interval;
use super::lab::{
    Brief, INCENTIVE, Lab, REGRET, ROUNDS, SCALARS, SOCIAL_COST, bar, difference, differences, each, gap_over_time,
    label, mean, over_time, palette, percent_more, reading_changes, series, signed, simulate,
};
use super::readings::{READINGS, Reading, TRIGGERS, all, with_target};

/// The mechanisms that are compared with Truth-FedBan: those of the paper first.
const OTHERS: [&str; 5] = ["everyone", "greedy", "inc-feducb", "ratchet", "clock"];
/// Regret that is higher by at most so many percent counts as competitive, and so does communication.
const COMPETITIVE: Side = Side::AtMost(10.0);

/// A threshold that every step exceeds.
const EVERY_STEP: [(&str, &str); 2] = [("rounds.mechanism", "everyone"), ("rounds.threshold", "0")];

/// No client takes part in a round.
const ALONE: [(&str, &str); 1] = [("rounds.mechanism", "alone")];
/// Regret that is higher by more percent counts as terrible.
const TERRIBLE: Side = Side::Above(100.0);

/// Everything that was run in the paper's setting while all clients tell the truth.
pub(super) struct Methods {
    /// Truth-FedBan, by reading.
    pub(super) readings: Vec<Vec<Brief>>,
    /// The others with the first trigger, and greedy with the second.
    others: Vec<(&'static str, Vec<Brief>)>,
    pub(super) greedy: [Vec<Brief>; 2],
    /// All clients deliver at every step.
    every_step: Vec<Brief>,
    alone: Vec<Brief>,
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

    /// Name and runs of Truth-FedBan in each reading, then of the others.
    fn lines(&self) -> Vec<(String, &[Brief])> {
        let own = READINGS.iter().zip(&self.readings);
        let own = own.map(|(reading, runs)| (format!("{}, {}", label("truth-fedban"), reading.name), runs.as_slice()));
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
         Bands and error bars show 95 % intervals of the mean.",
        lab.steps()
    );
    let items = [
        against_greedy(&methods).into(),
        regret(&methods).into(),
        communication(&methods).into(),
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
        every_step: lab.briefs(&EVERY_STEP, lab.seeds)?,
        alone: lab.briefs(&ALONE, lab.seeds)?,
        others,
        recorded,
    })
}

/// What Truth-FedBan pays and costs more than greedy, in percent of greedy.
fn against_greedy(methods: &Methods) -> Figure {
    let chart = |title: &str, figure: fn(&Totals) -> f64| {
        let group = |(reading, runs): (&Reading, &Vec<Brief>)| {
            let greedy = methods.greedy(reading);
            let scale = 100.0 / mean(greedy, figure).mean;
            let beyond = differences(runs, greedy, figure, scale);
            BarGroup::new(reading.name, [bar(label("truth-fedban"), beyond, signed)])
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

/// The regret of everyone, and for each other line how far it is from that, on one scale.
fn regret(methods: &Methods) -> Figure {
    let (name, everyone) = (label("everyone"), methods.of("everyone"));
    let step = || Axis::linear("step");
    let whole = series(&name, over_time(everyone, REGRET));
    let beyond = |(name, runs): (String, &[Brief])| series(name, gap_over_time(runs, everyone, REGRET));
    let others = methods.lines().into_iter().filter(|(line, _)| *line != name);
    let others: Vec<Series> = others.map(beyond).collect();
    let points = || others.iter().flat_map(|line| &line.points);
    let error = |point: &Point| if point.error.is_finite() { point.error } else { 0.0 };
    let low = points().map(|point| point.mean - error(point)).fold(0.0, f64::min);
    let high = points().map(|point| point.mean + error(point)).fold(0.0, f64::max);
    let y = || Axis::linear("beyond everyone's").covering(low, high);
    let first = Chart::lines("", step(), Axis::linear("cumulative regret"), [whole]);
    let charts = std::iter::once(first).chain(others.into_iter().map(|line| Chart::lines("", step(), y(), [line])));
    let caption = "Regret of Figure 1a of the paper, with more mechanisms: that of everyone, who share all data, and how far each \
                   other is from it, seed by seed on one scale, with 95 % intervals. Most regret is lost before the first round, \
                   whatever the mechanism.";
    Figure::new("figure-1a", "Regret over time", caption, charts).in_columns(3).with_palette(palette())
}

fn communication(methods: &Methods) -> Figure {
    let bars =
        methods.lines().into_iter().map(|(name, runs)| bar(name, each(runs, SCALARS), |mean| format!("{mean:.0}")));
    let chart = Chart::bars("", Axis::log("scalars sent"), [BarGroup::new("", bars)]);
    let caption = "Communication of Figure 1a of the paper, with more mechanisms, in scalars: in each round every client sends a \
                   matrix and receives a matrix and a moment, and every winner sends a moment. Readings C and D count since the \
                   last delivery, the others since the last round.";
    Figure::new("figure-1a-communication", "Communication", caption, [chart]).with_palette(palette())
}

fn money(methods: &Methods) -> Figure {
    let chart = |title: &str, figure: fn(&Totals) -> f64| {
        let paying = methods.lines().into_iter().filter(|(_, runs)| mean(runs, figure).mean > 0.0);
        let bars = paying.map(|(name, runs)| bar(name, each(runs, figure), |mean| format!("{mean:.0}")));
        Chart::bars(title, Axis::linear("units of money"), [BarGroup::new("", bars)])
    };
    let caption = "Figure 1b of the paper, with more mechanisms. Incentive is what the coordinator pays in total, social cost \
                   the true cost of those who take part. Everyone is paid nothing.";
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
        every_step(lab, methods),
        alone(lab, methods),
        cheaper(lab, methods, "cheaper-incentive", "pays less", INCENTIVE),
        cheaper(lab, methods, "cheaper-social-cost", "has a lower social cost", SOCIAL_COST),
        overpays(lab, methods),
    ]
}

/// A cell for each reading, decided by its numbers.
fn by_reading(lab: &Lab, cell: impl Fn(usize, &Reading) -> (String, Vec<Number>)) -> Vec<Cell> {
    let cell = |(place, reading): (usize, &Reading)| {
        let (measured, numbers) = cell(place, reading);
        let command = simulate(&reading_changes(reading, &[]), lab.seeds);
        Evidence::new(measured, numbers, Sample::runs(lab.seeds), command).under(vec![reading.name])
    };
    READINGS.iter().enumerate().map(cell).collect()
}

fn competitive_regret(lab: &Lab, methods: &Methods) -> Claim {
    let everyone = methods.of("everyone");
    let cells = by_reading(lab, |place, _| {
        let runs = &methods.readings[place];
        let more = percent_more(runs, everyone, REGRET);
        let words = format!(
            "regret {} against {} of everyone; seed by seed {} %",
            mean(runs, REGRET).words(),
            mean(everyone, REGRET).words(),
            more.signed()
        );
        (words, vec![Number::deciding("regret over that of everyone, %", more, COMPETITIVE)])
    });
    let claim = "Truth-FedBan has a regret competitive with DisLinUCB (at most a tenth more).";
    let why = "The normalised target asks for less data, and that costs regret.";
    Claim::new("competitive-regret", "Figure 1a", claim, why, cells)
}

fn competitive_communication(lab: &Lab, methods: &Methods) -> Claim {
    let everyone = methods.of("everyone");
    let cells = by_reading(lab, |place, _| {
        let runs = &methods.readings[place];
        let more = percent_more(runs, everyone, SCALARS);
        let words = format!(
            "{} scalars against {} of everyone; seed by seed {} %",
            mean(runs, SCALARS).words(),
            mean(everyone, SCALARS).words(),
            more.signed()
        );
        (words, vec![Number::deciding("scalars over those of everyone, %", more, COMPETITIVE)])
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
        let numbers = vec![Number::deciding("regret since-delivery minus since-round", change, Side::Below(0.0))];
        let is_often = |reading: &&Reading| reading.target == target && reading.trigger == TRIGGERS[1];
        let often = READINGS.iter().find(is_often).expect("all pairs are readings");
        let command =
            format!("{}  # and with rounds.trigger={}", simulate(&reading_changes(often, &[]), lab.seeds), TRIGGERS[0]);
        Evidence::new(measured, numbers, Sample::runs(lab.seeds), command).under(with_target(target))
    };
    let claim = "More frequent communication leads to lower regret.";
    let cells = super::readings::TARGETS.map(cell).to_vec();
    Claim::new("more-often", "Section 3", claim, "Compared within a reading of the target.", cells)
}

/// Everyone delivers at every step: the centralised setting.
fn every_step(lab: &Lab, methods: &Methods) -> Claim {
    let (central, everyone) = (&methods.every_step, methods.of("everyone"));
    let sent = difference(central, everyone, SCALARS);
    let cells = by_reading(lab, |place, _| {
        let [of_everyone, own] = [everyone, &methods.readings[place]].map(|runs| difference(central, runs, REGRET));
        let words = format!(
            "regret {} with {} scalars if all share at every step; seed by seed {} against everyone, {} against Truth-FedBan, and \
             {} scalars",
            mean(central, REGRET).words(),
            mean(central, SCALARS).words(),
            of_everyone.signed(),
            own.signed(),
            sent.signed()
        );
        let numbers = vec![
            Number::deciding("regret minus that of everyone", of_everyone, Side::Below(0.0)),
            Number::deciding("regret minus that of Truth-FedBan", own, Side::Below(0.0)),
            Number::deciding("scalars minus those of everyone", sent, Side::Above(0.0)),
        ];
        (words, numbers)
    });
    let command = simulate(&EVERY_STEP, lab.seeds);
    let cells = cells.into_iter().map(|cell| cell.with_command(&command)).collect();
    let claim = "Communicating at every step leads to the lowest regret, at a high communication cost.";
    Claim::new("every-step", "Section 3", claim, "", cells)
}

fn alone(lab: &Lab, methods: &Methods) -> Claim {
    let (alone, everyone) = (&methods.alone, methods.of("everyone"));
    let more = percent_more(alone, everyone, REGRET);
    let measured = format!(
        "regret {} if each client learns alone, {} of everyone; seed by seed {} %",
        mean(alone, REGRET).words(),
        mean(everyone, REGRET).words(),
        more.signed()
    );
    let numbers = vec![Number::deciding("regret over that of everyone, %", more, TERRIBLE)];
    let evidence = Evidence::new(measured, numbers, Sample::runs(lab.seeds), simulate(&ALONE, lab.seeds));
    let claim = "If no client takes part, regret is terrible (more than twice that of DisLinUCB).";
    Claim::new("alone", "Section 3", claim, "", vec![evidence.under(all())])
}

fn overpays(lab: &Lab, methods: &Methods) -> Claim {
    let cells = by_reading(lab, |place, _| {
        let runs = &methods.readings[place];
        let (paid, cost) = (mean(runs, INCENTIVE), mean(runs, SOCIAL_COST));
        let more = Interval::paired(&each(runs, INCENTIVE), &each(runs, SOCIAL_COST));
        let words = format!("paid {} for true costs of {}; seed by seed {}", paid.words(), cost.words(), more.signed());
        (words, vec![Number::deciding("paid beyond true costs", more, Side::Above(0.0))])
    });
    let claim = "To be truthful, the coordinator must pay the winners more than their true costs.";
    Claim::new(
        "overpays",
        "Section 3",
        claim,
        "In total over a run; a single winner can be paid less (Theorem 8).",
        cells,
    )
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
            Number::deciding("difference", more, Side::Below(0.0)),
        ];
        (words, numbers)
    });
    let claim = format!("Truth-FedBan {what} than plain greedy.");
    let why = "Normalised, the target asks for less than greedy must buy; printed, for more. Since-delivery, doubling budgets \
               overshoot in every one of many rounds.";
    Claim::new(id, "Figure 1b", claim, why, cells)
}
