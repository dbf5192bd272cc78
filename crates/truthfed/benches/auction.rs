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
use truthfed::auction::Evaluations;
use truthfed::auction::catalog::{self, Claim, Entry};
use truthfed::generate;

const SEED: u64 = 1;
const CLIENTS: [usize; 3] = [25, 100, 1000];
const DIMENSIONS: [usize; 2] = [5, 25];
/// Clients up to which an exact search ends soon.
const EXACT_SEARCH: usize = 25;
/// What the timed runs evaluated: the case, its number of winners, log determinants.
static COUNTS: Mutex<Vec<(Case, usize, Evaluations)>> = Mutex::new(Vec::new());

fn main() {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    one_thread.install(divan::main);
    print_counts();
}

#[divan::bench(args = cases(), max_time = 1)]
fn run(bencher: Bencher, case: &Case) {
    let round = generate::federation(case.clients, case.dimension, SEED);
    let mechanism = case.mechanism.mechanism();
    let mut count = None;
    bencher.bench_local(|| {
        let outcome = mechanism.run(&round).expect("no case is too large");
        count = Some((*case, outcome.winners().len(), outcome.evaluations()));
        outcome
    });
    COUNTS.lock().expect("nobody panicked").extend(count);
}

/// A mechanism on a round of some size.
#[derive(Clone, Copy)]
struct Case {
    mechanism: &'static Entry,
    clients: usize,
    dimension: usize,
}

/// Every mechanism at every size it can take, and the default at one that is large.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mechanism in catalog::entries() {
        let most = if mechanism.claims().optimal == Claim::Yes { EXACT_SEARCH } else { usize::MAX };
        for clients in CLIENTS.into_iter().filter(|clients| *clients <= most) {
            cases.extend(DIMENSIONS.map(|dimension| Case { mechanism, clients, dimension }));
        }
    }
    let mechanism = catalog::find(catalog::DEFAULT).expect("it is listed");
    cases.push(Case { mechanism, clients: 100_000, dimension: 5 });
    cases
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {},{}", self.mechanism.name, self.clients, self.dimension)
    }
}

/// A row for each case that was timed; none when the cases were only listed.
fn print_counts() {
    let counts = COUNTS.lock().expect("nobody panicked");
    if counts.is_empty() {
        return;
    }
    println!("Log determinants evaluated\n");
    println!("mechanism          N,d  winners   select     price  select/client  price/winner");
    for (Case { mechanism, clients, dimension }, winners, Evaluations { select, price }) in counts.iter() {
        let (name, size) = (mechanism.name, format!("{clients},{dimension}"));
        let (per_client, per_winner) = (*select as f64 / *clients as f64, *price as f64 / *winners as f64);
        println!("{name:<13}{size:>9}{winners:>9}{select:>9}{price:>10}{per_client:>15.1}{per_winner:>14.1}");
    }
}
