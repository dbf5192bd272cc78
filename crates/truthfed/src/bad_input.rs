//! Which part of an input is wrong, and what it may be: for programs that show errors in words of their own.
//!
//! The message of an error says both to people. Here they are apart, so that a form can mark a field, and a caller can tell
//! which of its arguments to fix.

use crate::auction::{ClientIdError, CoverageError, DocumentError, RoundError};
use crate::bandit::{AlphaError, ChooseError, ConfigError, PlayError, RefreshError};
use crate::generate::GenerateError;
use crate::protocol::TermsError;
use crate::statistics::{GramError, StatisticsError};
use crate::{Amount, AmountError};

const GRAM_ENTRY: &str = "finite and at most 1e15 in size";
const SEMI_DEFINITE: &str = "positive semi-definite: no eigenvalue below -1e-5 times the trace";

/// An error that one field of an input causes.
pub trait BadInput: std::error::Error {
    /// The field, such as `lambda` or `offers[2].ask`; empty for the input as a whole.
    fn field(&self) -> String;

    /// What the field must be.
    fn bound(&self) -> String;
}

/// The name of a part of a field; of a field without a name, just the part.
fn part(field: &str, part: &str) -> String {
    match part {
        "" => field.to_owned(),
        part if part.starts_with('[') => format!("{field}{part}"),
        part => format!("{field}.{part}"),
    }
}

impl BadInput for AmountError {
    fn field(&self) -> String {
        String::new()
    }

    fn bound(&self) -> String {
        match self {
            AmountError::NotANumber(_) => "a finite decimal number".to_owned(),
            AmountError::Negative(_) => "at least 0".to_owned(),
            AmountError::TooLarge(_) => format!("at most {}", Amount::MAX),
            AmountError::TooFine(_) => format!("a multiple of {}", Amount::STEP),
        }
    }
}

impl BadInput for ClientIdError {
    fn field(&self) -> String {
        String::new()
    }

    fn bound(&self) -> String {
        "a name of 1 to 128 bytes without control characters".to_owned()
    }
}

impl BadInput for CoverageError {
    fn field(&self) -> String {
        match self {
            CoverageError::OutOfRange(_) => "coverage".to_owned(),
            CoverageError::Log(_) => "log_coverage".to_owned(),
            CoverageError::NotPositive { what, .. } => (*what).to_owned(),
        }
    }

    fn bound(&self) -> String {
        match self {
            CoverageError::OutOfRange(_) => "above 0 and at most 1",
            CoverageError::Log(_) => "finite and at most 0",
            CoverageError::NotPositive { .. } => "positive and finite",
        }
        .to_owned()
    }
}

impl BadInput for GramError {
    fn field(&self) -> String {
        match self {
            GramError::Dimension(_) => String::new(),
            GramError::WrongSize { row, .. } => format!("[{row}]"),
            GramError::OutOfRange { row, column, .. } | GramError::NotSymmetric { row, column, .. } => {
                format!("[{row}][{column}]")
            }
        }
    }

    fn bound(&self) -> String {
        match self {
            GramError::Dimension(_) => "of dimension 1..=512".to_owned(),
            GramError::WrongSize { expected, .. } => format!("of {expected} entries"),
            GramError::OutOfRange { .. } => GRAM_ENTRY.to_owned(),
            GramError::NotSymmetric { .. } => "equal to its mirror within 1e-9 of its size".to_owned(),
        }
    }
}

impl BadInput for StatisticsError {
    fn field(&self) -> String {
        match self {
            StatisticsError::WrongDimension { what, .. } | StatisticsError::OutOfRange { what, .. } => {
                (*what).to_owned()
            }
            StatisticsError::Gram(error) => part("gram", &error.field()),
            StatisticsError::NotFinite { index, .. } => format!("moment[{index}]"),
            StatisticsError::TooManySamples(_) => "samples".to_owned(),
        }
    }

    fn bound(&self) -> String {
        match self {
            StatisticsError::WrongDimension { expected, .. } => format!("of dimension {expected}"),
            StatisticsError::OutOfRange { .. } => "finite and at most 1e6 in size".to_owned(),
            StatisticsError::Gram(error) => error.bound(),
            StatisticsError::NotFinite { .. } => "finite".to_owned(),
            StatisticsError::TooManySamples(_) => "at most 1000000000000000".to_owned(),
        }
    }
}

impl BadInput for ConfigError {
    fn field(&self) -> String {
        match self {
            ConfigError::Dimension(_) => "dimension",
            ConfigError::Lambda(_) => "lambda",
            ConfigError::Sigma(_) => "sigma",
            ConfigError::Delta(_) => "delta",
        }
        .to_owned()
    }

    fn bound(&self) -> String {
        match self {
            ConfigError::Dimension(_) => "in 1..=512",
            ConfigError::Lambda(_) => "between 1e-9 and 1e9",
            ConfigError::Sigma(_) => "between 0 and 1e9",
            ConfigError::Delta(_) => "above 0 and below 1",
        }
        .to_owned()
    }
}

impl BadInput for AlphaError {
    fn field(&self) -> String {
        "alpha".to_owned()
    }

    fn bound(&self) -> String {
        "between 0 and 1e9".to_owned()
    }
}

impl BadInput for ChooseError {
    fn field(&self) -> String {
        match self {
            ChooseError::NoArms => "arms".to_owned(),
            ChooseError::WrongDimension { index, .. } | ChooseError::NotFinite { index } => format!("arms[{index}]"),
        }
    }

    fn bound(&self) -> String {
        match self {
            ChooseError::NoArms => "at least one arm".to_owned(),
            ChooseError::WrongDimension { expected, .. } => format!("of dimension {expected}"),
            ChooseError::NotFinite { .. } => "finite and below 1e100 in size".to_owned(),
        }
    }
}

impl BadInput for PlayError {
    fn field(&self) -> String {
        match self {
            PlayError::WrongSize { .. } => "arms".to_owned(),
            PlayError::Choose { step, error: ChooseError::NoArms } => format!("arms[{step}]"),
            PlayError::Choose { step, error } => error.field().replacen("arms", &format!("arms[{step}]"), 1),
            PlayError::Learn { step, error } => match error.field().as_str() {
                "reward" => format!("rewards[{step}]"),
                _ => format!("arms[{step}]"),
            },
        }
    }

    fn bound(&self) -> String {
        match self {
            PlayError::WrongSize { steps, arms, dimension, .. } => {
                format!("{steps} steps of {arms} arms of dimension {dimension}")
            }
            PlayError::Choose { error, .. } => error.bound(),
            PlayError::Learn { error, .. } => error.bound(),
        }
    }
}

impl BadInput for RoundError {
    fn field(&self) -> String {
        match self {
            RoundError::Lambda(_) | RoundError::LambdaTooSmall { .. } => "lambda".to_owned(),
            RoundError::NoOffers | RoundError::TooManyOffers(_) => "offers".to_owned(),
            RoundError::DuplicateClient(client) => format!("client {client}"),
            RoundError::WrongDimension { client, .. } | RoundError::NotPositive { client } => {
                format!("gram of {client}")
            }
            RoundError::BaseNotPositive => "base".to_owned(),
        }
    }

    fn bound(&self) -> String {
        match self {
            RoundError::Lambda(_) => "above 0 and at most 1e15".to_owned(),
            RoundError::NoOffers => "at least one offer".to_owned(),
            RoundError::TooManyOffers(_) => "at most 10000000 offers".to_owned(),
            RoundError::DuplicateClient(_) => "in one offer only".to_owned(),
            RoundError::WrongDimension { expected, .. } => format!("of dimension {expected}"),
            RoundError::NotPositive { .. } | RoundError::BaseNotPositive => SEMI_DEFINITE.to_owned(),
            RoundError::LambdaTooSmall { least, .. } => format!("at least {least:e}"),
        }
    }
}

impl BadInput for DocumentError {
    fn field(&self) -> String {
        match self {
            // The path stands in front of the message, if there is one.
            DocumentError::Shape(message) => match message.split_once(": ") {
                Some((path, _)) if !path.contains(' ') => path.to_owned(),
                _ => String::new(),
            },
            DocumentError::Schema(_) => "schema".to_owned(),
            DocumentError::Client { index, .. } => format!("offers[{index}].client"),
            DocumentError::Ask { index, .. } => format!("offers[{index}].ask"),
            DocumentError::Gram { index, error, .. } => part(&format!("offers[{index}].gram"), &error.field()),
            DocumentError::Base(error) => part("base", &error.field()),
            DocumentError::Reserve(_) => "reserve".to_owned(),
            DocumentError::Purse(_) => "purse".to_owned(),
            DocumentError::Coverage(error) => error.field(),
            DocumentError::Round(error) => error.field(),
        }
    }

    fn bound(&self) -> String {
        match self {
            DocumentError::Shape(_) => "JSON of the fields that a round has".to_owned(),
            DocumentError::Schema(_) => format!("`{}`", crate::auction::ROUND_SCHEMA),
            DocumentError::Client { error, .. } => error.bound(),
            DocumentError::Ask { error, .. } | DocumentError::Reserve(error) | DocumentError::Purse(error) => {
                error.bound()
            }
            DocumentError::Gram { error, .. } | DocumentError::Base(error) => error.bound(),
            DocumentError::Coverage(error) => error.bound(),
            DocumentError::Round(error) => error.bound(),
        }
    }
}

impl BadInput for GenerateError {
    fn field(&self) -> String {
        match self {
            GenerateError::Clients(_) => "clients",
            GenerateError::Dimension(_) => "dimension",
        }
        .to_owned()
    }

    fn bound(&self) -> String {
        match self {
            GenerateError::Clients(_) => "in 1..=10000000",
            GenerateError::Dimension(_) => "in 1..=512",
        }
        .to_owned()
    }
}

impl BadInput for TermsError {
    fn field(&self) -> String {
        self.key()
    }

    /// The message ends with it.
    fn bound(&self) -> String {
        let message = self.to_string();
        match self {
            TermsError::Bandit(error) => error.bound(),
            TermsError::Coverage(error) => error.bound(),
            TermsError::OfferTooLarge { .. } => "so few that norm and reward keep their sums within 9e14".to_owned(),
            _ => message.split_once("it must ").map_or(message.clone(), |(_, bound)| bound.to_owned()),
        }
    }
}

impl BadInput for RefreshError {
    fn field(&self) -> String {
        "snapshot".to_owned()
    }

    fn bound(&self) -> String {
        match self {
            RefreshError::WrongDimension { expected, .. } => format!("of dimension {expected}"),
            RefreshError::NotPositive { .. } | RefreshError::NoEstimate => {
                "statistics that some data can have".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::{Round, RoundDocument, RoundSpec};
    use crate::bandit::{Config, LinUcb, RawConfig};
    use crate::protocol::{CoverageSetting, RawTerms, Terms};
    use crate::statistics::Gram;

    fn check(error: &impl BadInput, field: &str, bound: &str) {
        assert_eq!((error.field().as_str(), error.bound().as_str()), (field, bound), "{error}");
    }

    #[test]
    fn an_error_of_a_round_names_its_field_and_what_it_must_be() {
        let spec = || crate::generate::federation_spec(2, 2, 1).unwrap();
        let refused = |spec: RoundSpec| Round::new(spec).unwrap_err();
        check(&refused(RoundSpec { lambda: f64::NAN, ..spec() }), "lambda", "above 0 and at most 1e15");
        check(&refused(RoundSpec { offers: Vec::new(), ..spec() }), "offers", "at least one offer");
        check(&refused(RoundSpec { base: Gram::zeros(3).unwrap(), ..spec() }), "gram of c0", "of dimension 3");
        let negative = Gram::from_rows(&[[1.0, 2.0], [2.0, 1.0]]).unwrap();
        check(&refused(RoundSpec { base: negative, ..spec() }), "base", SEMI_DEFINITE);
        check(&Gram::from_rows(&[[1.0, 2.0], [f64::NAN, 1.0]]).unwrap_err(), "[1][0]", GRAM_ENTRY);
    }

    #[test]
    fn an_error_of_a_document_names_the_path() {
        let text = RoundDocument::of(&crate::generate::federation_spec(2, 1, 1).unwrap()).to_string();
        let refused = |from: &str, to: &str| RoundDocument::read_round(&text.replacen(from, to, 1)).unwrap_err();
        check(&refused("\"lambda\":0.1", "\"lambda\":0"), "lambda", "above 0 and at most 1e15");
        check(&refused("\"coverage\":0.5", "\"coverage\":2"), "coverage", "above 0 and at most 1");
        check(&refused("\"reserve\":10000", "\"reserve\":-1"), "reserve", "at least 0");
        check(&refused("\"lambda\":0.1", "\"lambda\":\"x\""), "lambda", "JSON of the fields that a round has");
        check(&refused("\"c0\"", "\"\""), "offers[0].client", "a name of 1 to 128 bytes without control characters");
    }

    #[test]
    fn an_error_of_terms_names_the_key() {
        let refused = |raw: RawTerms| Terms::try_from(raw).unwrap_err();
        check(&refused(RawTerms { gap_ms: u64::MAX, ..RawTerms::default() }), "gap_ms", "lie in 0..=86400000");
        check(&refused(RawTerms { norm: f64::NAN, ..RawTerms::default() }), "norm", "lie between 1e-9 and 1e9");
        let bandit = RawConfig { lambda: 0.0, ..RawConfig::default() };
        check(&refused(RawTerms { bandit, ..RawTerms::default() }), "bandit.lambda", "between 1e-9 and 1e9");
        let coverage = CoverageSetting::Ratio(2.0);
        check(&refused(RawTerms { coverage, ..RawTerms::default() }), "coverage", "above 0 and at most 1");
        let raw = RawTerms { samples: 1_000_000_000, norm: 1e9, ..RawTerms::default() };
        check(&refused(raw), "samples", "so few that norm and reward keep their sums within 9e14");
    }

    #[test]
    fn an_error_of_a_bandit_names_the_parameter_or_the_arm() {
        let refused = |raw: RawConfig| Config::try_from(raw).unwrap_err();
        check(&refused(RawConfig { lambda: -1.0, ..RawConfig::default() }), "lambda", "between 1e-9 and 1e9");
        let mut bandit = LinUcb::new(Config::try_from(RawConfig { dimension: 2, ..RawConfig::default() }).unwrap());
        check(&bandit.clone().with_alpha(f64::NAN).unwrap_err(), "alpha", "between 0 and 1e9");
        check(&bandit.scores(&[1.0, 0.0, f64::NAN, 0.0]).unwrap_err(), "arms[1]", "finite and below 1e100 in size");
        check(&bandit.learn(&[1.0, 0.0], 1e7).unwrap_err(), "reward", "finite and at most 1e6 in size");
        let log = bandit.play(&[1.0, 0.0, 0.0, 1.0], &[1.0, f64::INFINITY], 2).unwrap_err();
        check(&log, "rewards[1]", "finite and at most 1e6 in size");
        check(&crate::generate::federation_spec(0, 2, 1).unwrap_err(), "clients", "in 1..=10000000");
    }
}
