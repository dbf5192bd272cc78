// How the member stands: what it has learned and sold, the round in progress, its last rounds, its certificate.
import { PaidChart } from "../chart";
import { count, counted, money } from "../format";
import { Badge, Certificate, Countdown, Hash, Phases, Tile } from "../parts";
import { AllRight, Lines, Outcome } from "./lines";
import type { Overview as View } from "./types";

const PHASES = ["offers", "deliveries"] as const;

function Live({ view: { open, rounds, status } }: { view: View }) {
  const line = rounds.find((line) => line.round === open?.round);
  return (
    <section class="card" aria-labelledby="live">
      <h2 id="live">{open ? `Round ${count(open.round)}` : "No round is open"}</h2>
      <Phases names={PHASES} shown={open?.phase ?? null} />
      {open ? (
        <>
          <Countdown open={open} />
          <dl class="facts">
            <div><dt>This member</dt><dd>{line ? <Outcome line={line} /> : open.samples !== null ? "offers" : open.has_declined ? "declined" : "has not answered"}</dd></div>
            {open.samples !== null && <div><dt>Offered</dt><dd>{counted(open.samples, "sample")}</dd></div>}
            {open.ask !== null && <div><dt>Ask</dt><dd class="number">{money(open.ask)} units</dd></div>}
          </dl>
        </>
      ) : (
        <p class="muted">{status.last_round > 0 && `The last was round ${count(status.last_round)}. `}A round opens when a member has learned enough.</p>
      )}
    </section>
  );
}

export function Overview({ view }: { view: View }) {
  const { status, sums, months, rounds } = view;
  const waiting = status.payments_waiting;
  const month = months.find((known) => known.month === new Date().toISOString().slice(0, 7));
  const paid = rounds.map((line) => ({ round: line.round, paid: line.payment ?? "0" }));
  return (
    <>
      <h1>Overview</h1>
      <dl class="tiles">
        <Tile name="Earned" value={money(status.earned)} unit="units" note={`${money(month?.earned ?? "0")} this month`} />
        <Tile name="Payments that wait" value={count(waiting)} note={waiting ? "until others' data confirms them" : "none"} />
        <Tile name="Unshared" value={count(status.unshared)} unit="samples" note={`decides by ${count(status.known)} in all`} />
        <Tile name="In flight" value={count(status.in_flight)} unit="samples" note="offered in a round that has not ended" />
        <Tile name="Held" value={count(status.own)} unit="samples" note="delivered, used by nobody else" warn={status.own > 0} />
      </dl>
      <div class="columns">
        <Live view={view} />
        <section class="card" aria-label="Last rounds in a chart">
          <PaidChart rounds={paid} />
        </section>
        <section class="card" aria-labelledby="standing">
          <h2 id="standing">Standing</h2>
          <dl class="facts wide">
            <div><dt>Takes part</dt><dd>{status.problem ? <Badge kind="bad">no: {status.problem}</Badge> : <Badge kind="good">yes</Badge>}</dd></div>
            <div><dt>Coordinator</dt><dd><Badge kind={status.coordinator_reachable ? "good" : "bad"}>{status.coordinator_reachable ? "answers" : "is away"}</Badge></dd></div>
            <div><dt>Receipts</dt><dd><AllRight sums={sums} /></dd></div>
            <div><dt>Rounds</dt><dd>won {count(sums.won)} of {counted(sums.rounds, "offer")}</dd></div>
            <div><dt>Federation</dt><dd><Hash hash={view.federation} /></dd></div>
            <div><dt>Coordinator's key</dt><dd><Hash hash={view.coordinator_key} /></dd></div>
            <div><dt>Terms</dt><dd>{view.terms.mechanism}, reserve {money(view.terms.reserve)} units, dimension {view.terms.dimension}</dd></div>
          </dl>
          {view.certificate && (
            <>
              <h3>Certificate</h3>
              <dl class="facts wide"><Certificate expiry={view.certificate} /></dl>
            </>
          )}
        </section>
      </div>
      <section class="card" aria-labelledby="last">
        <h2 id="last">Last rounds</h2>
        <Lines caption="Last rounds" lines={rounds.slice(-10).reverse()} />
        <p><a href="#/rounds">All rounds</a></p>
      </section>
    </>
  );
}
