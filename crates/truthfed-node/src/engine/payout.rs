//! Records what the operator transferred to a member: each transfer once, and none of more than is owed.

use serde::{Deserialize, Serialize};
use truthfed::Amount;
use truthfed::auction::ClientId;

use super::state::{State, json};
use crate::error::{Code, Refusal};
use crate::journal::Entry;
use crate::ledger::{Account, Cause, Posting, Reference};
use crate::store::{Recorded, Store};

/// Where a payout is recorded, and what is owed to the member after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaidOut {
    /// The entry of the journal.
    pub entry: u64,
    pub owed_micros: i128,
}

pub(super) fn record(
    state: &mut State,
    member: ClientId,
    amount: Amount,
    reference: Reference,
    store: &mut dyn Store,
) -> Result<String, Refusal> {
    if !state.members.by_name().contains_key(&member) {
        let message = format!("{member} is not, and was not, a member of this federation");
        return Err(Refusal::new(Code::UnknownMember, message));
    }
    let owed = owed(state, &member, store)?;
    match recorded(state, &member, &reference, store)? {
        Some(Recorded { entry, micros }) if micros == amount.micros() => {
            return Ok(json(&PaidOut { entry, owed_micros: owed }));
        }
        Some(Recorded { entry, .. }) => {
            let message = format!("entry {entry} records {reference} to {member} with another amount");
            return Err(Refusal::new(Code::PayoutExists, message));
        }
        None => {}
    }
    check_owed(&member, amount, owed)?;
    let (entry, at_ms) = (state.version() + 1, state.moment);
    state.draft.record(&Entry::PaidOut { member, amount_micros: amount, reference, at_ms });
    state.noted = at_ms;
    state.vouch(None);
    Ok(json(&PaidOut { entry, owed_micros: owed - i128::from(amount.micros()) }))
}

fn check_owed(member: &ClientId, amount: Amount, owed: i128) -> Result<(), Refusal> {
    #[cfg(feature = "planted-faults")]
    if truthfed::planted::is(truthfed::planted::Fault::OwedIgnored) {
        return Ok(());
    }
    if amount == Amount::ZERO || i128::from(amount.micros()) > owed {
        let owed = crate::ledger::decimal_units(owed);
        let message = format!("{owed} units are owed to {member}: {amount} cannot be paid out");
        return Err(Refusal::new(Code::NotOwed, message));
    }
    Ok(())
}

/// What is owed to a member, with what is to be committed.
fn owed(state: &State, member: &ClientId, store: &mut dyn Store) -> Result<i128, Refusal> {
    let kept = store.owed(member).map_err(|error| Refusal::from(&error))?;
    let is_own = |posting: &&Posting| matches!(&posting.account, Account::Member(whose) if whose == member);
    let drafted = state.batch().postings.iter().filter(is_own).map(|posting| i128::from(posting.micros));
    Ok(kept + drafted.sum::<i128>())
}

/// The payout of that reference, committed or about to be.
fn recorded(
    state: &State,
    member: &ClientId,
    reference: &Reference,
    store: &mut dyn Store,
) -> Result<Option<Recorded>, Refusal> {
    let is_it = |posting: &&Posting| {
        let is_named = matches!(&posting.cause, Cause::Payout(known) if known == reference);
        is_named && posting.account == Account::PaidOut && posting.member == *member
    };
    let drafted = state.batch().postings.iter().find(is_it).map(Recorded::from);
    match drafted {
        Some(recorded) => Ok(Some(recorded)),
        None => store.payout(member, reference).map_err(|error| Refusal::from(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Period;
    use crate::engine::{Clock, Command, Core, Setup};
    use crate::ledger::{Accounts, Trust, verify};
    use crate::testing::{Forwarding, Played, Stepwise, id};

    /// After a round, and somebody to whom something is owed.
    fn owing() -> (Played, ClientId, i128) {
        let mut played = Played::new(&["a", "b", "c"]);
        played.full_round();
        let accounts = Accounts::read(&mut played.store(), Period::ALWAYS).unwrap();
        let (name, balance) = accounts.members.into_iter().find(|(_, it)| it.owed_micros > 9).unwrap();
        (played, name, balance.owed_micros)
    }

    fn micros(micros: i128) -> Amount {
        Amount::from_micros(micros as i64).unwrap()
    }

    #[test]
    fn the_same_payout_again_changes_nothing_also_after_a_restart_and_another_amount_is_refused() {
        let (played, name, owed) = owing();
        let mut engine = Stepwise::start(played.federation.setup(), played.store()).unwrap();
        let pay = |engine: &mut Stepwise, amount| engine.pay_out(name.clone(), micros(amount), "x".parse().unwrap());
        let first = pay(&mut engine, 4).unwrap();
        let (written, expected) =
            (engine.store(), PaidOut { entry: played.entries.len() as u64 + 1, owed_micros: owed - 4 });
        assert_eq!(serde_json::from_str::<PaidOut>(&first).unwrap(), expected);
        assert_eq!(pay(&mut engine, 4).unwrap(), first);
        let mut again = Stepwise::start(played.federation.setup(), written.clone()).unwrap();
        assert_eq!(pay(&mut again, 4).unwrap(), first);
        assert_eq!(pay(&mut again, 5).unwrap_err().code, Code::PayoutExists);
        assert!(again.store().rows == written.rows && engine.store().rows == written.rows);
        assert!(verify(&mut again.store(), &Trust::default()).unwrap().is_right());
    }

    #[test]
    fn nothing_more_than_is_owed_is_paid_out_also_within_one_batch() {
        let (played, name, owed) = owing();
        let store = Forwarding::new(played.store());
        let mut core = Core::start(played.federation.setup(), Box::new(store.clone())).unwrap();
        let pay = |amount, reference: &str| Command::pay_out(name.clone(), micros(amount), reference.parse().unwrap());
        let stranger = Command::pay_out(id("nobody"), micros(1), "x".parse().unwrap());
        let batch =
            vec![pay(0, "0"), pay(owed + 1, "1"), pay(owed - 1, "2"), pay(owed - 1, "2"), pay(2, "3"), stranger];
        let answers = core.work(batch, &mut |_| false).unwrap();
        let codes: Vec<Option<Code>> = answers.iter().map(|it| it.as_ref().err().map(|it| it.code)).collect();
        let (not_owed, unknown) = (Some(Code::NotOwed), Some(Code::UnknownMember));
        assert_eq!(codes, [not_owed, not_owed, None, None, not_owed, unknown]);
        let left = Accounts::read(&mut store.look(|store| store.clone()), Period::ALWAYS).unwrap().members[&name];
        assert_eq!((left.owed_micros, left.paid_out_micros), (1, owed - 1));
    }

    #[test]
    fn a_payout_moves_no_round_on_and_no_later_time_is_before_it() {
        let (mut played, name, _) = owing();
        played.begin();
        played.offer("a", 3);
        let offers_ms = played.federation.agreement.raw().offers_ms;
        played.wait(offers_ms - 1);
        let late = Clock::simulated();
        // A coordinator that starts again gives the phase its whole time: the payout is later than the first deadline.
        late.set(played.now().plus_ms(offers_ms / 2));
        let setup = || Setup { clock: late.clone(), ..played.federation.setup() };
        let mut engine = Stepwise::start(setup(), played.store()).unwrap();
        engine.wait(offers_ms / 2);
        engine.pay_out(name, micros(1), "x".parse().unwrap()).unwrap();
        let recorded = late.now();
        let mut again = Stepwise::start(setup(), engine.store()).expect("the journal is taken up");
        assert!(again.published().open_round().is_some(), "the round goes on");
        // The clock is set back.
        late.set(played.now());
        again = Stepwise::start(setup(), again.store()).unwrap();
        again.pass_time();
        again.wait(10 * offers_ms);
        let times: Vec<_> = again.store().entries().iter().filter_map(Entry::at).collect();
        assert!(times.is_sorted() && times.last() >= Some(&recorded), "{times:?}");
        assert!(verify(&mut again.store(), &Trust::default()).unwrap().is_right());
    }
}
