//! What `--purse` takes: an amount, or a share of what the round costs without one.

use std::fmt;
use std::str::FromStr;

use truthfed::Amount;
use truthfed::auction::catalog::{self, Claim};
use truthfed::auction::{Clock, Mechanism, MechanismSetting, Round};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Purse {
    Amount(Amount),
    /// In millionths of what [`Clock`] pays without a purse.
    Share(u32),
}

impl FromStr for Purse {
    type Err = String;

    fn from_str(text: &str) -> Result<Purse, String> {
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Purse::Amount).map_err(|error: truthfed::AmountError| error.to_string());
        };
        let expected = || format!("`{text}` is not a share: it must lie in 0%..=100%, with at most 4 decimals");
        // A percentage is read as money is: exactly.
        let share: Amount = percent.parse().map_err(|_| expected())?;
        let millionths = share.micros() / 100;
        if share.micros() % 100 != 0 || millionths > 1_000_000 {
            return Err(expected());
        }
        u32::try_from(millionths).map(Purse::Share).map_err(|_| expected())
    }
}

impl fmt::Display for Purse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Purse::Amount(amount) => amount.fmt(f),
            Purse::Share(millionths) => {
                let percent = Amount::saturating(i128::from(millionths) * 100);
                write!(f, "{percent} % of what the round costs without one")
            }
        }
    }
}

impl Purse {
    /// The round with this purse.
    pub(crate) fn in_round(self, round: &Round) -> Round {
        let purse = match self {
            Purse::Amount(amount) => amount,
            Purse::Share(millionths) => {
                let unbound = Clock.run(&round.with_purse(None)).map_or(0, |outcome| outcome.payments().micros());
                Amount::saturating(unbound * i128::from(millionths) / 1_000_000)
            }
        };
        round.with_purse(Some(purse))
    }
}

/// That a mechanism keeps to a purse.
pub(crate) fn check(setting: &MechanismSetting) -> anyhow::Result<()> {
    let keeps = |claims: catalog::Claims| claims.within_purse == Claim::Yes;
    let keeping = || catalog::entries().iter().filter(|entry| keeps(entry.claims())).map(|entry| entry.name);
    anyhow::ensure!(
        keeps(setting.claims()),
        "--purse: {} cannot keep to a purse: take --mechanism {}",
        setting.name(),
        keeping().collect::<Vec<_>>().join(" or "),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_or_a_share_is_read() {
        assert_eq!("12.5".parse(), Ok(Purse::Amount("12.5".parse().unwrap())));
        assert_eq!("50%".parse(), Ok(Purse::Share(500_000)));
        assert_eq!("0.0001%".parse(), Ok(Purse::Share(1)));
        for wrong in ["", "-1", "%", "101%", "-1%", "1e-9%", "x%", "1.00001%"] {
            assert!(wrong.parse::<Purse>().is_err(), "{wrong}");
        }
        assert_eq!(Purse::Share(500_000).to_string(), "50 % of what the round costs without one");
    }
}
