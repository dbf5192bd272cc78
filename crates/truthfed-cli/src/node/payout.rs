//! `truthfed ledger payout`: records what was transferred to members.

use truthfed::auction::ClientId;
use truthfed_node::coordinator::operator::{Order, OrderReply, PayoutReply, PayoutRequest};
use truthfed_node::federation::{Federation, open};
use truthfed_node::identity::check_name;

use super::args::{PayoutArgs, PayoutCommand};
use super::block_on;
use super::ledger::units;
use super::operator::{an_engine, ask, is_unreachable, unexpected};
use crate::report::{Report, json};

pub(super) fn run(PayoutCommand::Record(args): &PayoutCommand) -> anyhow::Result<Report> {
    let PayoutArgs { of, member, amount, reference } = args;
    let federation = open(&of.folder)?;
    let member = check_name(member)?;
    let request = PayoutRequest { amount_micros: *amount, reference: reference.clone() };
    let reply = block_on(record(&federation, member.clone(), request))?;
    let PayoutReply { entry, owed_micros } = reply;
    let (paid, owed) = (units(i128::from(amount.micros())), units(i128::from(owed_micros)));
    Ok(Report::done(match of.json {
        true => json(&reply),
        false => format!("Entry {entry}: {paid} paid out to {member} as {reference}. {owed} owed now.\n"),
    }))
}

async fn record(federation: &Federation, member: ClientId, request: PayoutRequest) -> anyhow::Result<PayoutReply> {
    match ask(federation, &Order::PayOut(member.clone(), request.clone())).await {
        Ok(OrderReply::PayOut(reply)) => Ok(reply),
        Err(error) if is_unreachable(&error) => by_an_engine(federation, member, request).await,
        reply => unexpected(reply),
    }
}

async fn by_an_engine(
    federation: &Federation,
    member: ClientId,
    request: PayoutRequest,
) -> anyhow::Result<PayoutReply> {
    let running = an_engine(federation).await?;
    let handle = running.handle();
    let recorded = handle.pay_out(member, request.amount_micros, request.reference).await;
    drop(handle);
    running.stop().await?;
    Ok(PayoutReply::read(&String::from(recorded?))?)
}
