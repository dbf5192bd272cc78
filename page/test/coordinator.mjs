// Starts a demo federation, and talks to its command line: with the program in TRUTHFED.
import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export const run = promisify(execFile);
export const LINK = /http:\/\/[^\s]+#login=[0-9a-f]{64}/;
const AGENTS = /^Agents: (.*)\. For/m;

/** What a command prints in a folder, and its exit code. */
export async function truthfed(cwd, ...args) {
  try {
    const { stdout, stderr } = await run(process.env.TRUTHFED, args, { cwd, maxBuffer: 1 << 28 });
    return { code: 0, stdout, stderr };
  } catch (error) {
    return { code: error.code, stdout: error.stdout, stderr: error.stderr };
  }
}

export class Demo {
  constructor(place, process) {
    Object.assign(this, { place, process, folder: join(place, "fed") });
  }

  static async start(members) {
    const place = await mkdtemp(join(tmpdir(), "truthfed-page-"));
    const started = spawn(process.env.TRUTHFED, ["demo", "--page", "--members", String(members), "--out", join(place, "fed")], { stdio: ["ignore", "ignore", "pipe"] });
    const demo = new Demo(place, started);
    [demo.link, demo.agents] = await new Promise((found, failed) => {
      let said = "";
      started.stderr.on("data", (text) => {
        said += text;
        const [link, agents] = [LINK.exec(said), AGENTS.exec(said)];
        if (link && agents) found([link[0], Object.fromEntries(agents[1].split(", ").map((agent) => agent.split(" ")))]);
      });
      started.on("exit", (code) => failed(new Error(`the demo ended with ${code}: ${said}`)));
    });
    return demo;
  }

  /** What a command prints, and its exit code. */
  truthfed(...args) {
    return truthfed(this.place, ...args);
  }

  async newLink(...args) {
    return LINK.exec((await this.truthfed("page", this.folder, ...args)).stdout)[0];
  }

  /** A link to a member's own page. */
  async memberLink(member) {
    return LINK.exec((await this.truthfed("member", "page", join(this.folder, "members", member), "--agent", this.agents[member])).stdout)[0];
  }

  async stop() {
    const ended = new Promise((done) => this.process.on("exit", done));
    this.process.kill("SIGTERM");
    const code = await ended;
    await rm(this.place, { recursive: true, force: true });
    return code;
  }
}

export const text = (path) => readFile(path, "utf8");
