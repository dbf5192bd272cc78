// The page of `truthfed view`: figures and claims of a reproduction, or any column of a run or a sweep over any other.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { Refused } from "./api";
import { count } from "./format";
import { Problem, useFetched } from "./parts";
import { type Address, type End, Frame, Gate, useAddress } from "./shell";
import { ClaimsView } from "./view/claims";
import { FigureView } from "./view/figure";
import type { Contents, DataTable, Drawn } from "./view/types";

type View = readonly [path: string, title: string];

function viewsOf({ tables, figures, claims, config, missing }: Contents): View[] {
  const views: View[] = [];
  if (tables.length > 0) views.push(["figure", "Figure"]);
  if (claims !== null) views.push(["claims", "Claims"]);
  if (figures.length > 0 || missing !== null) views.push(["figures", "Figures"]);
  if (config.length > 0) views.push(["configuration", "Configuration"]);
  return views;
}

const loading = <p class="muted">Asks the program…</p>;

function Shown({ query, note }: { query: string; note?: string }) {
  const { value: drawn, problem } = useFetched<Drawn>(`/page/view/figure?${query}`, 0);
  if (drawn === null) return problem ? <Problem problem={problem} /> : loading;
  return <FigureView key={query} drawn={drawn} note={note} />;
}

function Figures({ contents: { figures, missing }, chosen }: { contents: Contents; chosen: string }) {
  const id = chosen || figures[0]?.id;
  return (
    <>
      <h1>Figures</h1>
      {missing !== null && <p class="problem" role="alert">{missing}</p>}
      <nav aria-label="Figures">
        <ul class="chips">{figures.map((figure) => <li key={figure.id}><a href={`#/figures/${figure.id}`} aria-current={figure.id === id ? "page" : undefined}>{figure.title}</a></li>)}</ul>
      </nav>
      {id !== undefined && <Shown query={new URLSearchParams({ id }).toString()} note="Names that are switched off leave the axes to the others." />}
    </>
  );
}

/** A figure of columns: which ones stand in the address, so that it can be kept and sent. */
function Turned({ tables, query }: { tables: DataTable[]; query: URLSearchParams }) {
  const table = tables.find(({ file }) => file === query.get("file")) ?? tables[0]!;
  const names = table.columns.map(({ name }) => name);
  const numbers = table.columns.filter(({ is_number }) => is_number);
  const values = numbers.filter(({ name }) => !table.keys.includes(name) && !["seed", "step"].includes(name));
  const known = (name: string | null) => (name !== null && names.includes(name) ? name : undefined);
  const x = known(query.get("x")) ?? table.keys[0] ?? (names.includes("step") ? "step" : (names.find((name) => name !== "seed") ?? names[0]!));
  const y = known(query.get("y")) ?? (values.find(({ name }) => name === "regret" || name === "incentive") ?? values[0] ?? numbers[0])?.name;
  const by = known(query.get("by")) ?? "";
  const go = (change: Record<string, string>) => {
    const next = new URLSearchParams({ file: table.file, x, y: y ?? "", by, ...change });
    if (change.file !== undefined) for (const name of ["x", "y", "by"]) next.delete(name);
    if (next.get("by") === "") next.delete("by");
    location.hash = `#/figure?${next}`;
  };
  const asked = new URLSearchParams({ file: table.file, x, y: y ?? "" });
  if (by) asked.set("by", by);
  const choice = (label: string, name: string, value: string, options: { name: string; title: string }[], none?: string) => (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => go({ [name]: event.currentTarget.value })}>
        {none !== undefined && <option value="">{none}</option>}
        {options.map((option) => <option key={option.name} value={option.name}>{option.title}</option>)}
      </select>
    </label>
  );
  return (
    <>
      <h1>Figure</h1>
      <div class="bar">
        {choice("Table", "file", table.file, tables.map(({ file, rows }) => ({ name: file, title: `${file}, ${count(rows)} rows` })))}
        {choice("Upwards", "y", y ?? "", numbers)}
        {choice("Across", "x", x, table.columns)}
        {choice("A line for each", "by", by, table.columns.filter(({ name }) => name !== x && name !== y), "nothing more")}
      </div>
      <Shown query={asked.toString()} />
    </>
  );
}

function Configuration({ contents: { config, command, name } }: { contents: Contents }) {
  return (
    <>
      <h1>Configuration</h1>
      {config.map((text, index) => (
        <section key={index} class="card" aria-label={`Configuration ${index + 1}`}>
          <h2>{config.length > 1 ? name.split(", ")[index] : name}</h2>
          <p class="muted">As <code>{command}</code> ran it.</p>
          <pre class="whole" tabIndex={0}>{text}</pre>
        </section>
      ))}
    </>
  );
}

function Chosen({ contents, address: { name, rest, query } }: { contents: Contents; address: Address }) {
  if (name === "claims" && contents.claims !== null) return <><h1>Claims</h1><ClaimsView claims={contents.claims} /></>;
  if (name === "figures") return <Figures contents={contents} chosen={rest} />;
  if (name === "configuration") return <Configuration contents={contents} />;
  return <Turned tables={contents.tables} query={query} />;
}

function Inside({ end }: { end: End }) {
  const address = useAddress();
  const { value: contents, problem } = useFetched<Contents>("/page/view/contents", 0);
  useEffect(() => {
    if (problem instanceof Refused && problem.code === "no-login") end("You are logged out.");
  }, [problem]);
  if (contents === null) return <main class="login">{problem ? <Problem problem={problem} /> : loading}</main>;
  const views = viewsOf(contents);
  const name = views.some(([path]) => path === address.name) ? address.name : views[0]![0];
  const title = contents.figures.find(({ id }) => id === address.rest)?.title ?? views.find(([path]) => path === name)![1];
  return (
    <Frame brand={`truthfed view ${contents.name}`} views={views} address={{ ...address, name }} title={title} end={end}>
      <Chosen contents={contents} address={{ ...address, name }} />
    </Frame>
  );
}

const how = (
  <>
    <p>This page shows what an experiment wrote. Run</p>
    <pre tabIndex={0}>truthfed view DIR</pre>
    <p>with its folder, and open the link that it prints. Each link works once.</p>
  </>
);

render(<Gate inside={(end) => <Inside end={end} />} how={how} />, document.body);
