use super::*;
use crate::generate::Stream;
use crate::statistics::{Gram, dot, levels};

fn config(dimension: usize) -> Config {
    Config::try_from(RawConfig { dimension, ..RawConfig::default() }).unwrap()
}

/// The definition, with a new factorisation at every step.
fn naive_choice(config: Config, known: &Statistics, arms: &[Vec<f64>]) -> usize {
    let factor = Factor::new(&known.gram().ridge(config.lambda())).unwrap();
    let theta = factor.solve(known.moment());
    let ratio = factor.log_det() - known.dimension() as f64 * libm::log(config.lambda());
    let alpha = config.sigma() * (ratio + 2.0 * libm::log(1.0 / config.delta())).sqrt() + config.lambda().sqrt();
    let scores: Vec<f64> =
        arms.iter().map(|arm| dot(arm, &theta) + alpha * factor.quadratic_form(arm).sqrt()).collect();
    let best = scores.iter().copied().fold(f64::MIN, f64::max);
    scores.iter().position(|&score| score >= best - 1e-9).unwrap()
}

#[test]
fn rank_one_updates_choose_as_a_new_factorisation_would() {
    for dimension in [1, 2, 5, 25] {
        let mut stream = Stream::new(dimension as u64, 0);
        let theta = stream.context(dimension);
        let mut bandit = LinUcb::new(config(dimension));
        for step in 0..2500 {
            let arms: Vec<Vec<f64>> = (0..10).map(|_| stream.context(dimension)).collect();
            let chosen = bandit.choose(&arms).unwrap();
            assert_eq!(chosen, naive_choice(config(dimension), bandit.known(), &arms), "d {dimension}, step {step}");
            let reward = dot(&arms[chosen], &theta) + 0.1 * stream.normals(1)[0];
            bandit.learn(&arms[chosen], reward).unwrap();
        }
        let error: f64 = bandit.theta().iter().zip(&theta).map(|(a, b)| (a - b) * (a - b)).sum();
        assert!(error.sqrt() < 0.1, "d {dimension}: {error}");
    }
}

/// One arm, term by term.
fn plain_estimate(inverse: &[f64], theta: &[f64], arm: &[f64]) -> Estimate {
    let d = theta.len();
    let (mut mean, mut form) = (0.0, 0.0);
    for i in 0..d {
        mean += theta[i] * arm[i];
        let mut below = 0.0;
        for j in 0..i {
            below += inverse[i * d + j] * arm[j];
        }
        form += arm[i] * (2.0 * below + inverse[i * d + i] * arm[i]);
    }
    Estimate { mean, width: if form < 0.0 { 0.0 } else { form.sqrt() } }
}

/// One observation more, row after row.
fn plain_update(inverse: &mut [f64], theta: &mut [f64], x: &[f64], moment: &[f64]) -> f64 {
    let d = x.len();
    let times = |matrix: &[f64], x: &[f64]| {
        let mut product = vec![0.0; d];
        for (row, x) in matrix.chunks_exact(d).zip(x) {
            product.iter_mut().zip(row).for_each(|(sum, entry)| *sum += x * entry);
        }
        product
    };
    let image = times(inverse, x);
    let growth = 1.0 + dot(x, &image);
    if growth <= 1.0 {
        return 1.0;
    }
    for (row, u) in inverse.chunks_exact_mut(d).zip(&image) {
        let factor = u / growth;
        row.iter_mut().zip(&image).for_each(|(entry, v)| *entry -= factor * v);
    }
    theta.copy_from_slice(&times(inverse, moment));
    growth
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn every_width_scores_arms_with_the_bits_of_one_arm_alone() {
    for dimension in (1..=34).chain([63, 64, 65, 100, 130]) {
        let mut stream = Stream::new(11, dimension as u64);
        let mut bandit = LinUcb::new(config(dimension));
        for _ in 0..dimension + 3 {
            let arm = stream.context(dimension);
            bandit.learn(&arm, stream.normal()).unwrap();
        }
        for count in [1, 2, 7, 8, 9, 15, 16, 17, 25, 31, BATCH] {
            let arms: Vec<Vec<f64>> = (0..count).map(|_| stream.normals(dimension)).collect();
            let slices: Vec<&[f64]> = arms.iter().map(Vec::as_slice).collect();
            let plain: Vec<Estimate> =
                arms.iter().map(|arm| plain_estimate(&bandit.inverse, &bandit.theta, arm)).collect();
            for (name, level) in levels() {
                let wide = Scratch::with(|scratch| estimated(level, &bandit.inverse, &bandit.theta, &slices, scratch));
                let [means, widths] = [wide.means(), wide.widths()].map(|numbers| bits(&numbers[..count]));
                assert_eq!(means, bits(&plain.iter().map(|it| it.mean).collect::<Vec<_>>()), "{name}, d {dimension}");
                assert_eq!(widths, bits(&plain.iter().map(|it| it.width).collect::<Vec<_>>()), "{name}, d {dimension}");
            }
        }
    }
}

#[test]
fn every_width_learns_with_the_bits_of_plain_loops() {
    for dimension in (1..=41).chain([64, 65, 100, 130]) {
        for (name, level) in levels() {
            let mut stream = Stream::new(12, dimension as u64);
            let start = LinUcb::new(config(dimension));
            let (mut inverse, mut theta) = (start.inverse.clone(), start.theta.clone());
            let (mut plain_inverse, mut plain_theta) = (inverse.clone(), theta.clone());
            let (mut moment, mut image) = (vec![0.0; dimension], Vec::new());
            for step in 0..40 {
                // Some long, some short, and some that tell nothing.
                let length = stream.pick(&[0.0, 1.0, 1.0, 1e-200, 1e3]);
                let x: Vec<f64> = stream.context(dimension).iter().map(|x| length * x).collect();
                let reward = stream.normal();
                moment.iter_mut().zip(&x).for_each(|(sum, x)| *sum += x * reward);
                let growth = rank_one::update(level, &mut inverse, &mut theta, (&x, &moment), &mut image);
                let plain = plain_update(&mut plain_inverse, &mut plain_theta, &x, &moment);
                assert_eq!(growth.to_bits(), plain.to_bits(), "{name}, d {dimension}, step {step}");
                assert_eq!(bits(&inverse), bits(&plain_inverse), "{name}, d {dimension}, step {step}");
                assert_eq!(bits(&theta), bits(&plain_theta), "{name}, d {dimension}, step {step}");
            }
        }
    }
}

#[test]
fn the_first_arm_that_is_wrong_is_named_in_long_lists_too() {
    let bandit = LinUcb::new(config(2));
    let arms = |wrong: usize, huge: usize| {
        let mut arms = vec![vec![0.6, 0.8]; 100];
        arms[wrong] = vec![1.0];
        arms[huge] = vec![1e300, 1e300];
        arms
    };
    let wrong = |index| Err(ChooseError::WrongDimension { index, got: 1, expected: 2 });
    assert_eq!(bandit.choose(&arms(70, 99)), wrong(70));
    assert_eq!(bandit.choose(&arms(70, 12)), Err(ChooseError::NotFinite { index: 12 }));
    assert_eq!(bandit.choose(&arms(70, 63)), Err(ChooseError::NotFinite { index: 63 }));
    // Arms are scored by the eight: a wrong one is seen before those beside it are scored.
    assert_eq!(bandit.choose(&arms(70, 65)), wrong(70));
}

#[test]
fn a_refreshed_bandit_decides_like_one_that_saw_everything() {
    let mut stream = Stream::new(9, 0);
    let mut seeing = LinUcb::new(config(5));
    for _ in 0..100 {
        let arm = stream.context(5);
        seeing.learn(&arm, arm[0] - arm[1]).unwrap();
    }
    let told = LinUcb::knowing(config(5), seeing.known().clone()).unwrap();
    assert!((told.log_det_ratio() - seeing.log_det_ratio()).abs() < 1e-9);
    for _ in 0..100 {
        let arms: Vec<Vec<f64>> = (0..25).map(|_| stream.context(5)).collect();
        assert_eq!(told.choose(&arms), seeing.choose(&arms));
    }
}

#[test]
fn arms_that_tie_up_to_rounding_go_to_the_first() {
    let bandit = LinUcb::new(config(3));
    let mut stream = Stream::new(1, 0);
    let arms: Vec<Vec<f64>> = (0..25).map(|_| stream.context(3)).collect();
    assert_eq!(bandit.choose(&arms), Ok(0));
}

#[test]
fn bad_arms_and_rewards_are_refused_and_change_nothing() {
    let mut bandit = LinUcb::new(config(2));
    assert_eq!(bandit.choose::<[f64; 2]>(&[]), Err(ChooseError::NoArms));
    let short = [vec![1.0, 0.0], vec![1.0]];
    assert_eq!(bandit.choose(&short), Err(ChooseError::WrongDimension { index: 1, got: 1, expected: 2 }));
    for bad in [f64::NAN, f64::INFINITY, 1e200] {
        assert_eq!(bandit.choose(&[[1.0, 0.0], [0.0, bad]]), Err(ChooseError::NotFinite { index: 1 }));
    }
    assert!(bandit.learn(&[1.0, f64::NAN], 1.0).is_err());
    assert!(bandit.learn(&[1.0, 0.0], f64::NAN).is_err());
    assert!(bandit.learn(&[1.0, 2e6], 1.0).is_err());
    let wrong = bandit.refresh(Statistics::new(3).unwrap());
    assert_eq!(wrong, Err(RefreshError::WrongDimension { got: 3, expected: 2 }));
    assert_eq!(bandit.known().samples(), 0);
}

#[test]
fn contexts_that_drown_the_ridge_do_not_stop_the_bandit() {
    let raw = RawConfig { dimension: 3, lambda: 1e-9, ..RawConfig::default() };
    let mut bandit = LinUcb::new(Config::try_from(raw).unwrap());
    for _ in 0..3000 {
        bandit.learn(&[1e6, 1e6, 1e6], 1.0).unwrap();
    }
    assert!(bandit.choose(&[[0.0, 0.0, 0.0], [1e6, 1e6, 1e6]]).is_ok());
}

/// Updates of the inverse alone were off by 0.004 here, and where contexts are ten times as long, by half.
#[test]
fn an_estimate_has_its_digits_however_small_the_ridge_beside_the_contexts() {
    let vector: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/vectors/linucb-drift.json")).unwrap();
    let list = |value: &serde_json::Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    let raw: RawConfig = serde_json::from_value(vector["config"].clone()).unwrap();
    for scale in [1.0, 10.0, 100.0] {
        let mut bandit = LinUcb::new(Config::try_from(raw).unwrap());
        for (context, reward) in vector["contexts"].as_array().unwrap().iter().zip(list(&vector["rewards"])) {
            let context: Vec<f64> = list(context).iter().map(|x| scale * x).collect();
            bandit.learn(&context, reward).unwrap();
        }
        for (estimate, exact) in bandit.theta().iter().zip(list(&vector["theta_exact"])) {
            assert!((scale * estimate - exact).abs() < 1e-9, "{scale} {estimate} {exact}");
        }
    }
}

/// It was taken over, and what was saved of it could not be read again: a coordinator could cost a member its file.
#[test]
fn a_snapshot_with_which_no_estimate_is_finite_was_taken_over() {
    let gram = Gram::from_rows(&[[2.0, 6.0], [6.0, 1e6]]).unwrap();
    let known = Statistics::from_parts(gram, vec![f64::MAX, 4.0], 144).unwrap();
    assert_eq!(LinUcb::new(config(2)).refresh(known), Err(RefreshError::NoEstimate));
}

#[test]
fn flat_arms_are_chosen_scored_and_estimated_like_rows() {
    let mut stream = Stream::new(4, 0);
    let mut bandit = LinUcb::new(config(3));
    for count in [1, 7, 8, 9, 25] {
        let arms: Vec<Vec<f64>> = (0..count).map(|_| stream.context(3)).collect();
        let flat = arms.concat();
        assert_eq!(bandit.choose_flat(&flat), bandit.choose(&arms));
        let factor = Factor::new(&bandit.known().gram().ridge(0.1)).unwrap();
        let (scores, estimates) = (bandit.scores(&flat).unwrap(), bandit.estimates(&flat).unwrap());
        for ((arm, score), Estimate { mean, width }) in arms.iter().zip(scores).zip(estimates) {
            assert!((mean - dot(arm, bandit.theta())).abs() < 1e-12);
            assert!((width - factor.quadratic_form(arm).sqrt()).abs() < 1e-9);
            assert_eq!(score, mean + bandit.exploration() * width);
        }
        bandit.learn(&arms[0], 1.0).unwrap();
    }
    let error = ChooseError::WrongDimension { index: 1, got: 1, expected: 3 };
    assert_eq!(bandit.choose_flat(&[1.0; 4]), Err(error));
    assert_eq!(bandit.choose_flat(&[]), Err(ChooseError::NoArms));
    // The form of such an arm is not a number.
    let huge = [1.0, 0.0, 0.0, 1e300, 1e300, 1e300];
    assert_eq!(bandit.choose_flat(&huge), Err(ChooseError::NotFinite { index: 1 }));
    assert_eq!(bandit.estimates(&huge), Err(ChooseError::NotFinite { index: 1 }));
}

#[test]
fn a_log_is_played_as_step_by_step_and_a_wrong_one_changes_nothing() {
    let (mut stream, steps, count) = (Stream::new(5, 0), 60, 6);
    let arms: Vec<f64> = (0..steps * count).flat_map(|_| stream.context(3)).collect();
    let rewards = stream.normals(steps * count);
    let (mut stepwise, mut at_once) = (LinUcb::new(config(3)), LinUcb::new(config(3)));
    let choices = at_once.play(&arms, &rewards, steps).unwrap();
    for (step, shown) in arms.chunks_exact(3 * count).enumerate() {
        let chosen = stepwise.choose_flat(shown).unwrap();
        assert_eq!(chosen, choices[step]);
        stepwise.learn(&shown[3 * chosen..][..3], rewards[step * count + chosen]).unwrap();
    }
    assert_eq!(stepwise.theta(), at_once.theta());
    let mut wrong = rewards.clone();
    wrong[(steps - 1) * count..].fill(f64::NAN);
    assert!(matches!(at_once.play(&arms, &wrong, steps), Err(PlayError::Learn { step: 59, .. })));
    assert!(matches!(at_once.play(&arms, &rewards[1..], steps), Err(PlayError::WrongSize { .. })));
    assert_eq!(stepwise.theta(), at_once.theta());
    assert_eq!(at_once.play(&[], &[], 0), Ok(Vec::new()));
}

#[test]
fn a_fixed_alpha_stays_and_is_saved() {
    let bandit = LinUcb::new(config(2));
    assert!(!serde_json::to_string(&bandit).unwrap().contains("alpha"));
    let mut bandit = bandit.with_alpha(0.5).unwrap();
    (0..REFRESH_EVERY).for_each(|_| bandit.learn(&[0.6, 0.8], 1.0).unwrap());
    bandit.refresh(bandit.known().clone()).unwrap();
    assert_eq!((bandit.exploration(), bandit.alpha()), (0.5, Some(0.5)));
    let text = serde_json::to_string(&bandit).unwrap();
    assert_eq!(serde_json::from_str::<LinUcb>(&text).unwrap().alpha(), Some(0.5));
    assert!(serde_json::from_str::<LinUcb>(&text.replace("\"alpha\":0.5", "\"alpha\":-1")).is_err());
    assert_eq!(bandit.with_alpha(-0.5).unwrap_err(), AlphaError(-0.5));
}
