// All rounds, the latest first.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api";
import { counted } from "../format";
import { Checked, Problem, Round, Table, useFetched } from "../parts";
import type { Figure, Rounds as View } from "../types";
import { roundColumns } from "./overview";

export function Rounds({ version }: { version: number }) {
  const { value: view, problem } = useFetched<View>("/page/rounds", version);
  const [older, setOlder] = useState<{ rounds: Figure[]; more: boolean } | null>(null);
  const [failed, setFailed] = useState<Error | null>(null);
  useEffect(() => setFailed(null), [version]);
  if (view === null) return problem ? <Problem problem={problem} /> : <p class="muted">Asks the coordinator…</p>;
  const newest = view.rounds[view.rounds.length - 1]?.round ?? 0;
  // What was shown as old stays; new rounds push the first page on.
  const rounds = [...view.rounds, ...(older?.rounds.filter((round) => round.round < newest) ?? [])];
  const more = older ? older.more : view.more;
  async function showOlder(): Promise<void> {
    try {
      const next = await get<View>(`/page/rounds?before=${rounds[rounds.length - 1]!.round}`);
      setOlder({ rounds: [...(older?.rounds ?? []), ...next.rounds], more: next.more });
    } catch (problem) {
      setFailed(problem as Error);
    }
  }
  function go(event: SubmitEvent): void {
    event.preventDefault();
    const round = new FormData(event.target as HTMLFormElement).get("round");
    if (round) location.hash = `#/rounds/${round}`;
  }
  return (
    <>
      <h1>Rounds</h1>
      <div class="bar">
        <form onSubmit={go}>
          <label>
            Round <input name="round" type="number" min="1" required size={8} />
          </label>{" "}
          <button type="submit">Open</button>
        </form>
        <p>
          {counted(view.all, "round")} ended{view.open !== null && <>, round <Round round={view.open} /> is open</>}. <Checked journal={view.journal} />
        </p>
      </div>
      <Problem problem={problem ?? failed} />
      <section class="card">
        <Table caption="Rounds, the latest first" columns={roundColumns(rounds)} rows={rounds} name={(round) => round.round} empty="No round has ended yet." />
        {more && (
          <button type="button" onClick={() => void showOlder()}>
            Show older
          </button>
        )}
      </section>
    </>
  );
}
