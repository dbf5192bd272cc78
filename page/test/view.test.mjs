// The page of `truthfed view` in a browser: with the program in TRUTHFED and Chromium in CHROMIUM.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Browser } from "./browser.mjs";
import { LINK, text, truthfed } from "./coordinator.mjs";

const SMALL = ["--set", "world.clients=5", "--set", "world.steps=300", "--set", "world.arm_count=50", "--seeds", "3"];
let browser, place, report, runs;
const viewers = [];

/** `truthfed view` of some folders, opened in a browser. */
async function view(...args) {
  const process_ = spawn(process.env.TRUTHFED, ["view", ...args], { cwd: place, stdio: ["ignore", "ignore", "pipe"] });
  viewers.push(process_);
  let said = "";
  const link = await new Promise((found, failed) => {
    process_.stderr.on("data", (text) => {
      said += text;
      if (LINK.test(said)) found(LINK.exec(said)[0]);
    });
    process_.on("exit", (code) => failed(new Error(`the page ended with ${code}: ${said}`)));
  });
  const { origin } = new URL(link);
  const { page, context } = await browser.open(origin);
  await page.goto(link);
  await page.locator("main h1").waitFor();
  return { page, context, origin, link };
}

before(async () => {
  place = await mkdtemp(join(tmpdir(), "truthfed-view-"));
  browser = await Browser.launch();
  const wrote = [await truthfed(place, "reproduce", "--quick", "--seeds", "2", "--out", "report")];
  for (const mechanism of ["clock", "greedy"]) {
    wrote.push(await truthfed(place, "simulate", ...SMALL, "--set", `rounds.mechanism=${mechanism}`, "--out", mechanism, "--no-rounds"));
  }
  assert.deepEqual(wrote.map(({ code }) => code), [0, 0, 0], wrote.map(({ stderr }) => stderr).join());
  report = await view("report");
  runs = await view("clock", "greedy");
});

after(async () => {
  await browser?.close();
  for (const viewer of viewers) {
    viewer.kill("SIGTERM");
    const [code] = viewer.exitCode === null ? await once(viewer, "exit") : [viewer.exitCode];
    assert.equal(code, 0);
  }
  await rm(place, { recursive: true, force: true });
});

/** The numbers of a readout, by name. */
const readout = (page) => page.locator(".readout [data-name]").evaluateAll((lines) => Object.fromEntries(lines.map((line) => [line.dataset.name, Number(line.querySelector(".number").textContent.split(" ")[0].replaceAll(",", ""))])));

/** The rows of a CSV file without quotes, by the names of its columns. */
async function rows(...path) {
  const [head, ...lines] = (await text(join(place, ...path))).trimEnd().split("\n").map((line) => line.split(","));
  return lines.map((line) => Object.fromEntries(head.map((name, index) => [name, line[index]])));
}

test("a value under the pointer is the mean of the seeds in the table", async () => {
  const { page, origin } = runs;
  await page.goto(`${origin}/#/figure?file=curves.csv&x=step&y=regret`);
  const drawing = page.locator(".plot .drawing");
  await drawing.focus();
  await page.keyboard.press("ArrowRight");
  const first = await readout(page);
  assert.deepEqual(Object.keys(first), ["clock", "greedy"]);
  const { x, width, y, height } = await drawing.locator("svg").boundingBox();
  await page.mouse.move(x + 0.6 * width, y + height / 2);
  await page.waitForFunction((first) => document.querySelector(".readout [data-name] .number")?.textContent !== first, String(first.clock));
  const step = (await page.locator(".readout strong").textContent()).replace(/\D/g, "");
  for (const [name, shown] of Object.entries(await readout(page))) {
    const values = (await rows(name, "curves.csv")).filter((row) => row.step === step).map((row) => Number(row.regret));
    assert.equal(values.length, 3, step);
    const mean = values.reduce((sum, value) => sum + value, 0) / 3;
    assert.ok(Math.abs(shown - mean) <= 1e-5 * Math.abs(mean), `${name} at ${step}: ${shown}, ${mean}`);
  }
});

test("names are switched on and off, and the axes follow what is left", async () => {
  const { page, origin } = runs;
  await page.goto(`${origin}/#/figure?file=curves.csv&x=step&y=incentive`);
  const series = () => page.locator(".plot [data-series]").evaluateAll((lines) => lines.map((line) => line.dataset.series));
  await page.locator('.plot [data-series="greedy"]').waitFor();
  // Clock pays more here: without it the axis is that of greedy.
  const line = () => page.locator('.plot [data-series="greedy"] path').last().getAttribute("d");
  const before = await line();
  await page.getByRole("button", { name: "clock" }).click();
  assert.deepEqual(await series(), ["greedy"]);
  assert.equal(await page.getByRole("button", { name: "clock" }).getAttribute("aria-pressed"), "false");
  assert.notEqual(await line(), before);
  await page.keyboard.press("Enter");
  assert.deepEqual(await series(), ["clock", "greedy"]);
  assert.equal(await line(), before);
});

test("a dragged range is zoomed to, and the keyboard does the same", async () => {
  const { page, origin } = runs;
  await page.goto(`${origin}/#/figure?file=curves.csv&x=step&y=reward`);
  const svg = page.locator(".plot .drawing svg");
  await svg.waitFor();
  await page.locator("summary").click();
  const lines = page.locator("details tbody tr");
  await lines.nth(10).waitFor();
  const all = await lines.count();
  const isWhole = () => page.waitForFunction((all) => document.querySelectorAll("details tbody tr").length === all, all);
  const isPart = () => page.waitForFunction((all) => document.querySelectorAll("details tbody tr").length < all, all);
  const { x, width, y, height } = await svg.boundingBox();
  await page.mouse.move(x + 0.4 * width, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + 0.7 * width, y + height / 2, { steps: 4 });
  await page.mouse.up();
  const back = page.getByRole("button", { name: "Show all" });
  await back.waitFor();
  const [from, to] = (await page.locator(".plot figcaption .number").textContent()).split(" to ").map((value) => Number(value.replaceAll(",", "")));
  await isPart();
  const shown = await lines.evaluateAll((rows) => rows.map((row) => Number(row.children[1].textContent.replaceAll(",", ""))));
  assert.ok(shown.length > 2 && shown.length < all && shown.every((step) => step >= from && step <= to), `${from} to ${to}: ${shown}`);
  await back.click();
  await isWhole();
  await page.locator(".plot .drawing").focus();
  await page.keyboard.press("+");
  await isPart();
  await page.keyboard.press("0");
  await isWhole();
});

test("the figure that is shown is a file of its own, with the report's colours and without what is hidden", async () => {
  const { page, origin } = report;
  // In the dark too, it is for paper.
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${origin}/#/figures/figure-1a`);
  const buttons = page.locator(".legend button[aria-pressed]");
  await buttons.nth(1).waitFor();
  const names = await buttons.allTextContents();
  const hidden = names[1].trim();
  await buttons.nth(1).click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download SVG" }).click()]);
  assert.equal(file.suggestedFilename(), "figure-1a.svg");
  const svg = await text(await file.path());
  // Our own page may not make documents out of text.
  const { page: blank } = await browser.open("about:blank");
  const seen = await blank.evaluate((svg) => {
    const root = new DOMParser().parseFromString(svg, "image/svg+xml");
    const of = (selector, name) => [...root.querySelectorAll(selector)].map((element) => element.getAttribute(name));
    return { root: root.documentElement.tagName, series: of("[data-series]", "data-series"), strokes: of("[data-series]", "stroke"), texts: [...root.querySelectorAll("text")].map((text) => text.textContent) };
  }, svg);
  await blank.close();
  assert.equal(seen.root, "svg");
  assert.ok(seen.series.length > 1 && !seen.series.includes(hidden), seen.series.join());
  assert.ok(seen.series.every((name) => seen.texts.includes(name)), "the legend has all that is shown");
  assert.ok(!svg.includes("var(") && !svg.includes("class=") && !/https?:(?!\/\/www\.w3\.org)/.test(svg));
  const own = await text(join(place, "report", "figures", "figure-1a.svg"));
  for (const colour of seen.strokes) assert.ok(own.toLowerCase().includes(colour.toLowerCase()), `${colour} is a colour of the report`);
  await page.emulateMedia({ colorScheme: "light" });
});

test("each claim has a mark for every reading, and what was measured behind it", async () => {
  const { page, origin } = report;
  await page.goto(`${origin}/#/claims`);
  const { paper, ours, readings } = JSON.parse(await text(join(place, "report", "claims.json")));
  await page.locator(".matrix").first().waitFor();
  const words = { reproduced: "reproduced", "not-reproduced": "not reproduced", refuted: "refuted", undecided: "undecided" };
  const shown = await page.locator("tr[data-claim]").evaluateAll((rows) => rows.map((row) => [row.dataset.claim, [...row.querySelectorAll(".badge")].map((badge) => badge.textContent.replace(/^\S+ /, ""))]));
  const verdict = ({ cells }, { name }) => words[cells.find((cell) => cell.readings.includes(name)).verdict];
  const expected = [...paper.map((claim) => [claim.id, readings.map((reading) => verdict(claim, reading))]), ...ours.map(({ id, verdict }) => [id, [words[verdict]]])];
  assert.deepEqual(shown, expected);
  const refuted = paper.find(({ cells }) => cells.some((cell) => cell.verdict === "refuted"));
  await page.getByRole("combobox", { name: "Verdict" }).selectOption("refuted");
  await page.getByRole("searchbox", { name: "Find" }).fill(refuted.claim);
  assert.equal(await page.locator("tr[data-claim]").count(), 1);
  await page.locator(".statement").click();
  const detail = await page.locator("tr.detail").textContent();
  for (const cell of refuted.cells) assert.ok(detail.includes(cell.measured) && detail.includes(cell.command), cell.measured);
  assert.ok(detail.includes(refuted.synthesis));
});

test("a choice of columns stands in the address, and one that cannot be drawn says why", async () => {
  const { page, origin } = runs;
  await page.goto(`${origin}/#/figure`);
  await page.getByRole("combobox", { name: "Table" }).selectOption("offers.csv.gz");
  await page.getByRole("combobox", { name: "Upwards" }).selectOption("utility");
  await page.getByRole("combobox", { name: "Across" }).selectOption("behaviour");
  await page.locator('.plot rect[fill^="var(--series"]').first().waitFor();
  assert.match(page.url(), /file=offers\.csv\.gz&x=behaviour&y=utility/);
  await page.getByRole("combobox", { name: "A line for each" }).selectOption("step");
  await page.getByRole("alert").filter({ hasText: "choose another column for lines" }).waitFor();
  await page.goBack();
  await page.locator('.plot rect[fill^="var(--series"]').first().waitFor();
});

test("views are whole at any width, light and dark, and by keyboard", async () => {
  for (const [name, address] of [["view-claims", "#/claims"], ["view-figure", "#/figures/figure-1a"], ["view-bars", "#/figures/figure-1b"], ["view-configuration", "#/configuration"]]) {
    await browser.looks(name, address, report.page);
  }
  await browser.looks("view-run", "#/figure?file=curves.csv&x=step&y=regret", runs.page);
  await browser.looks("view-clients", "#/figure?file=clients.csv&x=client&y=utility", runs.page);
  const { page } = runs;
  await page.setViewportSize({ width: 640, height: 500 });
  await page.reload();
  await page.locator(".plot svg").first().waitFor();
  const reached = [];
  for (let press = 0; press < 16; press += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? ""));
  }
  for (const name of ["Skip to the content", "Figure", "Configuration", "Log out", "Download SVG", "clock", "greedy"]) assert.ok(reached.some((one) => one.trim() === name), `${name} of ${reached.join(", ")}`);
  assert.ok(reached.some((one) => one.includes("Arrow keys read values out")));
  await page.setViewportSize({ width: 1280, height: 1000 });
});

test("one that is opened again, or by nobody in particular, shows nothing", async () => {
  const other = await browser.open(report.origin);
  await other.page.goto(report.link);
  await other.page.getByRole("alert").filter({ hasText: "opened before" }).waitFor();
  await browser.look("the login", other.page);
  const status = await other.page.evaluate(async () => (await fetch("/page/view/contents")).status);
  assert.equal(status, 401);
  await other.context.close();
});

test("a claims.json alone is a page, and what a file says is text", async () => {
  const claims = JSON.parse(await text(join(place, "report", "claims.json")));
  claims.paper[0].claim = "<img src=x onerror=alert(1)>";
  await writeFile(join(place, "claims.json"), JSON.stringify(claims));
  const { page, context } = await view("claims.json");
  await page.getByText("<img src=x onerror=alert(1)>").waitFor();
  assert.equal(await page.getByRole("navigation", { name: "Views" }).getByRole("link").count(), 1);
  await context.close();
});

test("nothing was asked of another origin, and no error was logged", () => {
  // Browsers log answers that refuse: the used link, no login, and a figure of too many lines.
  const errors = browser.wrong.filter((line) => !/status of 401|status of 404 .*by=step/.test(line));
  assert.deepEqual(errors, []);
});
