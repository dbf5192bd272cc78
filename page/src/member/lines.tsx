// The member's rounds in a table, and in words.
import { column, count, counted, moment } from "../format";
import { Badge, type Column, Round, Table } from "../parts";
import type { Line, Sums } from "./types";

/** How a round went for this member. */
export function words({ last, has_ended }: Line): string {
  switch (last) {
    case "offer-taken":
      return has_ended ? "ended, no decision was heard" : "offered";
    case "won":
      return has_ended ? "won" : "won, delivers";
    case "lost":
      return "lost";
    case "delivery-taken":
      return "won, delivered";
    case "waiting":
      return "won, payment waits";
    case "paid":
      return "won, paid";
    case "voided":
      return "won, not delivered in time, void";
    case "forfeited":
      return "won, contradicted, void";
    case null:
      return "unknown";
  }
}

const kind = ({ last }: Line) => (last === "paid" ? "good" : last === "voided" || last === "forfeited" || last === null ? "bad" : last === "waiting" ? "warn" : "calm");

export const Outcome = ({ line }: { line: Line }) => <Badge kind={kind(line)}>{words(line)}</Badge>;

export const Right = ({ line }: { line: Line }) =>
  line.problem === null ? <Badge kind="good">{counted(line.receipts, "receipt")} checked</Badge> : <Badge kind="bad">{line.problem}</Badge>;

export function AllRight({ sums }: { sums: Sums }) {
  const [first] = sums.wrong;
  if (first) return <Badge kind="bad">wrong in round {count(first.round)}: {first.problem}</Badge>;
  return <Badge kind="good">all {counted(sums.receipts, "receipt")} are signed and fit together</Badge>;
}

export function Lines({ caption, lines }: { caption: string; lines: Line[] }) {
  const ask = column(lines.map((line) => line.ask));
  const payment = column(lines.map((line) => line.payment));
  const columns: Column<Line>[] = [
    { name: "round", number: true, by: (line) => line.round, show: (line) => <Round round={line.round} /> },
    { name: "offered", unit: "UTC", by: (line) => line.begun_ms ?? 0, show: (line) => (line.begun_ms === null ? "" : moment(line.begun_ms)) },
    { name: "samples", number: true, by: (line) => line.samples ?? -1, show: (line) => (line.samples === null ? "" : count(line.samples)) },
    { name: "ask", unit: "units", number: true, by: (line) => Number(line.ask ?? -1), show: (line) => ask(line.ask) },
    { name: "outcome", by: words, show: (line) => <Outcome line={line} /> },
    { name: "payment", unit: "units", number: true, by: (line) => Number(line.payment ?? -1), show: (line) => payment(line.payment) },
    { name: "receipts", show: (line) => <Right line={line} /> },
  ];
  return <Table caption={caption} columns={columns} rows={lines} name={(line) => line.round} empty="No offer yet." />;
}
