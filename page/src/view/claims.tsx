// The statements of the paper against its readings, and behind each mark what was measured.
import { useState } from "preact/hooks";
import { count, counted } from "../format";
import { Badge, Table } from "../parts";
import type { Column } from "../parts";
import { exact } from "./plot";
import type { Claims, Evidence, Verdict } from "./types";

const VERDICTS: Record<Verdict, { kind: "good" | "warn" | "bad" | "calm"; word: string }> = {
  reproduced: { kind: "good", word: "reproduced" },
  "not-reproduced": { kind: "warn", word: "not reproduced" },
  refuted: { kind: "bad", word: "refuted" },
  undecided: { kind: "calm", word: "undecided" },
};

const Mark = ({ verdict }: { verdict: Verdict }) => <Badge kind={VERDICTS[verdict].kind}>{VERDICTS[verdict].word}</Badge>;

const bound = (claimed: Record<string, number>): string => Object.entries(claimed).map(([side, value]) => `${side.replace("-", " ")} ${exact(value)}`).join(", ");

function Measured({ evidence, readings }: { evidence: Evidence; readings?: string[] }) {
  const { sample, numbers } = evidence;
  const columns: Column<Evidence["numbers"][number]>[] = [
    { name: "number", show: (number) => number.name },
    { name: "value", number: true, show: (number) => (number.value === null ? "" : exact(number.value)) },
    { name: "95 % interval", number: true, show: (number) => number.interval && `${exact(number.interval[0])} to ${exact(number.interval[1])}` },
    { name: "claimed", show: (number) => number.claimed && bound(number.claimed) },
  ];
  return (
    <div class="evidence">
      <p>{readings && <strong>{readings.length === 1 ? "Reading" : "Readings"} {readings.join(", ")}: </strong>}<Mark verdict={evidence.verdict} /></p>
      <p>{evidence.measured}</p>
      {numbers.length > 0 && <Table caption="Numbers behind the verdict" columns={columns} rows={numbers} name={(number) => number.name} empty="" />}
      <p class="muted">{sample.kind}: {count(sample.from)} to {count(sample.to)}</p>
      <pre tabIndex={0}>{evidence.command}</pre>
    </div>
  );
}

export function ClaimsView({ claims }: { claims: Claims }) {
  const [find, setFind] = useState("");
  const [only, setOnly] = useState<Verdict | "">("");
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const names = claims.readings.map((reading) => reading.name);
  const fits = (text: string) => text.toLowerCase().includes(find.toLowerCase());
  const paper = claims.paper.filter(({ id, source, claim, cells }) => fits(`${id} ${source} ${claim}`) && (only === "" || cells.some((cell) => cell.verdict === only)));
  const ours = claims.ours.filter(({ id, claim, verdict }) => fits(`${id} ${claim}`) && (only === "" || verdict === only));
  const toggle = (id: string) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const Statement = ({ id, children }: { id: string; children: string }) => (
    <button type="button" class="statement" aria-expanded={open.has(id)} onClick={() => toggle(id)}>{children}</button>
  );
  const all = claims.paper.length + claims.ours.length;
  return (
    <>
      <div class="bar">
        <label>Find <input type="search" value={find} onInput={(event) => setFind(event.currentTarget.value)} /></label>
        <label>
          Verdict{" "}
          <select value={only} onChange={(event) => setOnly(event.currentTarget.value as Verdict | "")}>
            <option value="">any</option>
            {Object.entries(VERDICTS).map(([verdict, { word }]) => <option key={verdict} value={verdict}>{word}</option>)}
          </select>
        </label>
        <p>{paper.length + ours.length === all ? counted(all, "claim") : `${paper.length + ours.length} of ${counted(all, "claim")}`}</p>
      </div>
      <section class="card" aria-labelledby="paper">
        <h2 id="paper">The paper, statement by statement</h2>
        <div class="scroll" tabIndex={0} role="region" aria-label="Statements of the paper">
          <table class="matrix">
            <caption class="visually-hidden">Statements of the paper, and the verdict under each reading</caption>
            <thead>
              <tr><th scope="col">statement</th><th scope="col">where</th>{claims.readings.map(({ name, about }) => <th key={name} scope="col" title={about}>reading {name}</th>)}</tr>
            </thead>
            <tbody>
              {paper.map(({ id, source, claim, synthesis, cells }) => (
                <>
                  <tr key={id} data-claim={id}>
                    <td><Statement id={id}>{claim}</Statement></td>
                    <td>{source}</td>
                    {names.map((name) => <td key={name} data-reading={name}><Mark verdict={cells.find((cell) => cell.readings.includes(name))!.verdict} /></td>)}
                  </tr>
                  {open.has(id) && (
                    <tr key={`${id}-detail`} class="detail">
                      <td colSpan={2 + names.length}>
                        <p>{synthesis}</p>
                        {cells.map((cell) => <Measured key={cell.readings.join()} evidence={cell} readings={cell.readings} />)}
                      </td>
                    </tr>
                  )}
                </>
              ))}
            </tbody>
          </table>
          {paper.length === 0 && <p class="muted">No such statement.</p>}
        </div>
      </section>
      {claims.ours.length > 0 && (
        <section class="card" aria-labelledby="ours">
          <h2 id="ours">Claims beyond the paper</h2>
          <div class="scroll" tabIndex={0} role="region" aria-label="Claims beyond the paper">
            <table class="matrix">
              <caption class="visually-hidden">Claims beyond the paper, and their verdicts</caption>
              <thead><tr><th scope="col">claim</th><th scope="col">verdict</th></tr></thead>
              <tbody>
                {ours.map(({ id, claim, ...evidence }) => (
                  <>
                    <tr key={id} data-claim={id}><td><Statement id={id}>{claim}</Statement></td><td><Mark verdict={evidence.verdict} /></td></tr>
                    {open.has(id) && <tr key={`${id}-detail`} class="detail"><td colSpan={2}><Measured evidence={evidence} /></td></tr>}
                  </>
                ))}
              </tbody>
            </table>
            {ours.length === 0 && <p class="muted">No such claim.</p>}
          </div>
        </section>
      )}
      <section class="card" aria-labelledby="readings">
        <h2 id="readings">Readings, and how verdicts are reached</h2>
        <dl class="facts wide">{claims.readings.map(({ name, about }) => <div key={name}><dt>Reading {name}</dt><dd>{about}</dd></div>)}</dl>
        <p class="muted">{claims.rule}</p>
      </section>
    </>
  );
}
