// What several views are made of.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { change, get, Refused } from "./api";
import { count, counted, significant } from "./format";
import type { Entry, Expiry, Journal } from "./types";

export const Round = ({ round }: { round: number }) => <a href={`#/rounds/${round}`}>{count(round)}</a>;

export const Hash = ({ hash }: { hash: string }) => (
  <code class="hash" title={hash}>
    {hash.slice(0, 16)}…
  </code>
);

/** A word with a sign before it, so that colour is never all there is. */
export const Badge = (props: { kind: "good" | "bad" | "warn" | "calm"; children: ComponentChildren }) => (
  <span class={`badge ${props.kind}`}>
    <span aria-hidden="true">{{ good: "●", bad: "▲", warn: "◆", calm: "○" }[props.kind]}</span> {props.children}
  </span>
);

export function Checked({ journal }: { journal: Journal }) {
  const { entries, checked, problem } = journal;
  if (problem !== null) return <Badge kind="bad">does not fit: {problem}</Badge>;
  if (checked < entries) return <Badge kind="warn">checking entry {count(checked)} of {count(entries)}</Badge>;
  return <Badge kind="good">all {count(entries)} entries fit</Badge>;
}

export const Certificate = ({ expiry: { of, until, days } }: { expiry: Expiry }) => (
  <div>
    <dt>{of}</dt>
    <dd>
      until {until} <Badge kind={days < 0 ? "bad" : days < 30 ? "warn" : "calm"}>{days < 0 ? "expired" : counted(days, "day") + " left"}</Badge>
    </dd>
  </div>
);

/** How long a phase of the open round still takes. */
export function Countdown({ open }: { open: { remaining_ms: number; phase_ms: number } }) {
  const [left, setLeft] = useState(open.remaining_ms);
  useEffect(() => {
    const end = performance.now() + open.remaining_ms;
    const tick = () => setLeft(Math.max(0, end - performance.now()));
    tick();
    const timer = setInterval(tick, 200);
    return () => clearInterval(timer);
  }, [open]);
  return (
    <div class="countdown">
      <progress max={open.phase_ms} value={left} aria-label="Time left in this phase" />
      <span class="number">{(left / 1000).toFixed(1)} s left</span>
    </div>
  );
}

export const Phases = <T extends string>({ names, shown }: { names: readonly T[]; shown: T | null }) => (
  <ol class="phases" data-phase={shown ?? "none"}>
    {names.map((name) => (
      <li key={name} aria-current={shown === name ? "step" : undefined} class={shown && names.indexOf(name) < names.indexOf(shown) ? "past" : undefined}>
        {name}
      </li>
    ))}
  </ol>
);

export function Tile(props: { name: string; value: string; unit?: string; note?: string; warn?: boolean }) {
  return (
    <div class={`tile${props.warn ? " warn" : ""}`}>
      <dt>
        {props.name}
        {props.unit && `, ${props.unit}`}
      </dt>
      <dd>
        <span class="value">{props.value}</span>
        {props.note && <span class="note">{props.note}</span>}
      </dd>
    </div>
  );
}

/** What a view needs, fetched again on every change of the journal. Keeps what it had while it asks. */
export function useFetched<T>(path: string, version: number): { value: T | null; problem: Error | null } {
  const [state, setState] = useState<{ path: string; value: T | null; problem: Error | null }>({ path, value: null, problem: null });
  const asking = useRef(false);
  const again = useRef(false);
  useEffect(() => {
    let gone = false;
    async function ask(): Promise<void> {
      if (asking.current) {
        again.current = true;
        return;
      }
      asking.current = true;
      try {
        const value = await get<T>(path);
        if (!gone) setState({ path, value, problem: null });
      } catch (problem) {
        if (!gone) setState((known) => ({ path, value: known.path === path ? known.value : null, problem: problem as Error }));
      } finally {
        asking.current = false;
      }
      if (again.current) {
        again.current = false;
        if (!gone) await ask();
      }
    }
    void ask();
    return () => {
      gone = true;
      asking.current = false;
    };
  }, [path, version]);
  return state.path === path ? state : { value: null, problem: null };
}

export function Problem({ problem }: { problem: Error | null }) {
  if (problem === null) return null;
  return (
    <p class="problem" role="alert">
      {problem.message}
    </p>
  );
}

export interface Plan {
  title: string;
  what: ComponentChildren;
  verb: string;
  method: "POST" | "DELETE";
  path: string;
  body?: unknown;
}

// A ruling waits for the end of the round; so does the command line, for as long.
const PATIENCE_MS = 60_000;

/** Asks for confirmation, does it, and shows what the journal has of it. */
export function Confirm({ plan, close }: { plan: Plan; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [state, setState] = useState<"asked" | "doing" | "waits" | "done">("asked");
  const [problem, setProblem] = useState<Error | null>(null);
  const [entries, setEntries] = useState<Entry[]>([]);
  useEffect(() => dialog.current?.showModal(), []);
  async function act(): Promise<void> {
    setState("doing");
    setProblem(null);
    const until = Date.now() + PATIENCE_MS;
    try {
      const { entries: before } = await get<{ entries: number }>("/v1/operator/status");
      for (;;) {
        try {
          await change(plan.method, plan.path, plan.body);
          break;
        } catch (refused) {
          if (!(refused instanceof Refused && refused.code === "round-open") || Date.now() > until) throw refused;
          setState("waits");
          await new Promise((next) => setTimeout(next, 100));
        }
      }
      const { entries } = await get<{ entries: Entry[] }>(`/page/entries?after=${before}`);
      setEntries(entries.filter((entry) => ["enrolled", "revoked", "ruled"].includes(entry.kind)));
      setState("done");
    } catch (problem) {
      setProblem(problem as Error);
      setState("asked");
    }
  }
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="plan-title">
      <h2 id="plan-title">{plan.title}</h2>
      {state === "done" ? (
        <>
          <p role="status">Done. The journal has it:</p>
          {entries.map((entry) => (
            <figure class="entry" key={entry.entry}>
              <figcaption>
                Entry {count(entry.entry)}, {entry.kind}, hash <Hash hash={entry.hash} />
              </figcaption>
              <pre tabIndex={0}>{JSON.stringify(entry.body, null, 1)}</pre>
            </figure>
          ))}
        </>
      ) : (
        <p>{plan.what}</p>
      )}
      {state === "waits" && <p role="status">A round is open. This waits for its end, a minute at most.</p>}
      <Problem problem={problem} />
      <div class="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          {state === "done" ? "Close" : "Cancel"}
        </button>
        {state !== "done" && (
          <button type="button" class="danger" disabled={state !== "asked"} onClick={() => void act()}>
            {plan.verb}
          </button>
        )}
      </div>
    </dialog>
  );
}

export interface Column<T> {
  name: string;
  unit?: string;
  number?: boolean;
  /** What to sort by, if one can. */
  by?: (row: T) => number | string;
  show: (row: T) => ComponentChildren;
}

/** A table that can be sorted, and scrolls by itself where it is too wide. */
export function Table<T>(props: { caption: string; columns: Column<T>[]; rows: T[]; name: (row: T) => string | number; empty: string }) {
  const [order, setOrder] = useState<{ column: number; down: boolean } | null>(null);
  const { columns } = props;
  let rows = props.rows;
  const by = order && columns[order.column]?.by;
  if (by) {
    const compare = (a: T, b: T) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0);
    rows = [...rows].sort((a, b) => (order.down ? -compare(a, b) : compare(a, b)));
  }
  const sort = (column: number) => setOrder((known) => ({ column, down: known?.column === column ? !known.down : columns[column]!.number === true }));
  const sorted = (column: number) => (order?.column === column ? (order.down ? "descending" : "ascending") : undefined);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={props.caption}>
      <table>
        <caption class="visually-hidden">{props.caption}</caption>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={column.name} scope="col" class={column.number ? "number" : undefined} aria-sort={sorted(index)}>
                {column.by ? (
                  <button type="button" class="sort" onClick={() => sort(index)}>
                    {column.name}
                    <span aria-hidden="true">{sorted(index) === undefined ? "" : order!.down ? " ↓" : " ↑"}</span>
                  </button>
                ) : (
                  column.name
                )}
                {column.unit && <span class="unit">{column.unit}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={props.name(row)}>
              {columns.map((column) => (
                <td key={column.name} class={column.number ? "number" : undefined}>
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="muted">{props.empty}</p>}
    </div>
  );
}

export const nats = (gain: number | null): string => (gain === null ? "" : significant(gain));
