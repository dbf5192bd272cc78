//! Lower bounds of the cost of completing a set, by fractional knapsacks.
//!
//! Floats, rounded the safe way: a bound that is a hair too low only costs time.

/// Relative safety margin: sums of at most 128 terms round by less than 128 * 2^-52 = 3e-14.
const SAFE: f64 = 1.0 - 1e-9;

/// A free client in a bound.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) ask: f64,
    /// The most it can add.
    pub(super) gain: f64,
    /// The least that is lost without it.
    pub(super) loss: f64,
}

/// The least cost of adding at least `missing`, when each item adds at most its gain.
pub(super) fn cost_of_missing(items: &mut [Item], missing: f64) -> f64 {
    items.sort_unstable_by(|a, b| per(a.ask, a.gain).total_cmp(&per(b.ask, b.gain)));
    let (mut rest, mut cost) = (missing, 0.0);
    for item in items.iter() {
        if rest <= item.gain {
            return (cost + item.ask * (rest / item.gain).max(0.0)) * SAFE;
        }
        rest -= item.gain;
        cost += item.ask;
    }
    f64::INFINITY
}

/// The sum of asks less the most that can be saved by leaving items out, when each costs at least its loss and
/// only `spare` may be lost.
pub(super) fn cost_after_savings(items: &mut [Item], spare: f64) -> f64 {
    items.sort_unstable_by(|a, b| per(b.ask, b.loss).total_cmp(&per(a.ask, a.loss)));
    let (mut rest, mut kept) = (spare, 0.0);
    for item in items.iter() {
        if item.loss <= rest {
            rest -= item.loss;
        } else {
            kept += item.ask * (1.0 - rest / item.loss);
            rest = 0.0;
        }
    }
    kept * SAFE
}

/// Ask for each unit; infinite where there are none, whatever is asked.
fn per(ask: f64, units: f64) -> f64 {
    if units > 0.0 { ask / units } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items() -> Vec<Item> {
        [(4.0, 2.0, 1.0), (3.0, 1.0, 1.0), (1.0, 1.0, 0.25)].map(|(ask, gain, loss)| Item { ask, gain, loss }).to_vec()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn the_missing_is_bought_by_value_and_in_part() {
        assert!(close(cost_of_missing(&mut items(), 1.0), 1.0));
        assert!(close(cost_of_missing(&mut items(), 2.0), 3.0));
        assert_eq!(cost_of_missing(&mut items(), 4.5), f64::INFINITY);
        assert!(close(cost_of_missing(&mut items(), 0.0), 0.0));
    }

    #[test]
    fn clients_without_ask_or_without_loss_do_not_spoil_the_order() {
        // Free and worthless: as a rule of cross products it would equal every other item.
        let mut items = items();
        items.insert(1, Item { ask: 0.0, gain: 0.0, loss: 0.0 });
        items.push(Item { ask: 0.0, gain: 1.0, loss: 0.5 });
        assert!(close(cost_of_missing(&mut items, 2.0), 1.0));
        assert!(close(cost_after_savings(&mut items, 0.5), 6.0));
    }

    #[test]
    fn savings_are_taken_by_ask_per_loss_and_in_part() {
        assert!(close(cost_after_savings(&mut items(), 0.0), 8.0));
        assert!(close(cost_after_savings(&mut items(), 0.5), 6.0));
        assert!(close(cost_after_savings(&mut items(), 3.0), 0.0));
    }
}
