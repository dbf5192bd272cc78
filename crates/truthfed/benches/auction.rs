//! Every mechanism with payments, on generated rounds of several sizes.
//!
//! All on one thread, so that figures compare with those of other machines and of other programs. Machines
//! are noisy, counts are exact: after the timings comes a table of the log determinants evaluated in each case, and then how
//! the fastest run and the counts grow with the number of clients.
//!
//! Making a round is not timed. Samples are taken for about a second in each case; a run that takes longer is
//! the only sample. One case alone: `cargo bench -p truthfed --bench auction -- "clock 1000,5"`.

#![allow(clippy::print_stdout, clippy::disallowed_methods)] // tables of times are what this program is for

use std::fmt;
use std::sync::Mutex;
use std::time::Instant;

use divan::Bencher;
use truthfed::auction::Evaluations;
use truthfed::auction::catalog::{self, Claim, Entry};
use truthfed::generate;

const SEED: u64 = 1;
const CLIENTS: [usize; 3] = [25, 100, 1000];
const DIMENSIONS: [usize; 2] = [5, 25];
/// Clients up to which an exact search ends soon.
const EXACT_SEARCH: usize = 25;
/// Larger rounds of the default mechanism.
const LARGE: [usize; 3] = [10_000, 100_000, 1_000_000];
/// What the timed runs took.
static COUNTS: Mutex<Vec<Count>> = Mutex::new(Vec::new());

/// A case with its number of winners, its log determinants, and the seconds of its fastest run.
struct Count {
    case: Case,
    winners: usize,
    evaluations: Evaluations,
    seconds: f64,
}

fn main() {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    one_thread.install(divan::main);
    print_counts();
}

#[divan::bench(args = cases(), max_time = 1)]
fn run(bencher: Bencher, case: &Case) {
    let round = generate::federation(case.clients, case.dimension, SEED);
    let mechanism = case.mechanism.mechanism();
    let (mut count, mut seconds) = (None, f64::INFINITY);
    bencher.bench_local(|| {
        let start = Instant::now();
        let outcome = mechanism.run(&round).expect("no case is too large");
        seconds = start.elapsed().as_secs_f64().min(seconds);
        let (winners, evaluations) = (outcome.winners().len(), outcome.evaluations());
        count = Some(Count { case: *case, winners, evaluations, seconds });
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

/// Every mechanism at every size it can take, and the default at some that are large.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mechanism in catalog::entries() {
        let most = if mechanism.claims().optimal == Claim::Yes { EXACT_SEARCH } else { usize::MAX };
        for clients in CLIENTS.into_iter().filter(|clients| *clients <= most) {
            cases.extend(DIMENSIONS.map(|dimension| Case { mechanism, clients, dimension }));
        }
    }
    let mechanism = catalog::find(catalog::DEFAULT).expect("it is listed");
    cases.extend(LARGE.map(|clients| Case { mechanism, clients, dimension: 5 }));
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
    for Count { case: Case { mechanism, clients, dimension }, winners, evaluations, .. } in counts.iter() {
        let Evaluations { select, price } = evaluations;
        let (name, size) = (mechanism.name, format!("{clients},{dimension}"));
        let (per_client, per_winner) = (*select as f64 / *clients as f64, *price as f64 / *winners as f64);
        println!("{name:<13}{size:>9}{winners:>9}{select:>9}{price:>10}{per_client:>15.1}{per_winner:>14.1}");
    }
    print_growth(&counts);
}

/// From the second smallest to the largest round of a mechanism: the exponents of the number of clients.
fn print_growth(counts: &[Count]) {
    println!("\nGrowth with the number of clients N\n");
    println!("mechanism      d               N        time  log determinants");
    for counts in counts.chunk_by(|a, b| a.case.mechanism.name == b.case.mechanism.name) {
        for dimension in DIMENSIONS {
            let of = || counts.iter().filter(|count| count.case.dimension == dimension && count.case.clients >= 100);
            let (Some(first), Some(last)) = (of().next(), of().max_by_key(|count| count.case.clients)) else {
                continue;
            };
            let (from, to) = (first.case.clients, last.case.clients);
            if from == to {
                continue;
            }
            let exponent =
                |from_work: f64, to_work: f64| libm::log(to_work / from_work) / libm::log(to as f64 / from as f64);
            let log_dets = |count: &Count| (count.evaluations.select + count.evaluations.price) as f64;
            let (time, work) = (exponent(first.seconds, last.seconds), exponent(log_dets(first), log_dets(last)));
            let (name, range) = (first.case.mechanism.name, format!("{from} to {to}"));
            println!("{name:<13}{dimension:>3}{range:>16}      N^{time:.2}            N^{work:.2}");
        }
    }
}
