//! Money: exact, non-negative amounts in integer micro-units.
//!
//! An ask, a payment, a reserve or a budget is an [`Amount`]: a whole number of millionths of the federation's unit, at
//! most 10^12 units. Sums of many amounts are a [`Total`], wide enough for any round. Both are read from and written as
//! plain decimals with at most six places, and never pass through a float.
//!
//! Not here: signed ledger entries and moving funds (the service's ledger).

use std::fmt;
use std::iter::Sum;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const MICROS_PER_UNIT: i64 = 1_000_000;
const PLACES: i32 = 6;
/// Error messages quote at most this many characters of a wrong text.
const MAX_EXCERPT: usize = 40;
/// Longest mantissa that is parsed. A valid amount needs 19 digits; the rest leaves room for padding with zeros.
const MAX_DIGITS: usize = 400;

/// A non-negative amount of money, an exact count of micro-units (10^-6 units); serialised as that count.
///
/// ```
/// use truthfed::Amount;
/// let ask: Amount = "12.5".parse()?;
/// assert_eq!(ask.micros(), 12_500_000);
/// assert_eq!(ask.to_string(), "12.5");
/// assert!("0.0000001".parse::<Amount>().is_err());
/// # Ok::<(), truthfed::AmountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "i64")]
pub struct Amount(i64);

/// Why a number is not an amount of money. All are the caller's to fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error("`{0}` is not a finite decimal number")]
    NotANumber(String),
    #[error("`{0}` is negative: the least amount is 0")]
    Negative(String),
    #[error("`{0}` is above the largest amount, 1000000000000")]
    TooLarge(String),
    #[error("`{0}` has more than 6 decimal places: the smallest step is 0.000001")]
    TooFine(String),
}

impl Amount {
    pub const ZERO: Amount = Amount(0);
    /// The smallest step, one micro-unit.
    pub const STEP: Amount = Amount(1);
    /// The largest amount: 10^12 units.
    pub const MAX: Amount = Amount(1_000_000_000_000 * MICROS_PER_UNIT);

    /// An amount of whole micro-units; `None` outside `0..=Amount::MAX`.
    pub const fn from_micros(micros: i64) -> Option<Amount> {
        if micros >= 0 && micros <= Amount::MAX.0 { Some(Amount(micros)) } else { None }
    }

    pub const fn from_units(units: u32) -> Amount {
        Amount(units as i64 * MICROS_PER_UNIT)
    }

    /// The amount nearest to some units, within `0..=Amount::MAX`: how a cost that was computed becomes an ask. What is not a
    /// number is the largest amount, so that a cost that nobody knows is never sold below it.
    pub fn nearest(units: f64) -> Amount {
        let micros = (units * MICROS_PER_UNIT as f64).round();
        if micros < Amount::MAX.0 as f64 { Amount(micros.max(0.0) as i64) } else { Amount::MAX }
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The nearest float, for display, plots and bounds. It never decides anything.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / MICROS_PER_UNIT as f64
    }

    pub(crate) fn step_above(self) -> Amount {
        Amount::saturating(i128::from(self.0) + 1)
    }

    /// The nearest amount in the range `0..=Amount::MAX`.
    pub fn saturating(micros: i128) -> Amount {
        Amount(micros.clamp(0, i128::from(Amount::MAX.0)) as i64)
    }
}

impl TryFrom<i64> for Amount {
    type Error = AmountError;

    fn try_from(micros: i64) -> Result<Amount, AmountError> {
        let decimal = || format!("{micros} micro-units");
        match Amount::from_micros(micros) {
            Some(amount) => Ok(amount),
            None if micros < 0 => Err(AmountError::Negative(decimal())),
            None => Err(AmountError::TooLarge(decimal())),
        }
    }
}

/// The amount nearest to some units, for numbers that were computed. It fails where no amount is near.
impl TryFrom<f64> for Amount {
    type Error = AmountError;

    fn try_from(units: f64) -> Result<Amount, AmountError> {
        match units {
            units if !units.is_finite() => Err(AmountError::NotANumber(units.to_string())),
            units if units < 0.0 => Err(AmountError::Negative(units.to_string())),
            units if units > Amount::MAX.to_f64() => Err(AmountError::TooLarge(units.to_string())),
            units => Ok(Amount::nearest(units)),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, i128::from(self.0))
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    /// Reads a decimal such as `12`, `12.5` or `1.25e1`, exactly.
    fn from_str(text: &str) -> Result<Amount, AmountError> {
        let decimal = Decimal::parse(text).ok_or_else(|| AmountError::NotANumber(excerpt(text)))?;
        if decimal.digits.is_empty() {
            return Ok(Amount::ZERO);
        }
        if decimal.negative {
            return Err(AmountError::Negative(excerpt(text)));
        }
        let places = decimal.exponent.saturating_add(i64::from(PLACES));
        if places < 0 {
            return Err(AmountError::TooFine(excerpt(text)));
        }
        let too_large = || AmountError::TooLarge(excerpt(text));
        let power = u32::try_from(places).ok().and_then(|p| 10_i128.checked_pow(p)).ok_or_else(too_large)?;
        let value: i128 = decimal.digits.parse().map_err(|_| too_large())?;
        let micros = value.checked_mul(power).ok_or_else(too_large)?;
        i64::try_from(micros).ok().and_then(Amount::from_micros).ok_or_else(too_large)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Amount {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Micros".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Money: whole micro-units, a million to the unit.",
            "type": "integer", "format": "int64", "minimum": 0, "maximum": Amount::MAX.0
        })
    }
}

/// Money as an exact JSON number of units.
pub(crate) fn raw(money: impl fmt::Display) -> Box<RawValue> {
    RawValue::from_string(money.to_string()).expect("a decimal is JSON")
}

/// Amounts as people write them: a decimal in quotes, such as `"12.5"`, for `#[serde(with)]`.
pub(crate) mod decimal {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Amount;

    pub(crate) fn serialize<S: Serializer>(amount: &Amount, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(amount)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }

    /// The same, or `"none"`.
    pub(crate) mod or_none {
        use serde::{Deserialize, Deserializer, Serializer};

        use crate::Amount;

        #[allow(clippy::ref_option, reason = "serde calls it so")]
        pub(crate) fn serialize<S: Serializer>(amount: &Option<Amount>, serializer: S) -> Result<S::Ok, S::Error> {
            match amount {
                Some(amount) => serializer.collect_str(amount),
                None => serializer.serialize_str("none"),
            }
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Amount>, D::Error> {
            let text = String::deserialize(deserializer)?;
            match text.as_str() {
                "none" => Ok(None),
                amount => amount.parse().map(Some).map_err(serde::de::Error::custom),
            }
        }
    }
}

/// A sum of amounts, exact for any number of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Total(i128);

impl Total {
    pub const fn micros(self) -> i128 {
        self.0
    }

    /// The nearest float, for display and ratios.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / MICROS_PER_UNIT as f64
    }
}

impl Sum<Amount> for Total {
    fn sum<I: Iterator<Item = Amount>>(amounts: I) -> Total {
        Total(amounts.map(|amount| i128::from(amount.0)).sum())
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, self.0)
    }
}

/// A parsed decimal: `digits * 10^exponent`, without leading or trailing zeros (no digits: zero).
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        if mantissa.ends_with('.') || mantissa.len() > MAX_DIGITS {
            return None;
        }
        let digits = format!("{whole}{fraction}");
        let kept = digits.trim_end_matches('0');
        let exponent = i64::from(exponent) - fraction.len() as i64 + (digits.len() - kept.len()) as i64;
        Some(Decimal { negative, digits: kept.trim_start_matches('0').to_owned(), exponent })
    }
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(MAX_EXCERPT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Writes micro-units as a decimal without trailing zeros.
pub(crate) fn write_decimal(f: &mut fmt::Formatter<'_>, micros: i128) -> fmt::Result {
    let (sign, micros) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs());
    let text = format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    f.pad(text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_reads(text: &str, micros: i64) {
        assert_eq!(text.parse::<Amount>().map(Amount::micros), Ok(micros), "{text}");
    }

    fn check_refused(text: &str, error: fn(String) -> AmountError) {
        assert_eq!(text.parse::<Amount>(), Err(error(text.to_owned())));
    }

    #[test]
    fn decimals_are_read_exactly() {
        check_reads("0", 0);
        check_reads("-0.0", 0);
        check_reads("12.5", 12_500_000);
        check_reads("1.25e1", 12_500_000);
        check_reads("0.000001", 1);
        check_reads("1E-6", 1);
        check_reads("999999999999.999999", 999_999_999_999_999_999);
        check_reads("1e12", 1_000_000_000_000_000_000);
        check_reads("3.1000000000", 3_100_000);
    }

    #[test]
    fn the_nearest_amount_is_within_bounds() {
        assert_eq!(Amount::nearest(1.234_567_8).micros(), 1_234_568);
        assert_eq!(Amount::nearest(0.000_000_5), Amount::STEP);
        for none in [-1.0, -0.0, 4e-7, f64::MIN_POSITIVE, f64::NEG_INFINITY] {
            assert_eq!(Amount::nearest(none), Amount::ZERO, "{none}");
        }
        for most in [1e12, 1e30, f64::MAX, f64::INFINITY, f64::NAN] {
            assert_eq!(Amount::nearest(most), Amount::MAX, "{most}");
        }
    }

    #[test]
    fn a_computed_number_that_no_amount_is_near_is_refused() {
        assert_eq!(Amount::try_from(0.1 + 0.2).map(Amount::micros), Ok(300_000));
        assert_eq!(Amount::try_from(1e12), Ok(Amount::MAX));
        assert_eq!(Amount::try_from(f64::NAN), Err(AmountError::NotANumber("NaN".to_owned())));
        assert_eq!(Amount::try_from(-0.5), Err(AmountError::Negative("-0.5".to_owned())));
        assert_eq!(Amount::try_from(2e12), Err(AmountError::TooLarge("2000000000000".to_owned())));
    }

    #[test]
    fn what_is_no_amount_is_refused_with_its_reason() {
        for text in ["", "NaN", "Infinity", "-", "1.", ".5", "1e", "0x10", "1_000", "1 ", "+1", "1e99999999999"] {
            check_refused(text, AmountError::NotANumber);
        }
        check_refused("-0.000001", AmountError::Negative);
        check_refused("0.0000001", AmountError::TooFine);
        check_refused("1e-2147483648", AmountError::TooFine);
        check_refused("1000000000000.000001", AmountError::TooLarge);
        check_refused("1e2147483647", AmountError::TooLarge);
    }

    #[test]
    fn an_amount_prints_what_it_would_read() {
        for micros in [0, 1, 10, 999_999, 1_000_000, 12_345_600, Amount::MAX.micros()] {
            let amount = Amount::from_micros(micros).unwrap();
            assert_eq!(amount.to_string().parse(), Ok(amount));
        }
    }

    #[test]
    fn a_mantissa_has_a_longest_length() {
        let longest = format!("0.{}1", "0".repeat(MAX_DIGITS - 3));
        assert!(matches!(longest.parse::<Amount>(), Err(AmountError::TooFine(_))));
        assert!(matches!(format!("{longest}0").parse::<Amount>(), Err(AmountError::NotANumber(_))));
    }

    #[test]
    fn units_and_micro_units_become_amounts_and_back() {
        assert_eq!(Amount::from_units(3), Amount(3_000_000));
        assert_eq!((Amount(2_500_000).to_f64(), Amount(7).micros()), (2.5, 7));
        let cut = [-1, 5, i128::MAX].map(Amount::saturating);
        assert_eq!(cut, [Amount::ZERO, Amount(5), Amount::MAX]);
        assert_eq!(Amount::try_from(42), Ok(Amount(42)));
        assert_eq!(Amount::try_from(-1), Err(AmountError::Negative("-1 micro-units".to_owned())));
        let above = Amount::MAX.micros() + 1;
        assert_eq!(Amount::try_from(above), Err(AmountError::TooLarge(format!("{above} micro-units"))));
    }

    #[test]
    fn totals_do_not_overflow() {
        let total: Total = std::iter::repeat_n(Amount::MAX, 1000).sum();
        assert_eq!(total.to_string(), "1000000000000000");
        assert_eq!((total.micros(), total.to_f64()), (10_i128.pow(21), 1e15));
    }
}
