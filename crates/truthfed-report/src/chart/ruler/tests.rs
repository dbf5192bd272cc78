use super::*;

fn values(ruler: &Ruler) -> Vec<f64> {
    ruler.ticks.iter().map(|tick| tick.value).collect()
}

fn check_linear(low: f64, high: f64) {
    for count in 2..12 {
        let ruler = Ruler::new(Scale::Linear, Some((low, high)), count, Fit::Round);
        let ticks = values(&ruler);
        let step = ticks[1] - ticks[0];
        let slack = step * 1e-6;
        assert!(ticks[0] <= low + slack && ticks[ticks.len() - 1] >= high - slack, "{low} {high}: {ticks:?}");
        assert!(ticks.len() <= count + 2, "{low} {high}: {ticks:?}");
        let mantissa = step / power_of_ten(floor_log10(step * (1.0 + 1e-6)));
        assert!([1.0, 2.0, 5.0].iter().any(|nice| (mantissa - nice).abs() < 1e-3), "{low} {high}: step {step}");
    }
}

#[test]
fn ticks_cover_the_data_with_1_2_5_steps() {
    check_linear(0.0, 1.0);
    check_linear(0.0, 6250.0);
    check_linear(-3.7, 12.2);
    check_linear(1e-9, 3e-9);
    check_linear(-1e12, 5.0);
    check_linear(0.1 + 0.2, 0.7);
}

#[test]
fn a_tight_axis_ends_at_the_data_and_its_ticks_lie_inside() {
    let ruler = Ruler::new(Scale::Linear, Some((1.0, 6250.0)), 6, Fit::Tight);
    assert_eq!((ruler.low, ruler.high), (1.0, 6250.0));
    assert_eq!(values(&ruler), [2000.0, 4000.0, 6000.0]);
}

#[test]
fn values_that_are_equal_or_differ_in_the_last_bit_give_a_range_around_them_with_few_ticks() {
    let equal = [0.0, 1.0, -7.5, 1e-12, 1e18, -1e-280].map(|value| (value, value));
    for (low, high) in equal.into_iter().chain([(1.0, 1.0 + f64::EPSILON)]) {
        let ruler = Ruler::new(Scale::Linear, Some((low, high)), 5, Fit::Round);
        assert!(ruler.low <= low && ruler.high >= high && ruler.low < ruler.high);
        assert!((2..12).contains(&ruler.ticks.len()), "{low}: {:?}", ruler.ticks);
    }
    let ruler = Ruler::new(Scale::Log, Some((7.0, 7.0)), 5, Fit::Round);
    assert!(ruler.low < 7.0 && ruler.high > 7.0);
}

#[test]
fn logarithmic_ticks_are_decades_when_there_are_many() {
    let ruler = Ruler::new(Scale::Log, Some((0.03, 4000.0)), 6, Fit::Round);
    assert_eq!((ruler.low, ruler.high), (0.02, 5000.0));
    let labels: Vec<&str> = ruler.ticks.iter().map(|tick| tick.label.as_str()).collect();
    assert_eq!(labels, ["0.1", "1", "10", "100", "1000"]);
    assert!(ruler.minor.contains(&2000.0) && !ruler.minor.contains(&100.0));
}

#[test]
fn logarithmic_ticks_are_1_2_5_when_decades_are_few_and_even_when_they_are_none() {
    let few = Ruler::new(Scale::Log, Some((3.0, 150.0)), 6, Fit::Round);
    assert_eq!(values(&few), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
    let none = Ruler::new(Scale::Log, Some((6.1, 8.3)), 6, Fit::Tight);
    assert!(none.ticks.len() >= 2 && none.ticks.iter().all(|tick| tick.value >= 6.1 && tick.value <= 8.3));
}

#[test]
fn a_huge_range_of_decades_is_labelled_sparsely() {
    let ruler = Ruler::new(Scale::Log, Some((1e-200, 1e200)), 6, Fit::Round);
    assert!((3..10).contains(&ruler.ticks.len()), "{:?}", ruler.ticks);
}

#[test]
fn what_is_not_finite_has_no_place_and_what_is_not_positive_none_on_a_log_axis() {
    assert_eq!(extent([f64::NAN, 2.0, f64::INFINITY, -1.0].into_iter(), Scale::Linear), Some((-1.0, 2.0)));
    assert_eq!(extent([0.0, 2.0, -1.0].into_iter(), Scale::Log), Some((2.0, 2.0)));
    assert_eq!(extent([f64::NAN].into_iter(), Scale::Linear), None);
}

#[test]
fn shares_run_from_0_to_1() {
    let linear = Ruler::new(Scale::Linear, Some((0.0, 10.0)), 5, Fit::Round);
    assert_eq!([linear.share(-1.0), linear.share(5.0), linear.share(11.0)], [0.0, 0.5, 1.0]);
    let log = Ruler::new(Scale::Log, Some((1.0, 100.0)), 5, Fit::Round);
    assert_eq!([log.share(0.0), log.share(10.0)], [0.0, 0.5]);
}
