// Chromium, and what every view must keep to: with Chromium in CHROMIUM, and where pictures are kept in SHOTS.
import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.SHOTS;

export class Browser {
  constructor(chromium) {
    // Every error, and every request of another origin.
    Object.assign(this, { chromium, wrong: [] });
  }

  static async launch() {
    return new Browser(await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] }));
  }

  close() {
    return this.chromium.close();
  }

  /** A page of an origin, in a browser of its own or one that is known. */
  async open(home, known = undefined) {
    const context = known ?? (await this.chromium.newContext({ acceptDownloads: true }));
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on("console", (message) => message.type() === "error" && this.wrong.push(`${message.text()} ${message.location().url}`));
    page.on("pageerror", (error) => this.wrong.push(String(error)));
    page.on("request", (request) => {
      const address = request.url();
      if (!address.startsWith(`${home}/`) && !address.startsWith(`blob:${home}/`)) this.wrong.push(`asked ${address}`);
    });
    return { context, page };
  }

  async look(name, page) {
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    const told = serious.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.map(({ html, failureSummary }) => `  ${html} ${failureSummary}`).join("\n")}`);
    assert.deepEqual(told, [], name);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(overflow <= 0, `${name} is ${overflow} px too wide`);
  }

  /** A view at three widths, light and dark. */
  async looks(name, address, shown) {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [360, 1280, 2560]) {
        await shown.emulateMedia({ colorScheme });
        await shown.setViewportSize({ width, height: width === 360 ? 800 : 1000 });
        await shown.goto(new URL(`/${address}`, shown.url()).href);
        await shown.locator("main h1").waitFor();
        await shown.locator("main .card").first().waitFor();
        await this.look(`${name} at ${width} px, ${colorScheme}`, shown);
        if (shots) {
          await mkdir(shots, { recursive: true });
          await shown.waitForFunction(() => !/Asks the (coordinator|agent|program)/.test(document.querySelector("main")?.textContent) && !document.querySelector("[role=status].muted"));
          await shown.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`), fullPage: true });
        }
      }
    }
    await shown.emulateMedia({ colorScheme: "light" });
    await shown.setViewportSize({ width: 1280, height: 1000 });
  }
}
