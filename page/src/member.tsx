// The member's page: which view is shown, and what the agent says, asked for every second.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, Refused } from "./api";
import { Problem } from "./parts";
import { type End, Frame, Gate, useAddress } from "./shell";
import { Overview } from "./member/overview";
import { Round, Rounds } from "./member/rounds";
import { Statement } from "./member/statement";
import type { Overview as View } from "./member/types";

const VIEWS = [
  ["", "Overview"],
  ["rounds", "Rounds"],
  ["statement", "Statement"],
] as const;
const EVERY_MS = 1000;

/** What the agent says now, while the page is looked at. */
function useView(end: End): { view: View | null; problem: Error | null } {
  const [view, setView] = useState<View | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let gone = false;
    async function ask(): Promise<void> {
      if (document.visibilityState === "visible") {
        try {
          const view = await get<View>("/page/overview");
          if (gone) return;
          setView(view);
          setProblem(null);
        } catch (problem) {
          if (gone) return;
          if (problem instanceof Refused && problem.code === "no-login") return end("You are logged out.");
          setProblem(problem as Error);
        }
      }
      timer = setTimeout(() => void ask(), EVERY_MS);
    }
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  return { view, problem };
}

function Inside({ end }: { end: End }) {
  const address = useAddress();
  const { view, problem } = useView(end);
  const { name, rest } = address;
  // Other views ask again when a receipt came or a round ended.
  const version = view === null ? 0 : view.sums.receipts + view.status.last_round;
  return (
    <Frame brand={view === null ? "truthfed" : `truthfed · ${view.status.member}`} views={VIEWS} address={address} isLive={view !== null && problem === null} end={end}>
      <Problem problem={problem} />
      {view === null ? problem === null && <p class="muted">Asks the agent…</p>
        : name === "rounds" && rest !== "" ? <Round key={rest} round={Number(rest)} version={version} />
        : name === "rounds" ? <Rounds version={version} />
        : name === "statement" ? <Statement view={view} />
        : <Overview view={view} />}
    </Frame>
  );
}

const how = (
  <>
    <p>This page is for a member of a federation. On the machine of its agent, run</p>
    <pre tabIndex={0}>truthfed member page BUNDLE</pre>
    <p>with the folder of the member's bundle, and open the link that it prints. Each link works once.</p>
  </>
);

render(<Gate inside={(end) => <Inside end={end} />} how={how} />, document.body);
