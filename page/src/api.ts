// Asks the coordinator, or the agent. Every request shows the key of the login beside the cookie, which no script can read.

const KEY = "truthfed-key";

export class Refused extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export function isLoggedIn(): boolean {
  return localStorage.getItem(KEY) !== null;
}

export function forgetLogin(): void {
  localStorage.removeItem(KEY);
}

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(path, {
    method,
    headers: { "x-truthfed-key": localStorage.getItem(KEY) ?? "" },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    redirect: "error",
  });
  if (response.ok) return response;
  const refusal = (await response.json().catch(() => null)) as { error?: { code: string; message: string } } | null;
  const { code, message } = refusal?.error ?? { code: "internal", message: `status ${response.status}` };
  throw new Refused(code, message);
}

export async function get<T>(path: string): Promise<T> {
  return (await send("GET", path)).json() as Promise<T>;
}

export async function change<T>(method: "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
  return (await send(method, path, body)).json() as Promise<T>;
}

export async function logIn(link: string): Promise<void> {
  const { key } = await change<{ key: string }>("POST", "/page/login", { link });
  localStorage.setItem(KEY, key);
}

export async function logOut(): Promise<void> {
  await change("POST", "/page/logout").catch(() => undefined);
  forgetLogin();
}

/** Fetches a file, and hands it to the browser's downloads. */
export async function download(path: string, name: string): Promise<void> {
  save(await (await send("GET", path)).blob(), name);
}

/** Hands a file to the browser's downloads. */
export function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Reads server-sent events until the connection ends. */
export async function events(signal: AbortSignal, hear: (event: string, data: string) => void): Promise<void> {
  const response = await send("GET", "/page/events", undefined, signal);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const field = (name: string) => block.split("\n").find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const event = field("event");
      if (event) hear(event, field("data") ?? "{}");
    }
  }
}
