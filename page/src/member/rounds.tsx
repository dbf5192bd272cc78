// All rounds in which the member offered, and one of them with its receipts.
import { useState } from "preact/hooks";
import { get } from "../api";
import { count, counted, moment, money } from "../format";
import { Badge, Hash, Problem, useFetched } from "../parts";
import { AllRight, Lines, Outcome, Right } from "./lines";
import type { Line, RoundView, Rounds as View } from "./types";

export function Rounds({ version }: { version: number }) {
  const { value: view, problem } = useFetched<View>("/page/rounds", version);
  const [older, setOlder] = useState<{ rounds: Line[]; more: boolean } | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  if (view === null) return problem ? <Problem problem={problem} /> : <p class="muted">Asks the agent…</p>;
  const last = view.rounds[view.rounds.length - 1]?.round ?? 0;
  const lines = [...view.rounds, ...(older?.rounds.filter((line) => line.round < last) ?? [])];
  async function showOlder(): Promise<void> {
    try {
      const next = await get<View>(`/page/rounds?before=${lines[lines.length - 1]!.round}`);
      setOlder({ rounds: [...(older?.rounds ?? []), ...next.rounds], more: next.more });
    } catch (problem) {
      setFailed(problem as Error);
    }
  }
  return (
    <>
      <h1>Rounds</h1>
      <p>
        {counted(view.sums.rounds, "offer")}, won {count(view.sums.won)}. <AllRight sums={view.sums} />
      </p>
      <Problem problem={problem ?? failed} />
      <section class="card">
        <Lines caption="Rounds, the latest first" lines={lines} />
        {(older ?? view).more && <button type="button" onClick={() => void showOlder()}>Show older</button>}
      </section>
    </>
  );
}

export function Round({ round, version }: { round: number; version: number }) {
  const { value: view, problem } = useFetched<RoundView>(`/page/rounds/${round}`, version);
  if (view === null) return problem ? <Problem problem={problem} /> : <p class="muted">Asks the agent…</p>;
  const { line, receipts } = view;
  return (
    <>
      <h1>Round {count(round)}</h1>
      <Problem problem={problem} />
      <section class="card" aria-labelledby="offer">
        <h2 id="offer">Offer</h2>
        <dl class="facts">
          <div><dt>Outcome</dt><dd><Outcome line={line} /></dd></div>
          {line.samples !== null && <div><dt>Samples</dt><dd class="number">{count(line.samples)}</dd></div>}
          {line.ask !== null && <div><dt>Ask</dt><dd class="number">{money(line.ask)} units</dd></div>}
          {line.payment !== null && <div><dt>Payment</dt><dd class="number">{money(line.payment)} units</dd></div>}
          <div><dt>Together</dt><dd><Right line={line} /></dd></div>
        </dl>
      </section>
      <section class="card" aria-labelledby="receipts">
        <h2 id="receipts">Receipts</h2>
        {receipts.map((receipt, index) => (
          <figure class="entry" key={receipt.kind ?? index}>
            <figcaption>
              <strong>{receipt.kind ?? "unreadable"}</strong>{" "}
              {receipt.problem === null ? <Badge kind="good">signed by the coordinator</Badge> : <Badge kind="bad">{receipt.problem}</Badge>}{" "}
              <span class="muted">
                {receipt.heard_ms !== null && `heard ${moment(receipt.heard_ms)} UTC`}
                {receipt.offer && <>, offer <Hash hash={receipt.offer} /></>}
              </span>
            </figcaption>
            <pre tabIndex={0}>{JSON.stringify(receipt.signed, null, 1)}</pre>
          </figure>
        ))}
      </section>
    </>
  );
}
