// One round: who offered what, who won, what each is paid, and why.
import { useState } from "preact/hooks";
import { download } from "../api";
import { AuctionChart, PhasesChart } from "../chart";
import { ClockView } from "./clock";
import { column, count, counted, moment, money, percent } from "../format";
import { Badge, Hash, nats, Problem, Table, useFetched } from "../parts";
import type { Column } from "../parts";
import type { Auction, Offer, RoundView } from "../types";

export function RoundPage({ round, version }: { round: number; version: number }) {
  const { value: view, problem } = useFetched<RoundView>(`/page/rounds/${round}`, version);
  const [failed, setFailed] = useState<Error | null>(null);
  const heading = (
    <div class="bar">
      <h1>Round {count(round)}</h1>
      <nav aria-label="Neighbouring rounds">
        {round > (view?.first ?? 1) && <a href={`#/rounds/${round - 1}`} rel="prev">← {count(round - 1)}</a>}{" "}
        {view !== null && round < view.last && <a href={`#/rounds/${round + 1}`} rel="next">{count(round + 1)} →</a>}
      </nav>
      {view?.state === "settled" && (
        <button type="button" onClick={() => download(`/page/rounds/${round}/round.json`, `round-${round}.json`).catch(setFailed)}>
          Download for truthfed auction
        </button>
      )}
    </div>
  );
  if (view === null) return <>{heading}{problem ? <Problem problem={problem} /> : <p class="muted">Asks the coordinator…</p>}</>;
  return (
    <>
      {heading}
      <Problem problem={problem ?? failed} />
      <section class="card" aria-label="Summary">
        <dl class="facts">
          <div><dt>State</dt><dd><Badge kind={view.state === "settled" ? "good" : view.state === "aborted" ? "warn" : "calm"}>{view.words}</Badge></dd></div>
          <div><dt>{view.state === "ruled" ? "About" : "Asked for by"}</dt><dd>{view.asked_by}</dd></div>
          <div><dt>Opened (UTC)</dt><dd>{moment(view.opened_ms)}</dd></div>
          {view.ended_ms !== null && <div><dt>Ended</dt><dd>{((view.ended_ms - view.opened_ms) / 1000).toFixed(3)} s later</dd></div>}
          {view.figure?.coverage != null && <div><dt>Coverage</dt><dd>{percent(view.figure.coverage)}, target {percent(view.figure.target!)}</dd></div>}
          <div><dt>Paid</dt><dd>{money(view.paid)} units</dd></div>
          {view.waiting !== "0" && <div><dt>Payments that wait</dt><dd>{money(view.waiting)} units</dd></div>}
          {view.released !== "0" && <div><dt>Paid for earlier rounds</dt><dd>{money(view.released)} units</dd></div>}
          {view.awaited.length > 0 && <div><dt>Awaited</dt><dd>{view.awaited.slice(0, 20).join(", ")}{view.awaited.length > 20 && ` and ${count(view.awaited.length - 20)} more`}</dd></div>}
          {view.declined.length > 0 && <div><dt>Declined</dt><dd>{view.declined.slice(0, 20).join(", ")}{view.declined.length > 20 && ` and ${count(view.declined.length - 20)} more`}</dd></div>}
        </dl>
        <dl class="facts">
          <div><dt>First entry of the journal</dt><dd>{count(view.entry)}</dd></div>
          {view.sealed !== null && <div><dt>Hash of all offers</dt><dd><Hash hash={view.sealed} /></dd></div>}
          {view.aggregate !== null && <div><dt>Hash of what is settled</dt><dd><Hash hash={view.aggregate} /></dd></div>}
          {view.figure !== null && view.state === "settled" && <div><dt>Checked</dt><dd><Badge kind="good">winners and payments recomputed from the journal</Badge></dd></div>}
        </dl>
      </section>
      {view.ended_ms !== null && view.state !== "ruled" && (
        <section class="card" aria-label="Phases on a time axis">
          <PhasesChart round={view} />
          <p class="muted">
            A phase ends when nobody is awaited, or after {(view.limits.offers_ms / 1000).toFixed(1)} s for offers and {(view.limits.deliveries_ms / 1000).toFixed(1)} s for deliveries.
          </p>
        </section>
      )}
      {view.state === "settled" ? <Auctioned view={view} /> : view.state !== "ruled" && <Offers view={view} auction={null} />}
    </>
  );
}

function Auctioned({ view }: { view: RoundView }) {
  const { value: auction, problem } = useFetched<Auction>(`/page/rounds/${view.round}/auction`, 0);
  return (
    <>
      <Problem problem={problem} />
      {auction === null && !problem && <p class="muted" role="status">Replays the journal up to this round, to measure the offers…</p>}
      {auction !== null && (
        <section class="card" aria-label="Gain against ask">
          <AuctionChart auction={auction} />
          <p class="muted">
            {auction.mechanism === "clock"
              ? "The gain is what was lost without the offer among those still in, when it was turned away or, for winners, when the last one was. Winners above the line are those the target could not do without."
              : "The gain is what would be lost without the offer while all others take part."}
          </p>
        </section>
      )}
      {auction?.steps && auction.steps.length > 0 && <ClockView auction={auction} steps={auction.steps} />}
      <Offers view={view} auction={auction} />
    </>
  );
}

function Offers({ view, auction }: { view: RoundView; auction: Auction | null }) {
  const known = new Map(auction?.offers.map((offer) => [offer.member, offer]));
  const [asks, payments] = [column(view.offers.map((offer) => offer.ask)), column(view.offers.map((offer) => offer.payment))];
  const columns: Column<Offer>[] = [
    { name: "client", by: (offer) => offer.member, show: (offer) => <strong>{offer.member}</strong> },
    { name: "samples", number: true, by: (offer) => offer.samples, show: (offer) => count(offer.samples) },
    { name: "ask", unit: "units", number: true, by: (offer) => Number(offer.ask ?? -1), show: (offer) => (offer.ask === null ? <span class="muted">sealed later</span> : asks(offer.ask)) },
    { name: "gain", unit: "nats", number: true, by: (offer) => known.get(offer.member)?.gain ?? -1, show: (offer) => nats(known.get(offer.member)?.gain ?? null) },
    {
      name: "outcome",
      by: (offer) => offer.outcome,
      show: (offer) => offer.outcome && <Badge kind={offer.outcome === "won, paid" || offer.outcome === "won" ? "good" : offer.outcome === "lost" ? "calm" : "warn"}>{offer.outcome}</Badge>,
    },
    { name: "payment", unit: "units", number: true, by: (offer) => Number(offer.payment ?? -1), show: (offer) => payments(offer.payment) },
    { name: "why", show: (offer) => known.get(offer.member)?.why ?? "" },
  ];
  return (
    <section class="card" aria-labelledby="offers">
      <h2 id="offers">{counted(view.offers.length, "offer")}</h2>
      <Table caption={`Offers of round ${view.round}`} columns={columns} rows={view.offers} name={(offer) => offer.member} empty="No offer yet." />
    </section>
  );
}
