// What the member earned, by month, from its own receipts.
import { useState } from "preact/hooks";
import { download } from "../api";
import { column, count, money } from "../format";
import { type Column, Problem, Table } from "../parts";
import { AllRight } from "./lines";
import type { Month, Overview } from "./types";

export function Statement({ view: { months, sums, status } }: { view: Overview }) {
  const [failed, setFailed] = useState<Error | null>(null);
  const earned = column(months.map((month) => month.earned));
  const columns: Column<Month>[] = [
    { name: "month", by: (month) => month.month ?? "", show: (month) => month.month ?? "earlier" },
    { name: "offers", number: true, by: (month) => month.offers, show: (month) => count(month.offers) },
    { name: "won", number: true, by: (month) => month.won, show: (month) => count(month.won) },
    { name: "payments", number: true, by: (month) => month.payments, show: (month) => count(month.payments) },
    { name: "earned", unit: "units", number: true, by: (month) => Number(month.earned), show: (month) => earned(month.earned) },
  ];
  return (
    <>
      <h1>Statement</h1>
      <div class="bar">
        <p><strong>{money(status.earned)}</strong> units earned in all. <AllRight sums={sums} /></p>
        <button type="button" onClick={() => download("/page/receipts.json", `receipts-${status.member}.json`).catch(setFailed)}>Download receipts</button>
      </div>
      <Problem problem={failed} />
      <section class="card">
        <Table caption="Months, the latest first" columns={columns} rows={months} name={(month) => month.month ?? ""} empty="No offer yet." />
        <p class="muted">Months are in UTC, by when this agent heard of an offer or a payment. What was transferred is in the coordinator's ledger, not here.</p>
      </section>
    </>
  );
}
