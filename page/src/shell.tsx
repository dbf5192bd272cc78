// What both pages are made of: the login, the address, the frame around a view.
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { forgetLogin, isLoggedIn, logIn, logOut } from "./api";
import { Badge } from "./parts";

/** Leaves the page; with a reason, if it was not asked for. */
export type End = (why: string | null) => void;

export interface Address {
  /** The first part of the path, and the second. */
  name: string;
  rest: string;
  query: URLSearchParams;
}

export function useAddress(): Address {
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
  const [name = "", rest = ""] = route.split("?", 1)[0]!.split("/");
  return { name, rest, query: new URLSearchParams(route.split("?")[1] ?? "") };
}

interface FrameProps {
  brand: string;
  views: readonly (readonly [path: string, title: string])[];
  address: Address;
  /** The title of the document, if not that of the view. */
  title?: string;
  /** Nothing for a page whose data does not change. */
  isLive?: boolean;
  end: End;
  children: ComponentChildren;
}

export function Frame({ brand, views, address: { name, rest }, title, isLive, end, children }: FrameProps) {
  const shown = title ?? (rest ? `Round ${rest}` : (views.find(([path]) => path === name)?.[1] ?? "Overview"));
  useEffect(() => {
    document.title = `${shown} · ${brand}`;
  }, [shown, brand]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <header>
        <span class="brand">{brand}</span>
        <nav aria-label="Views">
          {views.map(([path, title]) => (
            <a key={path} href={`#/${path}`} aria-current={path === name ? "page" : undefined}>{title}</a>
          ))}
        </nav>
        {isLive !== undefined && <span class="live-state" role="status"><Badge kind={isLive ? "good" : "warn"}>{isLive ? "live" : "not connected"}</Badge></span>}
        <button type="button" onClick={() => void logOut().then(() => end(null))}>Log out</button>
      </header>
      <main id="main" tabIndex={-1}>{children}</main>
    </>
  );
}

/** Shows what is inside to whoever is logged in, and to others how to log in. */
export function Gate({ inside, how }: { inside: (end: End) => ComponentChildren; how: ComponentChildren }) {
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
  const end: End = (why) => {
    forgetLogin();
    setProblem(why);
    setState("out");
  };
  if (state === "entering") return <main class="login"><p role="status">Logs in…</p></main>;
  if (state === "in") return <>{inside(end)}</>;
  return (
    <main class="login">
      <h1>truthfed</h1>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {how}
    </main>
  );
}
