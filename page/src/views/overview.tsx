// What is going on: the round in progress, the last rounds, members, money, certificates, health.
import { CoverageChart, PaidChart } from "../chart";
import { ago, clock, column, count, counted, money, percent } from "../format";
import { Badge, Certificate, Checked, Countdown, Hash, Phases, Problem, Round, Table, Tile, useFetched } from "../parts";
import type { Figure, Overview as View, Step } from "../types";

const PHASES = ["open", "offers", "award", "deliveries", "settled"] as const;
type Phase = (typeof PHASES)[number];

/** The phase that an entry of the journal begins. */
const BEGINS: Record<string, Phase> = {
  opened: "open",
  offered: "offers",
  declined: "offers",
  sealed: "award",
  awarded: "deliveries",
  delivered: "deliveries",
  settled: "settled",
};

const TELLS: Record<string, string> = {
  genesis: "the federation begins",
  enrolled: "is enrolled",
  revoked: "is revoked",
  opened: "opens the round",
  offered: "offers",
  declined: "declines",
  sealed: "no more offers are taken",
  awarded: "winners are decided",
  delivered: "delivers",
  settled: "settled and paid",
  aborted: "ended without an auction",
  ruled: "is ruled about by the operator",
  "paid-out": "is paid out",
};

function Live({ view, steps }: { view: View; steps: Step[] }) {
  const { open } = view;
  const last = steps.find((step) => step.round !== null && step.kind in BEGINS);
  const phase: Phase | null = open ? (open.phase === "deliveries" ? "deliveries" : "offers") : last ? BEGINS[last.kind]! : null;
  const round = open?.round ?? last?.round ?? view.closed;
  const shown = open ? phase : null;
  return (
    <section class="card live" aria-labelledby="live">
      <h2 id="live">{open ? <>Round <Round round={round} /></> : "No round is open"}</h2>
      <Phases names={PHASES} shown={shown} />
      {open ? (
        <>
          <Countdown open={open} />
          <dl class="facts">
            <div><dt>Opened by</dt><dd>{open.asked_by}</dd></div>
            <div><dt>Offers</dt><dd class="number">{count(open.offers ?? 0)}</dd></div>
            <div><dt>Declined</dt><dd class="number">{count(open.declined ?? 0)}</dd></div>
            {open.phase === "deliveries" && <div><dt>Delivered</dt><dd class="number">{`${open.deliveries} of ${open.winners}`}</dd></div>}
          </dl>
          <p>
            <span class="muted">Awaited:</span> {open.awaited.length === 0 ? "nobody" : open.awaited.slice(0, 12).join(", ")}
            {open.awaited.length > 12 && ` and ${count(open.awaited.length - 12)} more`}
          </p>
        </>
      ) : (
        <p class="muted">
          {view.closed > 0 ? <>The last was round <Round round={view.closed} />. </> : null}A round opens when a member has learned enough.
        </p>
      )}
      <h3>Journal</h3>
      <ol class="feed" aria-label="Last entries of the journal" tabIndex={0}>
        {steps.map((step) => (
          <li key={step.entry} data-kind={step.kind} data-round={step.round ?? ""}>
            <span class="muted number">{clock(step.at_ms)}</span>{" "}
            {step.round !== null && <span class="muted">{count(step.round)}</span>} {step.member && <strong>{step.member}</strong>} {TELLS[step.kind] ?? step.kind}
          </li>
        ))}
        {steps.length === 0 && <li class="muted">Nothing since the page was opened.</li>}
      </ol>
    </section>
  );
}

export const roundColumns = (rounds: Figure[]) => {
  const paid = column(rounds.map((round) => round.paid));
  return [
    { name: "round", number: true, by: (round: Figure) => round.round, show: (round: Figure) => <Round round={round.round} /> },
    { name: "opened", unit: "UTC", by: (round: Figure) => round.opened_ms, show: (round: Figure) => <time dateTime={new Date(round.opened_ms).toISOString()}>{`${new Date(round.opened_ms).toISOString().slice(0, 10)} ${clock(round.opened_ms)}`}</time> },
    { name: "ended", show: (round: Figure) => round.words },
    { name: "offers", number: true, by: (round: Figure) => round.offers, show: (round: Figure) => count(round.offers) },
    { name: "won", number: true, by: (round: Figure) => round.winners, show: (round: Figure) => count(round.winners) },
    { name: "coverage", number: true, by: (round: Figure) => round.coverage ?? -1, show: (round: Figure) => (round.coverage === null ? "" : percent(round.coverage)) },
    { name: "target", number: true, show: (round: Figure) => (round.target === null ? "" : percent(round.target)) },
    { name: "paid", unit: "units", number: true, by: (round: Figure) => Number(round.paid), show: (round: Figure) => paid(round.paid) },
    {
      name: "notes",
      show: (round: Figure) => (
        <>
          {round.held.length > 0 && <Badge kind="bad">held: {round.held.join(", ")}</Badge>}{" "}
          {round.essential > 0 && <Badge kind="warn">{count(round.essential)} essential</Badge>}{" "}
          {round.defaulted > 0 && <Badge kind="warn">{count(round.defaulted)} not delivered</Badge>}
        </>
      ),
    },
  ];
};

export function Overview({ version, steps }: { version: number; steps: Step[] }) {
  const { value: view, problem } = useFetched<View>("/page/overview", version);
  if (view === null) return problem ? <Problem problem={problem} /> : <p class="muted">Asks the coordinator…</p>;
  const { money: sums, members, rounds } = view;
  const held = view.doubts.filter((doubt) => doubt.is_held);
  const purse = sums.daily_purse === null ? "no daily purse" : `of ${money(sums.daily_purse)} a day`;
  return (
    <>
      <h1>Overview</h1>
      <Problem problem={problem} />
      <dl class="tiles">
        <Tile name="Members online" value={`${count(members.online)} of ${count(members.present)}`} note={members.revoked ? `${count(members.revoked)} revoked` : undefined} />
        <Tile name="Awarded today" value={money(sums.today)} unit="units" note={purse} />
        <Tile name="Owed" value={money(sums.owed)} unit="units" note={`${money(sums.paid_out)} paid out`} />
        <Tile name="Promised, not owed" value={money(sums.promised)} unit="units" note={sums.purse === null ? "no purse per round" : `purse per round ${money(sums.purse)}`} />
        <Tile name="Held deliveries" value={count(held.length)} warn={held.length > 0} note={held.length ? held.map((doubt) => doubt.member).join(", ") : "none contradicts others'"} />
      </dl>
      <div class="columns">
        <Live view={view} steps={steps} />
        <section class="card" aria-label="Last rounds in charts">
          <CoverageChart rounds={rounds} />
          <PaidChart rounds={rounds} />
        </section>
        <section class="card" aria-labelledby="health">
          <h2 id="health">Health</h2>
          <dl class="facts wide">
            <div><dt>Coordinator</dt><dd><Badge kind={view.role === "active" ? "good" : "bad"}>{view.role}{view.why ? `: ${view.why}` : ""}</Badge></dd></div>
            <div><dt>Journal</dt><dd><Checked journal={view.journal} /></dd></div>
            <div><dt>Epoch of the lease</dt><dd>{count(view.epoch)}</dd></div>
            <div><dt>Runs since</dt><dd>{ago(view.uptime_ms)}</dd></div>
            <div><dt>Federation</dt><dd><Hash hash={view.federation} /></dd></div>
            <div><dt>Terms</dt><dd>{view.terms.mechanism}, reserve {money(view.terms.reserve)} units, dimension {view.terms.dimension}</dd></div>
          </dl>
          <h3>Certificates</h3>
          <dl class="facts wide">
            {view.certificates.map((expiry) => <Certificate key={expiry.of} expiry={expiry} />)}
          </dl>
          {view.doubts.length > 0 && (
            <>
              <h3>In doubt</h3>
              <ul class="plain">
                {view.doubts.map((doubt) => (
                  <li key={`${doubt.member}-${doubt.is_held}`}>
                    <a href={`#/members?find=${encodeURIComponent(doubt.member)}`}>{doubt.member}</a>{" "}
                    <Badge kind={doubt.is_held ? "bad" : "calm"}>{doubt.is_held ? "held" : "compared"}</Badge> since round <Round round={doubt.since} />, {counted(doubt.payments, "payment")} of {money(doubt.waiting)} units wait
                  </li>
                ))}
              </ul>
            </>
          )}
        </section>
      </div>
      <section class="card" aria-labelledby="last">
        <h2 id="last">Last rounds</h2>
        <Table caption="Last rounds" columns={roundColumns(rounds)} rows={rounds.slice(-10).reverse()} name={(round) => round.round} empty="No round has ended yet." />
        <p><a href="#/rounds">All rounds</a></p>
      </section>
    </>
  );
}
