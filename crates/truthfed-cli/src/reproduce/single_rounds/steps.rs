//! The steps of Algorithms 1, 2 and 7: what the proofs say of them, and how many they are.

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::{Clock, Greedy, Mechanism, Round, Seat};
use truthfed::generate::federation;
use truthfed_report::chart::{Axis, Chart, Figure};

use super::super::claim::{Claim, Evidence, Number};
use super::super::interval::Interval;
use super::super::lab::{Lab, palette, series};
use super::super::literal;
use super::super::readings::{TARGETS, flags, truth_fedban, with_target};
use super::{Found, REPRODUCE, ROUNDING, Statement, asks, budgets, is_searched, sample, total, wins};

/// A client alone: the bound of Appendix H says that no budget is tried.
pub(in crate::reproduce) const ALONE: &str = include_str!("../counterexamples/alone.json");

/// The tolerance of the paper's bisection, in micro-units.
const GAMMA: i64 = 1_000_000;

pub(super) fn claims(rounds: &[Round], growth: &Growth) -> Vec<Claim> {
    vec![
        submodular(rounds),
        fixed_budget(rounds),
        more_budget(rounds),
        critical_below_budget(rounds),
        bisection(rounds),
        budgets_tried(rounds),
        work(rounds, growth),
    ]
}

fn submodular(rounds: &[Round]) -> Claim {
    let claim = "g is submodular: the more is bought, the less a client adds.";
    let statement = Statement::new("submodular", "Definition 11", claim, "gains rise as the set grows");
    statement.search(rounds, REPRODUCE, |round| {
        let order: Vec<Seat> = round.seats().collect();
        let Some(&last) = order.last() else { return (0, 0) };
        let gain = |seats: &[Seat]| (literal::level(round, &[seats, &[last]].concat()) - round.level(seats)).to_nats();
        let gains: Vec<f64> = (0..order.len()).map(|count| gain(&order[..count])).collect();
        (gains.len() - 1, gains.windows(2).filter(|pair| pair[1] > pair[0] + ROUNDING).count())
    })
}

fn fixed_budget(rounds: &[Round]) -> Claim {
    let claim = "Algorithm 2 is monotone for a fixed budget.";
    let statement =
        Statement::new("fixed-budget", "Section 4.2", claim, "clients at a fixed budget lose by asking less");
    statement.search(rounds, REPRODUCE, |round| {
        let asks: Vec<Amount> = asks(round).into_iter().step_by(4).collect();
        let cases = round.seats().flat_map(|seat| [1, 2, 3].map(|quarter| (seat, total(round) * quarter / 4)));
        let cases: Vec<(Seat, i64)> = cases.collect();
        let is_broken = |(seat, budget): &&(Seat, i64)| {
            let wins = |ask: &Amount| {
                literal::greedy(&round.with_ask(round.client(*seat), *ask), *budget, None).contains(seat)
            };
            asks.iter().map(wins).collect::<Vec<_>>().windows(2).any(|pair| !pair[0] && pair[1])
        };
        (cases.len(), cases.iter().filter(is_broken).count())
    })
}

fn more_budget(rounds: &[Round]) -> Claim {
    let claim = "A larger budget of Algorithm 2 buys the same clients or more information.";
    let statement = Statement::new(
        "more-budget",
        "Lemma 12",
        claim,
        "pairs of budgets buy other clients with no more information for the larger one",
    )
    .because(
        "That does not make Algorithm 1 monotone: a lower ask changes what a given budget buys. Clients that add nothing are not \
         bought here; Algorithm 2 as printed buys them, and then the same information with more clients.",
    );
    statement.search(rounds, REPRODUCE, |round| {
        let bought: Vec<Vec<Seat>> = budgets(round).map(|budget| literal::greedy(round, budget, None)).collect();
        let is_broken = |pair: &&[Vec<Seat>]| {
            let same = pair[0].len() == pair[1].len() && pair[0].iter().all(|seat| pair[1].contains(seat));
            !same && literal::level(round, &pair[1]) <= literal::level(round, &pair[0])
        };
        (bought.len() - 1, bought.windows(2).filter(is_broken).count())
    })
}

fn critical_below_budget(rounds: &[Round]) -> Claim {
    let claim = "No client wins with an ask above the budget at which Algorithm 1 stops without it.";
    let statement = Statement::new(
        "below-budget",
        "Appendix G.3",
        claim,
        "clients win with an ask above the budget b without them",
    );
    statement.search_by_target(rounds, REPRODUCE, |round, target| {
        let mechanism = truth_fedban(target, &[]);
        let above = |seat: Seat| {
            let stop = literal::search(round, target, Some(seat))?;
            let ask = Amount::from_micros(stop.budget + 1).filter(|ask| *ask <= round.reserve())?;
            Some(wins(mechanism.as_ref(), round, seat, ask))
        };
        let tried: Vec<bool> = round.seats().filter_map(above).collect();
        (tried.len(), tried.iter().filter(|wins| **wins).count())
    })
}

fn bisection(rounds: &[Round]) -> Claim {
    let claim = "The bisection of Algorithm 7 takes at most ⌈log2(b / γ)⌉ steps, so payments take polynomial time.";
    let statement = Statement::new(
        "bisection-steps",
        "Lemma 6, Appendix G.3",
        claim,
        "bisections take more than ⌈log2(b / γ)⌉ steps",
    );
    statement.search_by_target(rounds, REPRODUCE, |round, target| {
        let budget = |seat: Seat| Some(literal::search(round, target, Some(seat))?.budget);
        let budgets: Vec<i64> = round.seats().filter_map(budget).collect();
        let bound = |budget: i64| libm::ceil(libm::log2(budget as f64 / GAMMA as f64)).max(0.0);
        let over = budgets.iter().filter(|b| literal::bisection_steps(**b, GAMMA) as f64 > bound(**b));
        (budgets.len(), over.count())
    })
}

fn budgets_tried(rounds: &[Round]) -> Claim {
    let claim = "Algorithm 1 tries at most ⌈log(ΣD / b0)⌉ budgets, to the base of 1 + ε.";
    let violation = "searches try more budgets than the bound";
    let statement = Statement::new("budgets-tried", "Appendix H", claim, violation).because(
        "A client alone takes one budget where the bound says none. It holds otherwise if a budget may be spent whole; if not, \
         equal asks can take one budget more.",
    );
    let cell = |target: &'static str| {
        let is_over = |round: &Round| {
            let stop = literal::search(round, target, None)?;
            let smallest = round.seats().map(|seat| round.ask(seat).micros()).min().unwrap_or(1);
            Some(stop.steps as f64 > libm::ceil(libm::log2(total(round) as f64 / smallest as f64)))
        };
        let is_alone = |round: &Round| round.seats().count() == 1;
        let count = |alone: bool| {
            let of = rounds.par_iter().filter(|round| is_alone(round) == alone && is_searched(round, target));
            let over: Vec<bool> = of.filter_map(is_over).collect();
            (over.len(), over.into_iter().filter(|over| *over).count())
        };
        let (alone, together) = (count(true), count(false));
        let found = Found {
            more: format!(
                ": {} of {} with a single client, {} of {} with two or more",
                alone.1, alone.0, together.1, together.0
            ),
            numbers: vec![
                Number::share("violations by a single client", alone.1, alone.0),
                Number::share("violations by two or more", together.1, together.0),
            ],
            ..(alone.0 + together.0, alone.1 + together.1).into()
        };
        let command = format!("truthfed auction counterexamples/alone.json -m truth-fedban {}", flags(target));
        statement.judge(with_target(target), found, sample(rounds), command)
    };
    Claim::new(statement.id, statement.source, statement.claim, statement.why, TARGETS.map(cell).to_vec())
}

/// For each mechanism, log determinants to select by number of clients, in rounds under seeds from 1. Those of Truth-FedBan by
/// target come first.
pub(super) type Growth = Vec<Counted>;
/// A name, and counts by number of clients and seed.
type Counted = (String, Vec<(f64, Vec<f64>)>);

pub(super) fn selection_growth(lab: &Lab) -> Growth {
    let sizes: &[usize] = if lab.quick { &[25, 50, 100] } else { &[25, 50, 100, 200, 400] };
    let count = |name: String, mechanism: &dyn Mechanism| {
        let select = |clients: usize, seed: u64| {
            let outcome = mechanism.run(&federation(clients, 5, seed)).expect("it never refuses");
            outcome.evaluations().select as f64
        };
        let under = |clients: usize| (1..=lab.judged()).into_par_iter().map(|seed| select(clients, seed)).collect();
        (name, sizes.iter().map(|&clients| (clients as f64, under(clients))).collect())
    };
    let own = TARGETS.map(|target| count(format!("truth-fedban, {target}"), truth_fedban(target, &[]).as_ref()));
    let others = [count("greedy".to_owned(), &Greedy), count("clock".to_owned(), &Clock)];
    own.into_iter().chain(others).collect()
}

/// The exponent of the least-squares line through the logarithms.
pub(in crate::reproduce) fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (libm::log(*x), libm::log(*y))).collect();
    let n = logs.len() as f64;
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    let covariance: f64 = logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    covariance / logs.iter().map(|(x, _)| (x - mx) * (x - mx)).sum::<f64>()
}

pub(super) fn figure(growth: &Growth) -> Figure {
    let lines = growth.iter().map(|(name, points)| series(name, points.clone()));
    let (x, y) = (Axis::log("clients N"), Axis::log("log determinants"));
    let caption = "Log determinants evaluated to choose the winners of one round of N clients in dimension 5, means with 95 % intervals. Lazy \
                   evaluation keeps all nearly linear; evaluating every client at every step would be quadratic.";
    let charts = [Chart::lines("Log determinants to select", x, y, lines)];
    Figure::new("selection-work", "Work of the selection", caption, charts).with_palette(palette())
}

fn work(rounds: &[Round], growth: &Growth) -> Claim {
    let counted: Vec<(usize, usize)> = rounds
        .par_iter()
        .flat_map_iter(|round| {
            let clients = round.seats().count();
            budgets(round).map(move |budget| (literal::evaluations(round, budget), clients.pow(2)))
        })
        .collect();
    let over = counted.iter().filter(|(evaluations, bound)| evaluations > bound).count();
    let most = counted.iter().map(|(evaluations, bound)| *evaluations as f64 / *bound as f64).fold(0.0, f64::max);
    let cell = |(target, (_, points)): (&'static str, &Counted)| {
        let seeds = points.iter().map(|(_, counts)| counts.len()).min().unwrap_or(0);
        let of_seed = |seed: usize| {
            exponent(&points.iter().map(|(clients, counts)| (*clients, counts[seed])).collect::<Vec<_>>())
        };
        let lazy = Interval::of((0..seeds).map(of_seed));
        let measured = format!(
            "to the letter more than N² evaluations in {over} of {} budgets, at most {most:.2} N²; with lazy evaluation, the log \
             determinants of all budgets together grow as N to the {}, in larger rounds under {seeds} seeds",
            counted.len(),
            lazy.words()
        );
        let numbers = vec![
            Number::never("budgets with more than N² evaluations", over, counted.len()),
            Number::exact("most evaluations over N²", most),
            Number::with_interval("exponent of N with lazy evaluation", lazy),
        ];
        let command = format!("truthfed auction --generate 400,5 -m truth-fedban {}", flags(target));
        Evidence::new(measured, numbers, sample(rounds), command).under(with_target(target))
    };
    let claim = "For each budget, Algorithm 2 evaluates at most N² clients.";
    let why = "At most N at each of at most N purchases.";
    let cells = TARGETS.into_iter().zip(growth).map(cell).collect();
    Claim::new("selection-time", "Appendix H", claim, why, cells)
}
