// Every movement of money, and whether the journal it follows from fits.
import { useState } from "preact/hooks";
import { download, get } from "../api";
import { column, count } from "../format";
import { Checked, Hash, Problem, Round, Table, useFetched } from "../parts";
import type { Column } from "../parts";
import type { Posting, Postings } from "../types";

const ACCOUNTS = ["treasury", "escrow", "member", "paid-out"];

export function Ledger({ version }: { version: number }) {
  const [filter, setFilter] = useState<Record<string, string>>({});
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== "")).toString();
  const address = `/page/postings${query && `?${query}`}`;
  const { value: view, problem } = useFetched<Postings>(address, version);
  const [older, setOlder] = useState<{ of: string; postings: Posting[]; more: boolean } | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  const field = (name: string) => ({ value: filter[name] ?? "", onInput: (event: { currentTarget: { value: string } }) => setFilter({ ...filter, [name]: event.currentTarget.value }) });
  const kept = older?.of === address ? older : null;
  const first = view?.postings ?? [];
  const last = first[first.length - 1]?.posting ?? 0;
  const postings = [...first, ...(kept?.postings.filter((posting) => posting.posting < last) ?? [])];
  const more = kept ? kept.more : (view?.more ?? false);
  async function showOlder(): Promise<void> {
    try {
      const before = postings[postings.length - 1]!.posting;
      const next = await get<Postings>(`${address}${query ? "&" : "?"}before=${before}`);
      setOlder({ of: address, postings: [...(kept?.postings ?? []), ...next.postings], more: next.more });
    } catch (problem) {
      setFailed(problem as Error);
    }
  }
  const amount = column(postings.map((posting) => posting.amount));
  const columns: Column<Posting>[] = [
    { name: "posting", number: true, show: (posting) => count(posting.posting) },
    { name: "at", unit: "UTC", show: (posting) => posting.at.replace("T", " ").replace("Z", "") },
    { name: "entry", number: true, show: (posting) => count(posting.entry) },
    { name: "account", show: (posting) => posting.account.split(":")[0] },
    { name: "member", show: (posting) => posting.member },
    { name: "for", show: (posting) => (posting.round === null ? `payout ${posting.reference}` : <>round <Round round={posting.round} /></>) },
    { name: "amount", unit: "units", number: true, show: (posting) => amount(posting.amount) },
  ];
  return (
    <>
      <h1>Ledger</h1>
      <div class="bar">
        <label>Member <input type="search" {...field("member")} /></label>
        <label>Round <input type="number" min="1" size={8} {...field("round")} /></label>
        <label>
          Account{" "}
          <select {...field("account")}>
            <option value="">all</option>
            {ACCOUNTS.map((account) => <option key={account}>{account}</option>)}
          </select>
        </label>
        <button type="button" onClick={() => download(`/page/postings.csv${query && `?${query}`}`, "ledger.csv").catch(setFailed)}>
          Download CSV
        </button>
      </div>
      <Problem problem={problem ?? failed} />
      {view !== null && (
        <section class="card" aria-labelledby="chain">
          <h2 id="chain">Chain</h2>
          <dl class="facts">
            <div><dt>Journal</dt><dd><Checked journal={view.journal} /></dd></div>
            <div><dt>Last checked entry</dt><dd>{count(view.journal.checked)}</dd></div>
            <div><dt>Its hash</dt><dd><Hash hash={view.journal.hash} /></dd></div>
          </dl>
          <p class="muted">Chain, winners, payments and sums are recomputed as the journal grows. Signatures of members and what was published elsewhere: <code>truthfed ledger verify</code>.</p>
        </section>
      )}
      <section class="card">
        {view === null && !problem ? <p class="muted">Asks the coordinator…</p> : <Table caption="Movements of money, the latest first" columns={columns} rows={postings} name={(posting) => posting.posting} empty="No such movement." />}
        {more && <button type="button" onClick={() => void showOlder()}>Show older</button>}
        {!more && (view?.oldest ?? 1) > 1 && <p class="muted">Older movements are in the CSV file.</p>}
      </section>
    </>
  );
}
