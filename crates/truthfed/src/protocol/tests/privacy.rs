//! What single observations can be read from what others see: offers and their differences (the coordinator), differences of
//! snapshots (another member).

use super::*;
use crate::generate::Stream;

const DIMENSION: usize = 3;
const NAMES: [&str; 3] = ["ann", "bob", "cat"];
const STEPS: usize = 60;

/// What a run showed of ann's 60 observations.
struct Run {
    contexts: Vec<Vec<f64>>,
    /// As the coordinator got them.
    offers: Vec<Gram>,
    /// As cat knows them: what is settled after each round, without what cat delivered.
    others: Vec<Gram>,
    rounds: usize,
}

/// Everyone learns in turn, ann most, and a round opens whenever anybody has enough.
fn run(least_samples: SamplesSetting, seed: u64) -> Run {
    let trigger = Trigger { threshold: 0.0, ..raw_terms(DIMENSION).trigger };
    let terms = Terms::try_from(RawTerms { least_samples, trigger, ..raw_terms(DIMENSION) }).unwrap();
    let mut coordinator = Coordinator::new(terms.clone(), Box::new(Clock), NAMES.map(id));
    let mut members = NAMES.map(|name| Member::under(&terms, id(name)));
    let mut stream = Stream::new(seed, 0);
    let mut run = Run { contexts: Vec::new(), offers: Vec::new(), others: Vec::new(), rounds: 0 };
    let mut of_cat = Statistics::new(DIMENSION).unwrap();
    for step in 0..STEPS {
        let learning = if step % 4 == 0 { stream.between(0, 2) } else { 0 };
        let context = stream.context(DIMENSION);
        members[learning].learn(&context, stream.uniform()).unwrap();
        if learning == 0 {
            run.contexts.push(context);
        }
        let ask = Amount::from_units(stream.between(1, 90) as u32);
        members[learning].open_round(None, &mut Fixed(ask));
        let ended = exchange(&mut coordinator, &mut members, 1000 * step as u64, |from, request| match request {
            Request::Offer { offer, .. } if from == 0 => run.offers.push(offer.gram.clone()),
            _ => {}
        });
        for record in ended {
            let Ending::Settled { paid, .. } = record.ending else { panic!("{record:?}") };
            run.rounds += 1;
            if paid.iter().any(|(client, _)| *client == id("cat")) {
                of_cat = coordinator.shares()[&id("cat")].confirmed.clone();
            }
            run.others.push(minus(coordinator.settled().gram(), of_cat.gram()));
        }
    }
    run
}

/// Carries messages until nobody has anything to say; the rounds that ended.
fn exchange(
    coordinator: &mut Coordinator,
    members: &mut [Member],
    now: u64,
    mut see: impl FnMut(usize, &Request),
) -> Vec<RoundRecord> {
    let mut ended = Vec::new();
    loop {
        let mut is_quiet = true;
        for (number, member) in members.iter_mut().enumerate() {
            while let Some(request) = member.poll() {
                is_quiet = false;
                see(number, &request);
                let _ = coordinator.handle(Time(now), Input::Request(member.id().clone(), request));
            }
        }
        while let Some(output) = coordinator.poll() {
            is_quiet = false;
            for member in members.iter_mut().filter(|member| output.concerns(member.id())) {
                for notice in coordinator.notices(member.id(), Some(member.closed())) {
                    member.handle(notice, &mut Fixed(Amount::from_units(30))).unwrap();
                }
            }
            if let Output::Ended(record) = output {
                ended.push(*record);
            }
        }
        if is_quiet {
            return ended;
        }
    }
}

fn minus(a: &Gram, b: &Gram) -> Gram {
    Gram::from_sums(a.lower().iter().zip(b.lower()).map(|(a, b)| a - b).collect()).unwrap()
}

/// How many of the contexts are read, up to their sign, from matrices that are the square of a single one.
fn read(contexts: &[Vec<f64>], shown: &[Gram]) -> usize {
    let is_of = |context: &Vec<f64>, gram: &Gram| {
        let squares = (0..DIMENSION).flat_map(|i| (0..=i).map(move |j| (i, j)));
        gram.lower().iter().zip(squares).all(|(entry, (i, j))| (entry - context[i] * context[j]).abs() < 1e-9)
    };
    contexts.iter().filter(|context| shown.iter().any(|gram| is_of(context, gram))).count()
}

/// Everything shown, and all differences of it.
fn combined(shown: &[Gram]) -> Vec<Gram> {
    let differences = (0..shown.len()).flat_map(|a| (0..a).map(move |b| minus(&shown[a], &shown[b])));
    shown.iter().cloned().chain(differences).collect()
}

#[test]
fn single_observations_can_be_read_from_offers_of_any_size_and_from_none_of_the_least_size() {
    let (mut by_coordinator, mut by_member, mut in_all, mut rounds) = (0, 0, 0, 0);
    for seed in 0..20 {
        let any = run(SamplesSetting::none(), seed);
        by_coordinator += read(&any.contexts, &combined(&any.offers));
        by_member += read(&any.contexts, &combined(&any.others));
        in_all += any.contexts.len();
        let least = run(SamplesSetting::auto(), seed);
        assert_eq!(read(&least.contexts, &combined(&least.offers)), 0, "seed {seed}, by the coordinator");
        assert_eq!(read(&least.contexts, &combined(&least.others)), 0, "seed {seed}, by another member");
        rounds += least.rounds;
    }
    assert!(by_coordinator * 10 > in_all * 9, "the coordinator read {by_coordinator} of {in_all}");
    assert!(by_member > in_all / 20, "another member read {by_member} of {in_all}");
    assert!(rounds > 20, "{rounds} rounds with a least size");
}

#[test]
fn whatever_is_sold_or_lost_offers_differ_by_none_or_at_least_so_many_samples() {
    let least = 2 * DIMENSION as u64;
    let terms = Terms::try_from(RawTerms { least_samples: SamplesSetting::auto(), ..raw_terms(DIMENSION) }).unwrap();
    assert_eq!(terms.least_samples(), least);
    for seed in 0..50 {
        let mut stream = Stream::new(seed, 1);
        let mut member = Member::under(&terms, id("m"));
        let (mut closed, mut last) = (RoundId(0), 0);
        for _ in 0..200 {
            for _ in 0..stream.between(0, 9) {
                member.learn(&stream.context(DIMENSION), 0.5).unwrap();
            }
            let most = stream.chance(0.3).then(|| stream.between(0, 60) as u64);
            let round = RoundId(closed.0 + 1);
            member.handle(Notice::Opened(round, most), &mut Fixed(Amount::ZERO)).unwrap();
            let offered = member.in_flight().map_or(0, |in_flight| in_flight.statistics().samples());
            assert_eq!(offered % least, 0, "whole blocks only");
            assert!(offered <= most.unwrap_or(u64::MAX));
            let difference = offered.abs_diff(last);
            assert!(difference == 0 || difference >= least, "{last} and then {offered}");
            let is_sold = stream.chance(0.3) && offered > 0;
            (closed, last) = (round, offered);
            let settled = is_sold.then_some(round);
            let statistics = Statistics::new(DIMENSION).unwrap();
            let snapshot = Snapshot { closed, settled, statistics, own: None };
            member.handle(Notice::Snapshot(snapshot), &mut Fixed(Amount::ZERO)).unwrap();
        }
    }
}

#[test]
fn offers_of_fewer_samples_are_refused_and_terms_name_the_bound() {
    let raw = RawTerms { least_samples: SamplesSetting::auto(), ..raw_terms(1) };
    let mut coordinator =
        Coordinator::new(Terms::try_from(raw.clone()).unwrap(), Box::new(Everyone), [id("a"), id("b")]);
    check_refused(&mut coordinator, 0, "a", offer("a", 1.0, 1, 5), "has 1 samples, at least 2 are taken at a time");
    send(&mut coordinator, 0, "a", offer("a", 1.0, 2, 5)).unwrap();
    let refused = |least_samples| {
        let error = Terms::try_from(RawTerms { least_samples, samples: 1, ..raw.clone() }).unwrap_err();
        (error.key(), error.to_string())
    };
    let (key, problem) = refused(SamplesSetting::auto());
    assert_eq!(
        (key.as_str(), problem.as_str()),
        ("least_samples", "least_samples is 2: it must lie in 0..=1, the most samples in an offer")
    );
    let (key, problem) = refused(SamplesSetting::Rule("few".to_owned()));
    assert_eq!(
        (key.as_str(), problem.as_str()),
        ("least_samples", "least_samples is `few`: it must be a number of samples, or `auto`")
    );
}
