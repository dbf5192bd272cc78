// The clock step by step: drag through those turned away, and watch the prices of the others fall. The coordinator computed every step.
import { useState } from "preact/hooks";
import { count, money } from "../format";
import type { Auction, ClockStep } from "../types";

function tells(auction: Auction, steps: ClockStep[], at: number): string {
  const { rejected } = steps[at]!;
  if (at === 0) return `Everyone is in, at the reserve of ${money(auction.reserve)} units.`;
  if (rejected === null) return auction.bound_by_purse && at === steps.length - 1 ? "The purse is shared out." : "The purse does not reach for the target: the clock goes on without it.";
  const ask = auction.offers.find((offer) => offer.member === rejected)?.ask;
  return `${rejected} is turned away${ask === undefined ? "" : `: at ${money(ask)} units it is the worst value of those that can be spared`}.`;
}

export function ClockView({ auction, steps }: { auction: Auction; steps: ClockStep[] }) {
  const last = steps.length - 1;
  const [chosen, setChosen] = useState(0);
  const at = Math.min(chosen, last);
  const reserve = Math.max(Number(auction.reserve), 1e-6);
  const active = new Map(steps[at]!.active.map((client) => [client.member, client]));
  const before = new Map(steps[Math.max(0, at - 1)]!.active.map((client) => [client.member, client]));
  const asks = new Map(auction.offers.map((offer) => [offer.member, offer.ask]));
  // Whoever stays longest is on top.
  const leaves = new Map(steps.map((step, index) => [step.rejected, index]));
  const members = steps[0]!.active.map((client) => client.member).sort((a, b) => (leaves.get(b) ?? steps.length) - (leaves.get(a) ?? steps.length));
  const words = tells(auction, steps, at);
  return (
    <section class="card clock" aria-labelledby="clock">
      <h2 id="clock">The clock, step by step</h2>
      <div class="bar">
        <button type="button" disabled={at === 0} onClick={() => setChosen(at - 1)} aria-label="Step back">←</button>
        <input
          type="range"
          min={0}
          max={last}
          value={at}
          aria-label="Step of the clock"
          aria-valuetext={`Step ${at} of ${last}. ${words}`}
          onInput={(event) => setChosen(Number(event.currentTarget.value))}
        />
        <button type="button" disabled={at === last} onClick={() => setChosen(at + 1)} aria-label="Step on">→</button>
        <span class="number">step {count(at)} of {count(last)}</span>
      </div>
      <p class="told" role="status">{words}{at === last && " All that are left win at their prices."}</p>
      <ol class="prices">
        {members.map((member) => {
          const client = active.get(member);
          const ask = asks.get(member) ?? "0";
          const fell = client !== undefined && client.price !== before.get(member)?.price;
          const state = client === undefined ? "out" : client.frozen ? "needed" : "in";
          return (
            <li key={member} class={state} data-member={member} data-price={client?.price ?? ""}>
              <strong>{member}</strong>
              <svg height="14" width="100%" aria-hidden="true">
                <rect class="room" width="100%" height="14" rx="2" />
                {client && <rect class={client.frozen ? "price needed" : "price"} width={`${(100 * Number(client.price)) / reserve}%`} height="14" rx="2" />}
                <line class="ask" x1={`${(100 * Number(ask)) / reserve}%`} x2={`${(100 * Number(ask)) / reserve}%`} y1="0" y2="14" />
              </svg>
              <span class="number">{client ? `${fell ? "↓ " : ""}${money(client.price)}` : "out"}</span>
              <span class="muted">{client?.frozen ? "needed: price stays" : ""}</span>
            </li>
          );
        })}
      </ol>
      <p class="muted">Bars are prices in units, up to the reserve; the mark in a bar is the ask. Prices only fall, and stop where the target cannot do without a client.</p>
    </section>
  );
}
