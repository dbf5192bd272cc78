//! Small logs with a taste that users share, written as the real ones are.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;

use tempfile::NamedTempFile;
use truthfed::generate::Stream;

use super::*;
use crate::config::Config;
use crate::simulation::{Run, Simulation};

const USERS: usize = 200;
const ITEMS: usize = 120;

/// A user, an item and a value.
type Line = (usize, usize, f64);

/// Values from 1 to 5 of about 96 items by each user: `taste` of rank 3, most of it shared, and noise. 0 is noise alone.
fn ratings(taste: f64) -> Vec<Line> {
    let mut drawn = Stream::new(7, 0);
    let items: Vec<Vec<f64>> = (0..ITEMS).map(|_| drawn.normals(3)).collect();
    let mut lines = Vec::new();
    for user in 0..USERS {
        let own = drawn.normals(3);
        for (item, looks) in items.iter().enumerate() {
            let liking = looks[0] + 0.5 * looks.iter().zip(&own).map(|(a, b)| a * b).sum::<f64>();
            let value = (3.0 + taste * liking + 0.5 * drawn.normal()).round().clamp(1.0, 5.0);
            if drawn.chance(0.8) {
                lines.push((user + 1, item + 1, value));
            }
        }
    }
    lines
}

fn file(bytes: impl AsRef<[u8]>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(bytes.as_ref()).unwrap();
    file
}

fn write(lines: &[Line], header: &str, line: impl Fn(&Line) -> String) -> String {
    let lines: String = lines.iter().map(|rating| line(rating) + "\n").collect();
    format!("{header}{lines}")
}

fn u_data(lines: &[Line]) -> String {
    write(lines, "", |(user, item, value)| format!("{user}\t{item}\t{value}\t881250949"))
}

fn read(text: impl AsRef<[u8]>, liked: Liked) -> Result<Log, WorldError> {
    Log::read(file(text).path(), liked)
}

fn all_likes(log: &Log) -> Vec<&[u32]> {
    (0..log.users()).map(|user| log.likes(user)).collect()
}

#[test]
fn every_format_is_recognised_from_its_content() {
    let lines = ratings(1.0);
    let expected = read(u_data(&lines), Liked::Median).unwrap();
    assert_eq!((expected.users(), expected.items()), (USERS, ITEMS));
    let packed = |text: &String| {
        let mut bytes = Vec::new();
        crate::gzip::pack(&mut bytes, |out| out.write_all(text.as_bytes())).unwrap();
        bytes
    };
    let check = |text: String| {
        for log in [read(&text, Liked::Median).unwrap(), read(packed(&text), Liked::Median).unwrap()] {
            assert_eq!((log.users(), log.items()), (USERS, ITEMS), "{}", &text[..80]);
            assert_eq!(all_likes(&log), all_likes(&expected), "{}", &text[..80]);
        }
    };
    let csv = |(user, item, value): &Line| format!("{user},{item},{value:.1}");
    check(write(&lines, "userId,movieId,rating,timestamp\n", |line| csv(line) + ",964982703"));
    check(write(&lines, "userID\tartistID\tweight\n", |(user, item, value)| format!("{user}\t{item}\t{value}")));
    check(write(&lines, "", |(user, item, value)| format!("{user}::{item}::{value}::978300760")));
    check(write(&lines, "", csv));
    check(write(&lines, "who, what, how much\n", csv));
    check(write(&lines, "\u{feff}", csv));
    check(write(&lines, "\r\n", |line| csv(line) + "\r\n\r"));
    check(write(&lines, "", |(user, item, value)| format!("user {user}, \"item {item}\", {value}e0")));
    let quoted = |(user, item, value): &Line| format!("\"{user}, \"\"Jo\"\"\",\"{item}\" ,\"{value}\",\"x, y\"");
    check(write(&lines, "\"userId\",\"title\",\"rating\",\"note\"\n", quoted));
}

#[test]
fn liked_is_from_the_median_or_a_number_on_and_the_last_rating_counts() {
    let plays = "u,a,13883\nu,b,10\nv,a,7\nv,b,9\nv,c,11\nu,c,1\n";
    let check = |text: &str, liked, expected: [&[u32]; 2], threshold| {
        let log = read(text, liked).unwrap();
        assert_eq!((all_likes(&log), log.threshold), (expected.to_vec(), threshold));
    };
    check(plays, Liked::Median, [&[0, 1], &[2]], 10.0);
    check(plays, Liked::AtLeast(9.0), [&[0, 1], &[1, 2]], 9.0);
    check(&format!("{plays}u,a,2\nv,a,20\n"), Liked::AtLeast(9.0), [&[1], &[0, 1, 2]], 9.0);
    check("u,a,1\nv,b,1\n", Liked::Median, [&[0], &[1]], 1.0);
}

fn check_refused(text: impl AsRef<[u8]>, expected: &str) {
    let file = file(text);
    let error = Log::read(file.path(), Liked::Median).unwrap_err().to_string();
    assert_eq!(error, format!("{}{expected}", file.path().display()));
}

#[test]
fn a_faulty_line_is_named_with_file_and_field() {
    check_refused("1,2,3\n1,3\n", ", line 2: 2 fields, at least 3 are needed: user, item, value");
    check_refused("1 2 3\n", ", line 1: 1 fields, at least 3 are needed: user, item, value");
    check_refused("1,2,3\n1\t3\t4\n", ", line 2: 1 fields, at least 3 are needed: user, item, value");
    check_refused("user,item,value\n\n1,2,many\n", ", line 3: value `many` is not a number");
    check_refused("1,2,many\n", ", line 1: value `many` is not a number");
    check_refused("1,2,3\n1,3,NaN\n", ", line 2: value `NaN` is not finite");
    check_refused("1,2,3\n1,3,-inf\n", ", line 2: value `-inf` is not finite");
    check_refused("1,2,3\n1,,4\n", ", line 2: item is empty");
    check_refused(",user,item,value\n0,1,2,3\n", ", line 1: user is empty");
    check_refused("\"Wong, F,2,3\n", ", line 1: user `\"Wong, F,2,3` has an open quote");
    check_refused("1,2,3\n1,\"2\"\"\n", ", line 2: item `\"2\"\"` has an open quote");
    check_refused("1,\"2\" b,3\n", ", line 1: item `\"2\" b,3` goes on after its quote: a quote within is doubled");
    check_refused("1,\"\",3\n", ", line 1: item is empty");
    check_refused("1,\"2\"\n", ", line 1: 2 fields, at least 3 are needed: user, item, value");
    check_refused(b"1,2,3\n\xff,2,3\n", ", line 2: not UTF-8");
    check_refused(format!("1,2,3\n{}", " ".repeat(5000)), ", line 2: longer than 4096 bytes");
    check_refused("user,item,value\n", " has no ratings");
    check_refused("", " has no ratings");
}

#[test]
fn a_packed_file_that_is_cut_off_cannot_be_read() {
    let mut bytes = Vec::new();
    crate::gzip::pack(&mut bytes, |out| out.write_all(b"1,2,3\n1,3,4\n")).unwrap();
    let error = read(&bytes[..bytes.len() - 6], Liked::Median).unwrap_err();
    assert!(matches!(error, WorldError::Io { .. }), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let error = Log::read("no/such/u.data".as_ref(), Liked::Median).unwrap_err().to_string();
    assert!(error.starts_with("cannot read no/such/u.data: "), "{error}");
}

/// A configuration of a log, other keys from `section.key=value`.
fn config(log: &NamedTempFile, changes: &[&str]) -> Config {
    let log = format!("world.ratings='{}'", log.path().display());
    let all: Vec<String> = [log.as_str()].iter().chain(changes).map(|&change| change.to_owned()).collect();
    Config::read("", &all).unwrap()
}

#[test]
fn a_log_too_small_for_the_configuration_is_refused() {
    let check = |text: &str, clients, per_step, dimension, liked: &str, expected| {
        let file = file(text);
        let keys = [("clients", clients), ("arms_per_step", per_step), ("dimension", dimension)];
        let [clients, per_step, dimension] = keys.map(|(key, value)| format!("world.{key}={value}"));
        let config = config(&file, &[&clients, &per_step, &dimension, &format!("world.liked={liked}")]);
        let error = Simulation::new(&config, 1).err().expect(expected).to_string();
        assert_eq!(error, format!("{}{expected}", file.path().display()));
    };
    let log = "1,a,1\n1,b,5\n2,a,5\n2,c,1\n3,b,1\n3,c,1\n";
    check(log, 4, 2, 1, "2", " has 3 users, world.clients is 4: every client needs one");
    check(log, 1, 4, 1, "2", " has 3 items, world.arms_per_step is 4: the items shown in a step are distinct");
    check(log, 1, 2, 4, "2", " has 3 users and 3 items, world.dimension is 4: it is at most the smaller");
    check(log, 3, 2, 1, "2", ": none of the 1 users of client 2 has both an item of value 2 or more and 1 others");
    let all_liked = "1,a,5\n1,b,5\n1,c,5\n";
    let nobody = ": none of the 1 users of client 0 has both an item of value 5 or more and 2 others";
    check(all_liked, 1, 3, 1, "median", nobody);
}

fn run(log: &NamedTempFile, mechanism: &str, seed: u64) -> Run {
    let mechanism = format!("rounds.mechanism={mechanism}");
    let config = config(log, &["world.clients=10", "world.steps=5000", "world.arms_per_step=10", &mechanism]);
    Simulation::new(&config, seed).unwrap().run()
}

fn crowd(clients: usize, per_step: usize, dimension: usize) -> Crowd {
    Crowd { clients, per_step, dimension, features: Features::Likes, catalogue: 1.0 }
}

/// What choosing the item that most users like would earn over blind choice, at the steps of [`run`].
fn most_liked(log: &NamedTempFile, seed: u64) -> f64 {
    let log = Log::read(log.path(), Liked::Median).unwrap();
    let mut count = vec![0; log.items()];
    (0..log.users()).flat_map(|user| log.likes(user)).for_each(|&item| count[item as usize] += 1);
    let mut world = Ratings::new(Arc::new(Audience::new(log, crowd(10, 10, 5)).unwrap()), seed);
    let play = |step: usize| {
        let best = world.present(step % 10).iter().copied().max_by_key(|&item| count[item]).unwrap();
        world.play(step % 10, best)
    };
    let (reward, blind) = (0..5000).map(play).fold((0.0, 0.0), |(r, b), p| (r + p.reward, b + p.blind));
    reward / blind
}

#[test]
fn learning_beats_blind_choice_where_users_share_a_taste() {
    let (shared, none) = (file(u_data(&ratings(1.0))), file(u_data(&ratings(0.0))));
    for (mechanism, seed) in [("everyone", 1), ("clock", 1), ("everyone", 2), ("clock", 2)] {
        let [learned, noise] = [&shared, &none].map(|log| {
            let totals = run(log, mechanism, seed).totals();
            totals.reward / totals.blind_reward
        });
        let best = most_liked(&shared, seed);
        assert!(learned > 2.0 && learned > 0.85 * best, "{mechanism}, seed {seed}: {learned} of {best}");
        // Some items have more likes than others by chance, so that even noise is not quite blind choice.
        assert!(noise < 1.4, "{mechanism}, seed {seed}: {noise} where there is nothing to learn");
    }
}

#[test]
fn the_same_seed_gives_the_same_run_at_any_number_of_threads() {
    let log = file(u_data(&ratings(1.0)));
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let text = |seed| format!("{:?}", run(&log, "clock", seed));
    assert_eq!(one.install(|| text(3)), text(3));
    assert_ne!(text(3), text(4));
}

fn audience(per_step: usize) -> Arc<Audience> {
    let log = read(u_data(&ratings(1.0)), Liked::Median).unwrap();
    Arc::new(Audience::new(log, crowd(4, per_step, 3)).unwrap())
}

#[test]
fn what_is_shown_depends_neither_on_what_is_chosen_nor_on_who_acts_when() {
    let audience = audience(10);
    let shown = |order: &[usize], choice: usize| {
        let mut world = Ratings::new(Arc::clone(&audience), 5);
        let mut seen = vec![Vec::new(); 4];
        for &client in order {
            let arms = world.present(client).to_vec();
            let liked = world.liked;
            world.play(client, arms[choice]);
            seen[client].push((arms, liked));
        }
        seen
    };
    let in_turn: Vec<usize> = (0..400).map(|step| step % 4).collect();
    let one_by_one: Vec<usize> = (0..400).map(|step| step / 100).collect();
    assert_eq!(shown(&in_turn, 0), shown(&in_turn, 9));
    assert_eq!(shown(&in_turn, 0), shown(&one_by_one, 3));
}

#[test]
fn a_step_shows_one_liked_item_and_others_in_random_order() {
    for per_step in [1, 2, 10] {
        let audience = audience(per_step);
        let mut world = Ratings::new(Arc::clone(&audience), 1);
        let mut places = vec![0_usize; per_step];
        for step in 0..4000 {
            let client = step % 4;
            let shown = world.present(client).to_vec();
            let distinct = BTreeSet::from_iter(&shown);
            assert_eq!((shown.len(), distinct.len()), (per_step, per_step));
            places[shown.iter().position(|&item| item == world.liked).unwrap()] += 1;
            let fits = |&user: &usize| {
                shown.iter().filter(|&&item| audience.log.likes(user).contains(&(item as u32))).count() == 1
            };
            assert!((client..USERS).step_by(4).any(|user| fits(&user)), "no user of client {client} fits {shown:?}");
            let rewards: Vec<Played> = shown.iter().map(|&item| world.play(client, item)).collect();
            assert_eq!(rewards.iter().map(|played| played.reward).sum::<f64>(), 1.0);
            assert!(rewards.iter().all(|played| played.reward + played.regret == 1.0));
            assert!(rewards.iter().all(|played| played.blind == 1.0 / per_step as f64));
        }
        let even = 4000 / per_step;
        assert!(places.iter().all(|place| place.abs_diff(even) <= even / 4), "{places:?}");
    }
}

/// Writes down every step: client, items shown, item liked and its context; and the item chosen.
struct Recorder {
    world: Ratings,
    steps: Arc<Mutex<Vec<(Step, usize)>>>,
}

type Step = (usize, Vec<usize>, usize, Vec<f64>);

impl World for Recorder {
    fn present(&mut self, client: usize) -> &[usize] {
        self.world.present(client)
    }

    fn arm(&self, index: usize) -> &[f64] {
        self.world.arm(index)
    }

    fn play(&mut self, client: usize, index: usize) -> Played {
        let Ratings { shown, liked, .. } = &self.world;
        let step = (client, shown.clone(), *liked, self.arm(*liked).to_vec());
        self.steps.lock().unwrap().push((step, index));
        self.world.play(client, index)
    }
}

#[test]
fn two_mechanisms_see_the_same_arms_and_users_whatever_they_choose() {
    let log = file(u_data(&ratings(1.0)));
    let record = |mechanism: &str| {
        let mechanism = format!("rounds.mechanism={mechanism}");
        let config = config(&log, &["world.clients=4", "world.arms_per_step=10", "world.steps=2000", &mechanism]);
        let steps = Arc::default();
        let log = Log::read(log.path(), Liked::Median).unwrap();
        let world = Ratings::new(Arc::new(Audience::new(log, crowd(4, 10, 5)).unwrap()), 1);
        let recorder = Recorder { world, steps: Arc::clone(&steps) };
        Simulation::new(&config, 1).unwrap().with_world(recorder).run();
        std::mem::take(&mut *steps.lock().unwrap()).into_iter().unzip::<_, _, Vec<Step>, Vec<usize>>()
    };
    let (everyone, clock) = (record("everyone"), record("clock"));
    assert_eq!(everyone.0.len(), 2000);
    assert_eq!(everyone.0, clock.0);
    assert_ne!(everyone.1, clock.1, "two mechanisms that never choose differently compare nothing");
}

#[test]
fn the_items_that_are_not_liked_are_counted_in_order() {
    let likes = [1, 2, 5, 9];
    let others: Vec<usize> = (0..6).map(|rank| unliked(&likes, rank)).collect();
    assert_eq!(others, [0, 3, 4, 6, 7, 8]);
    assert_eq!((unliked(&[], 4), unliked(&[0, 1], 0)), (4, 2));
}

#[test]
fn clients_have_items_of_their_own_and_users_that_made_no_features() {
    let log = read(u_data(&ratings(1.0)), Liked::Median).unwrap();
    let crowd = Crowd { features: Features::HeldOut, catalogue: 0.3, ..crowd(4, 10, 3) };
    let audience = Arc::new(Audience::new(log, crowd).unwrap());
    let mut world = Ratings::new(Arc::clone(&audience), 1);
    let mut seen = vec![BTreeSet::new(); 4];
    for step in 0..2000 {
        let client = step % 4;
        let shown = world.present(client).to_vec();
        assert_eq!(BTreeSet::from_iter(&shown).len(), 10);
        assert!(shown.contains(&world.liked));
        let fits = |user: &usize| {
            let likes = |item: &&usize| audience.log.likes(*user).contains(&(**item as u32));
            let liked: Vec<&usize> = shown.iter().filter(likes).collect();
            liked == [&world.liked]
        };
        let mut left = (0..USERS).filter(|user| user % 2 == 1).skip(client).step_by(4);
        assert!(left.any(|user| fits(&user)), "no user of client {client} fits {shown:?}");
        seen[client].extend(shown);
    }
    let items = (0.3 * ITEMS as f64).ceil() as usize;
    assert!(seen.iter().all(|seen| seen.len() == items), "{:?}", seen.iter().map(BTreeSet::len).collect::<Vec<_>>());
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]));
}

/// What is earned over blind choice, together and alone.
fn together_and_alone(log: &NamedTempFile, changes: &[&str], seed: u64) -> [f64; 2] {
    ["everyone", "alone"].map(|mechanism| {
        let mechanism = format!("rounds.mechanism={mechanism}");
        let config = config(log, &[changes, &[&mechanism]].concat());
        let totals = Simulation::new(&config, seed).unwrap().run().totals();
        totals.reward / totals.blind_reward
    })
}

#[test]
fn with_held_out_features_learning_together_beats_learning_alone() {
    let log = file(sample_ratings(1));
    let size =
        ["world.clients=60", "world.steps=6000", "world.arms_per_step=10", "world.liked=4", "world.dimension=10"];
    for seed in [1, 2] {
        let advantage = |changes: &[&str]| {
            let [together, alone] = together_and_alone(&log, &[&size[..], changes].concat(), seed);
            together / alone
        };
        let popularity = advantage(&[]);
        assert!(
            (0.95..1.05).contains(&popularity),
            "seed {seed}: {popularity} where popularity is all there is to know"
        );
        let (all, own) =
            (advantage(&["world.features=held-out"]), advantage(&["world.features=held-out", "world.catalogue=0.5"]));
        assert!(all > 1.15 && own > 1.15, "seed {seed}: {all}, with items of one's own {own}");
    }
}
