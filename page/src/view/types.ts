// What `truthfed view` answers (crates/truthfed-cli/src/view). Figures are those of crates/truthfed-report/src/chart; a number that is
// not finite is null.

export interface Axis {
  label: string;
  scale: "linear" | "log";
  covers: [number, number] | null;
}

export interface Seed {
  seed: number;
  value: number | null;
}

export interface Point {
  x: number | null;
  mean: number | null;
  error: number | null;
  values: Seed[];
}

export interface Bar {
  name: string;
  height: number | null;
  error: number | null;
  label: string | null;
  values: Seed[];
}

export interface Chart {
  title: string;
  y: Axis;
  data: { lines: { x: Axis; series: { name: string; points: Point[] }[] } } | { bars: { name: string; bars: Bar[] }[] };
}

export interface Figure {
  id: string;
  title: string;
  caption: string;
  charts: Chart[];
  errors: "deviations" | "intervals";
}

export interface Look {
  name: string;
  colour: number;
  dash: string;
}

export interface Drawn {
  figure: Figure;
  looks: Look[];
}

export interface Column {
  name: string;
  title: string;
  is_number: boolean;
}

export interface DataTable {
  file: string;
  rows: number;
  keys: string[];
  columns: Column[];
}

export type Verdict = "reproduced" | "not-reproduced" | "refuted" | "undecided";

export interface Evidence {
  verdict: Verdict;
  measured: string;
  numbers: { name: string; value: number | null; interval: [number, number] | null; claimed: Record<string, number> | null }[];
  sample: { kind: string; from: number; to: number };
  command: string;
}

export interface Claims {
  readings: { name: string; about: string }[];
  rule: string;
  paper: { id: string; source: string; claim: string; synthesis: string; cells: (Evidence & { readings: string[] })[] }[];
  ours: (Evidence & { id: string; claim: string })[];
}

export interface Contents {
  name: string;
  command: string;
  config: string[];
  tables: DataTable[];
  figures: { id: string; title: string }[];
  claims: Claims | null;
  missing: string | null;
}
