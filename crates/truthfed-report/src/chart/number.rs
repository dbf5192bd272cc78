//! Numbers as short text: tick labels.
//!
//! Plain up to 9999, then k and M, and powers of ten beyond. All labels of an axis have the same number of decimals.
//! Powers of ten are exact, not computed by the machine's mathematics library, so labels are the same everywhere.

/// A power of ten, correctly rounded.
pub(super) fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().expect("a number in scientific notation")
}

/// The largest `k` with `10^k <= value`, for a positive finite value.
pub(super) fn floor_log10(value: f64) -> i32 {
    let mut exponent = libm::log10(value).floor() as i32;
    while power_of_ten(exponent) > value {
        exponent -= 1;
    }
    while power_of_ten(exponent + 1) <= value {
        exponent += 1;
    }
    exponent
}

/// Labels of values on a linear axis whose step is a multiple of `10^exponent`.
pub(super) fn linear_labels(values: &[f64], exponent: i32) -> Vec<String> {
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (unit, suffix) = unit(largest);
    let decimals = usize::try_from(unit - exponent).unwrap_or(0);
    let label = |value: &f64| {
        if *value == 0.0 {
            return "0".to_owned();
        }
        let scaled = if unit < 0 { value * power_of_ten(-unit) } else { value / power_of_ten(unit) };
        // A true minus sign is as wide as the digits' plus, unlike the hyphen.
        format!("{scaled:.decimals$}{suffix}").replace('-', "−")
    };
    values.iter().map(label).collect()
}

/// Labels of whole powers of ten: plain when all are short, else with a raised exponent.
pub(super) fn decade_labels(exponents: &[i32]) -> Vec<String> {
    let short = exponents.iter().all(|exponent| (-2..=3).contains(exponent));
    let label = |exponent: &i32| if short { value_label(*exponent, 1) } else { format!("10{}", raised(*exponent)) };
    exponents.iter().map(label).collect()
}

/// Label of `mantissa * 10^exponent` by itself.
pub(super) fn value_label(exponent: i32, mantissa: u8) -> String {
    match exponent {
        -3..=-1 => format!("{:.*}", -exponent as usize, f64::from(mantissa) * power_of_ten(exponent)),
        0..=3 => format!("{:.0}", f64::from(mantissa) * power_of_ten(exponent)),
        4..=5 => format!("{:.0}k", f64::from(mantissa) * power_of_ten(exponent - 3)),
        6..=8 => format!("{:.0}M", f64::from(mantissa) * power_of_ten(exponent - 6)),
        _ if mantissa == 1 => format!("10{}", raised(exponent)),
        _ => format!("{mantissa}×10{}", raised(exponent)),
    }
}

/// The power of ten that an axis counts in, as an exponent, and its sign.
fn unit(largest: f64) -> (i32, String) {
    if largest == 0.0 || (0.001..10_000.0).contains(&largest) {
        (0, String::new())
    } else if (10_000.0..1e6).contains(&largest) {
        (3, "k".to_owned())
    } else if (1e6..1e9).contains(&largest) {
        (6, "M".to_owned())
    } else {
        let exponent = floor_log10(largest);
        (exponent, format!("×10{}", raised(exponent)))
    }
}

fn raised(exponent: i32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |character: char| character.to_digit(10).map_or('⁻', |digit| digits[digit as usize]);
    exponent.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_one_axis_have_equally_many_decimals_and_large_and_small_values_are_shortened() {
        assert_eq!(linear_labels(&[0.0, 0.5, 1.0], -1), ["0", "0.5", "1.0"]);
        assert_eq!(linear_labels(&[-20.0, 0.0, 20.0], 1), ["−20", "0", "20"]);
        assert_eq!(linear_labels(&[5000.0, 10_000.0], 3), ["5k", "10k"]);
        assert_eq!(linear_labels(&[500_000.0, 1_000_000.0], 5), ["0.5M", "1.0M"]);
        assert_eq!(linear_labels(&[2e9, 4e9], 9), ["2×10⁹", "4×10⁹"]);
        assert_eq!(linear_labels(&[1e-7, 2.5e-6], -7), ["0.1×10⁻⁶", "2.5×10⁻⁶"]);
        assert_eq!(linear_labels(&[2000.0, 6000.0], 3), ["2000", "6000"]);
    }

    #[test]
    fn decades_are_plain_when_short_and_raised_when_long() {
        assert_eq!(decade_labels(&[-1, 0, 1, 2]), ["0.1", "1", "10", "100"]);
        assert_eq!(decade_labels(&[-12, 0, 5]), ["10⁻¹²", "10⁰", "10⁵"]);
    }

    #[test]
    fn single_values_are_short() {
        let labels = [value_label(-2, 5), value_label(0, 2), value_label(5, 2), value_label(7, 1), value_label(-8, 5)];
        assert_eq!(labels, ["0.05", "2", "200k", "10M", "5×10⁻⁸"]);
    }

    #[test]
    fn the_exponent_is_exact_at_powers_of_ten() {
        for exponent in -300..300 {
            let power = power_of_ten(exponent);
            assert_eq!(floor_log10(power), exponent);
            assert_eq!(floor_log10(power * 9.99), exponent);
        }
    }
}
