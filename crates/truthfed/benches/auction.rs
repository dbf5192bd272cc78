//! Every mechanism with payments, on generated rounds of several sizes.
//!
//! All on one thread, so that figures compare with those of other machines and of other programs. Machines
//! are noisy, counts are exact: after the timings comes a table of the log determinants evaluated in each case.
//!
//! Making a round is not timed. Samples are taken for about a second in each case; a run that takes longer is
//! the only sample. One case alone: `cargo bench -p truthfed --bench auction -- "clock 1000,5"`.

#![allow(clippy::print_stdout)] // the table is what this program is for

use std::fmt;
use std::sync::Mutex;

use divan::Bencher;
use truthfed::auction::catalog::{self, Claim, Entry};
use truthfed::auction::{Evaluations, Outcome};
use truthfed::generate;

const SEED: u64 = 1;
const CLIENTS: [usize; 3] = [25, 100, 1000];
const DIMENSIONS: [usize; 2] = [5, 25];
/// Clients up to which an exact search ends soon.
const EXACT_SEARCH: usize = 25;
/// The size at which only the default mechanism is measured.
const LARGE: Size = Size { clients: 100_000, dimension: 5 };

/// What the timed runs evaluated.
static COUNTS: Mutex<Vec<Count>> = Mutex::new(Vec::new());

fn main() {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    one_thread.install(divan::main);
    print_counts();
}

#[divan::bench(args = cases(), max_time = 1)]
fn run(bencher: Bencher, case: &Case) {
    let round = generate::federation(case.size.clients, case.size.dimension, SEED);
    let mechanism = case.mechanism.mechanism();
    let mut count = None;
    bencher.bench_local(|| {
        let outcome = mechanism.run(&round).expect("no case is too large");
        count = Some(Count::new(*case, &outcome));
        outcome
    });
    COUNTS.lock().expect("nobody panicked").extend(count);
}

/// A mechanism on a round.
#[derive(Clone, Copy)]
struct Case {
    mechanism: &'static Entry,
    size: Size,
}

/// The size of a round.
#[derive(Clone, Copy)]
struct Size {
    clients: usize,
    dimension: usize,
}

/// Every mechanism at every size it can take.
fn cases() -> Vec<Case> {
    let sizes = || CLIENTS.into_iter().flat_map(|clients| DIMENSIONS.map(|dimension| Size { clients, dimension }));
    let of = |mechanism| sizes().filter(move |size| takes(mechanism, size)).map(move |size| Case { mechanism, size });
    let mut cases: Vec<Case> = catalog::entries().iter().flat_map(of).collect();
    cases.push(Case { mechanism: catalog::find(catalog::DEFAULT).expect("it is listed"), size: LARGE });
    cases
}

fn takes(mechanism: &'static Entry, size: &Size) -> bool {
    mechanism.claims().optimal != Claim::Yes || size.clients <= EXACT_SEARCH
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.mechanism.name, self.size)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.clients, self.dimension)
    }
}

/// The log determinants of one run.
struct Count {
    case: Case,
    winners: usize,
    evaluations: Evaluations,
}

impl Count {
    fn new(case: Case, outcome: &Outcome) -> Count {
        Count { case, winners: outcome.winners().len(), evaluations: outcome.evaluations() }
    }

    fn cells(&self) -> [String; 7] {
        let Evaluations { select, price } = self.evaluations;
        [
            self.case.mechanism.name.to_owned(),
            self.case.size.to_string(),
            self.winners.to_string(),
            select.to_string(),
            price.to_string(),
            per(select, self.case.size.clients),
            per(price, self.winners),
        ]
    }
}

fn per(evaluations: u64, number: usize) -> String {
    format!("{:.1}", evaluations as f64 / number as f64)
}

/// A row for each case that was timed; none when the cases were only listed.
fn print_counts() {
    let counts = COUNTS.lock().expect("nobody panicked");
    if counts.is_empty() {
        return;
    }
    println!("Log determinants evaluated\n");
    let header = ["mechanism", "N,d", "winners", "select", "price", "select/client", "price/winner"];
    print_row(&header.map(str::to_owned));
    counts.iter().for_each(|count| print_row(&count.cells()));
}

fn print_row([mechanism, size, winners, select, price, per_client, per_winner]: &[String; 7]) {
    println!("{mechanism:<13}{size:>9}{winners:>9}{select:>9}{price:>10}{per_client:>15}{per_winner:>14}");
}
