// The operator's page: which view is shown, and what is heard of the journal.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { events, Refused } from "./api";
import { type End, Frame, Gate, useAddress } from "./shell";
import type { Step } from "./types";
import { Ledger } from "./views/ledger";
import { Members } from "./views/members";
import { Overview } from "./views/overview";
import { RoundPage } from "./views/round";
import { Rounds } from "./views/rounds";

const VIEWS = [
  ["", "Overview"],
  ["rounds", "Rounds"],
  ["members", "Members"],
  ["ledger", "Ledger"],
] as const;
/** Steps that are shown. */
const KEPT = 50;
/** How long to collect steps before the view is fetched again. */
const SETTLE_MS = 120;
const AGAIN_MS = 1000;

/** Follows the journal while the page is looked at: a browser has few connections for one server. */
function useSteps(end: End): { version: number; steps: Step[]; isLive: boolean } {
  const [version, setVersion] = useState(0);
  const [steps, setSteps] = useState<Step[]>([]);
  const [isLive, setLive] = useState(false);
  useEffect(() => {
    let stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        setVersion((version) => version + 1);
      }, SETTLE_MS);
    };
    async function follow(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          await events(signal, (event, data) => {
            setLive(true);
            if (event === "step") setSteps((known) => [JSON.parse(data) as Step, ...known].slice(0, KEPT));
            changed();
          });
        } catch (problem) {
          if (problem instanceof Refused && problem.code === "no-login") return end("You are logged out.");
        }
        if (signal.aborted) return;
        setLive(false);
        await new Promise((next) => setTimeout(next, AGAIN_MS));
      }
    }
    const look = () => {
      stop.abort();
      if (document.visibilityState === "visible") {
        stop = new AbortController();
        void follow(stop.signal);
      }
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return { version, steps, isLive };
}

function Inside({ end }: { end: End }) {
  const address = useAddress();
  const { version, steps, isLive } = useSteps(end);
  const { name, rest, query } = address;
  return (
    <Frame brand="truthfed" views={VIEWS} address={address} isLive={isLive} end={end}>
      {name === "rounds" && rest !== "" ? <RoundPage key={rest} round={Number(rest)} version={version} />
        : name === "rounds" ? <Rounds version={version} />
        : name === "members" ? <Members version={version} find={query.get("find") ?? ""} />
        : name === "ledger" ? <Ledger version={version} />
        : <Overview version={version} steps={steps} />}
    </Frame>
  );
}

const how = (
  <>
    <p>This page is for the operator of a federation. On the coordinator's machine, run</p>
    <pre tabIndex={0}>truthfed page DIR</pre>
    <p>with the folder of the federation, and open the link that it prints. Each link works once.</p>
  </>
);

render(<Gate inside={(end) => <Inside end={end} />} how={how} />, document.body);
