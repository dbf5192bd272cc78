// The page: who is logged in, which view is shown, and what is heard of the journal.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { events, forgetLogin, isLoggedIn, logIn, logOut, Refused } from "./api";
import { Badge } from "./parts";
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

function Login({ problem }: { problem: string | null }) {
  return (
    <main class="login">
      <h1>truthfed</h1>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <p>This page is for the operator of a federation. On the coordinator's machine, run</p>
      <pre tabIndex={0}>truthfed page DIR</pre>
      <p>with the folder of the federation, and open the link that it prints. Each link works once.</p>
    </main>
  );
}

function useRoute(): string {
  const read = () => location.hash.replace(/^#\/?/, "");
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const hear = () => {
      setRoute(read());
      scrollTo(0, 0);
    };
    addEventListener("hashchange", hear);
    return () => removeEventListener("hashchange", hear);
  }, []);
  return route;
}

/** Follows the journal while the page is looked at: a browser has few connections for one server. */
function useSteps(end: (why: string) => void): { version: number; steps: Step[]; isLive: boolean } {
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

function Inside({ end }: { end: (why: string | null) => void }) {
  const route = useRoute();
  const { version, steps, isLive } = useSteps(end);
  const [name, rest = ""] = route.split("?", 1)[0]!.split("/");
  const query = new URLSearchParams(route.split("?")[1] ?? "");
  const title = VIEWS.find(([path]) => path === name)?.[1] ?? "Overview";
  useEffect(() => {
    document.title = `${rest ? `Round ${rest}` : title} · truthfed`;
  }, [title, rest]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <header>
        <span class="brand">truthfed</span>
        <nav aria-label="Views">
          {VIEWS.map(([path, title]) => (
            <a key={path} href={`#/${path}`} aria-current={path === name ? "page" : undefined}>{title}</a>
          ))}
        </nav>
        <span class="live-state" role="status"><Badge kind={isLive ? "good" : "warn"}>{isLive ? "live" : "not connected"}</Badge></span>
        <button type="button" onClick={() => void logOut().then(() => end(null))}>Log out</button>
      </header>
      <main id="main" tabIndex={-1}>
        {name === "rounds" && rest !== "" ? <RoundPage key={rest} round={Number(rest)} version={version} />
          : name === "rounds" ? <Rounds version={version} />
          : name === "members" ? <Members version={version} find={query.get("find") ?? ""} />
          : name === "ledger" ? <Ledger version={version} />
          : <Overview version={version} steps={steps} />}
      </main>
    </>
  );
}

function Page() {
  const [state, setState] = useState<"entering" | "in" | "out">(location.hash.startsWith("#login=") ? "entering" : isLoggedIn() ? "in" : "out");
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const enter = () => {
      if (!location.hash.startsWith("#login=")) return;
      const link = location.hash.slice("#login=".length);
      // The secret is used up: it shall not stay in the history.
      history.replaceState(null, "", "#/");
      setState("entering");
      logIn(link).then(
        () => setState("in"),
        (refused: Error) => {
          setProblem(refused.message);
          setState("out");
        },
      );
    };
    enter();
    addEventListener("hashchange", enter);
    return () => removeEventListener("hashchange", enter);
  }, []);
  const end = (why: string | null) => {
    forgetLogin();
    setProblem(why);
    setState("out");
  };
  if (state === "entering") return <main class="login"><p role="status">Logs in…</p></main>;
  return state === "in" ? <Inside end={end} /> : <Login problem={problem} />;
}

render(<Page />, document.body);
