//! Which asks of a client are worth trying, whatever the mechanism.
//!
//! The outcome of an auction turns at few asks: where the client is as good value as another that is bought or turned
//! away, where it just fits a budget, where its ask equals another's. These are computed from the data and the asks
//! of the others. Between two of them there is one of each kind of ask, so they come first; then their neighbours one
//! micro-unit away, what budgets leave, and powers of two. Where these are more than are allowed, some are drawn.
//!
//! Not here: whether the client wins there, and what it is paid (`profile`).

use super::paths::{Rival, clock_rivals, greedy_rivals};
use crate::Amount;
use crate::auction::{Round, Seat};
use crate::generate::Stream;

/// Most clients whose greedy and clock paths are followed for every client: the work grows with the cube.
const LONGEST_PATH: usize = 64;
/// The default first budget of `ratchet`, in micro-units. Written here anew: the audit takes nothing from a mechanism.
const FIRST_BUDGET: i128 = 10_000;
/// Doublings from a micro-unit to the largest amount.
const DOUBLINGS: u32 = 60;

/// Asks for the client at `seat`, ascending, at most about `most` of them; 0 and the reserve are among them.
pub(super) fn worth_trying(round: &Round, seat: Seat, most: usize, stream: &mut Stream) -> Vec<Amount> {
    let reserve = i128::from(round.reserve().micros());
    let others = round.seats().filter(|&other| other != seat).map(|other| i128::from(round.ask(other).micros()));
    let others: Vec<i128> = others.collect();
    let mut asks = vec![0, 1, reserve - 1, reserve];
    asks.extend([-1, 0, 1].map(|step| i128::from(round.ask(seat).micros()) + step));
    let (mut turns, mut budgets) = (Vec::new(), Vec::new());
    if round.admitted() <= LONGEST_PATH {
        let path = greedy_rivals(round, seat);
        turns.extend(path.iter().filter_map(Rival::turning_ask));
        // With a purse the clock may go on after the target is given up.
        let targets = [Some(round.required(round.coverage())), round.purse().map(|_| round.level(&[]))];
        for required in targets.into_iter().flatten() {
            turns.extend(clock_rivals(round, seat, required).iter().filter_map(Rival::turning_ask));
        }
        budgets = room_in_budgets(round.ask(seat), &others, &path, reserve);
    }
    turns.extend(&others);
    add_some(&mut asks, turns.clone(), reserve, most, stream);
    budgets.extend((0..DOUBLINGS).map(|power| 1 << power));
    let mut more = neighbours(&turns);
    more.extend(budgets.iter().copied().chain(neighbours(&budgets)));
    add_some(&mut asks, more, reserve, most, stream);
    sorted(asks, reserve).into_iter().map(Amount::saturating).collect()
}

/// What the purchases before each step leave of the budgets that mechanisms may raise: from a fixed first one, from the
/// smallest ask of the others, and from the own ask, where that is the smallest.
fn room_in_budgets(own: Amount, others: &[i128], path: &[Rival], reserve: i128) -> Vec<i128> {
    let least = others.iter().copied().filter(|&ask| ask > 0).min();
    let own = i128::from(own.micros()).max(1);
    let firsts = [Some(FIRST_BUDGET), least, least.map(|least| least.min(own))];
    let spent = path.iter().map(|rival| rival.spent).chain(path.last().map(Rival::spent_after));
    let mut room = Vec::new();
    for spent in spent {
        for &first in firsts.iter().flatten() {
            let budgets = (0..DOUBLINGS).map(|power| first << power);
            room.extend(
                budgets.map(|budget| budget - spent).skip_while(|left| *left < 0).take_while(|left| *left <= reserve),
            );
        }
        let shares = (0..DOUBLINGS).map_while(|power| Some(1_i64 << power).filter(|grown| i128::from(*grown) <= spent));
        room.extend(shares.flat_map(|grown| [spent >> grown.ilog2(), spent / i128::from((grown - 1).max(1))]));
    }
    room
}

fn neighbours(asks: &[i128]) -> Vec<i128> {
    asks.iter().flat_map(|&ask| [ask - 1, ask + 1]).collect()
}

/// Adds asks up to a number in all; of too many, some at random.
fn add_some(asks: &mut Vec<i128>, more: Vec<i128>, reserve: i128, most: usize, stream: &mut Stream) {
    let mut more = sorted(more, reserve);
    let room = most.saturating_sub(asks.len()).min(more.len());
    let needs_draw = room < more.len();
    for place in 0..room {
        let drawn = if needs_draw { stream.between(place, more.len() - 1) } else { place };
        more.swap(place, drawn);
    }
    asks.extend(&more[..room]);
}

fn sorted(mut asks: Vec<i128>, reserve: i128) -> Vec<i128> {
    asks.retain(|ask| (0..=reserve).contains(ask));
    asks.sort_unstable();
    asks.dedup();
    asks
}
