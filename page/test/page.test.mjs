// The pages in a browser, against a demo that runs: with the program in TRUTHFED and Chromium in CHROMIUM.
import assert from "node:assert/strict";
import { once } from "node:events";
import { cp, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, test as run } from "node:test";
import { Browser } from "./browser.mjs";
import { Demo, text } from "./coordinator.mjs";

let browser, demo, page, context, origin;
let failed = false;
const open = (home = origin, known = undefined) => browser.open(home, known);
const looks = (name, address, shown = page) => browser.looks(name, address, shown);

/** A test that the next ones build on: after one that failed, none is tried. */
function test(name, body) {
  run(name, async () => {
    assert.ok(!failed, "a test before this one failed");
    failed = true;
    await body();
    failed = false;
  });
}

before(async () => {
  demo = await Demo.start(6);
  origin = new URL(demo.link).origin;
  browser = await Browser.launch();
  ({ context, page } = await open());
});

after(async () => {
  await browser?.close();
  const code = await demo?.stop();
  assert.equal(code, 0, "the ledger of the demo verifies");
});

test("a link logs in once, and leaves nothing in the address", async () => {
  await page.goto(demo.link);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.equal(new URL(page.url()).hash, "#/");
  const [cookie] = await context.cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, "Strict", "/"]);
  const other = await open();
  await other.page.goto(demo.link);
  await other.page.getByRole("alert").filter({ hasText: "opened before" }).waitFor();
  await other.context.close();
});

test("a round goes through its phases before one's eyes", async () => {
  await page.goto(`${origin}/#/`);
  const kinds = (round) => page.locator(`.feed li[data-round="${round}"]`).evaluateAll((lines) => lines.map((line) => line.dataset.kind).reverse());
  await page.locator('.feed li[data-kind="opened"]').first().waitFor();
  const round = await page.locator('.feed li[data-kind="opened"]').first().getAttribute("data-round");
  await page.locator(`.feed li[data-round="${round}"][data-kind="settled"]`).waitFor();
  const told = await kinds(round);
  const places = ["opened", "offered", "sealed", "awarded", "delivered", "settled"].map((kind) => told.indexOf(kind));
  assert.ok(places.every((place, index) => place >= 0 && (index === 0 || place > places[index - 1])), told.join(" "));
  await page.locator("table").getByRole("link", { name: round, exact: true }).waitFor();
});

test("a round that is downloaded has the same outcome in the auction verb", async () => {
  const settled = page.locator("table tr", { hasText: "settled" }).first().getByRole("link").first();
  await settled.click();
  await page.getByRole("heading", { name: /^Round \d+$/ }).waitFor();
  const row = page.locator("table tbody tr").filter({ hasText: /won/ }).first();
  await row.waitFor();
  const { opened_ms, sealed_ms, ended_ms } = await page.evaluate(async (round) => (await fetch(`/page/rounds/${round}`, { headers: { "x-truthfed-key": localStorage.getItem("truthfed-key") } })).json(), page.url().split("/").pop());
  const phases = page.getByRole("img", { name: /^Phases of the round/ });
  await phases.getByText(`Offers, ${((sealed_ms - opened_ms) / 1000).toFixed(3)} s`, { exact: true }).waitFor();
  await phases.getByText(`Auction and deliveries, ${((ended_ms - sealed_ms) / 1000).toFixed(3)} s`, { exact: true }).waitFor();
  await page.locator("td").getByText(/would still have won at [\d.]+, not at [\d.]+|essential: |any ask up to the reserve/).first().waitFor();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download for truthfed auction" }).click()]);
  const path = await file.path();
  assert.equal(JSON.parse(await text(path)).schema, "truthfed.round/1");
  const { stdout } = await demo.truthfed("auction", path, "--json", "--certify");
  const outcome = JSON.parse(stdout);
  assert.equal(outcome.certified, true);
  const shown = await page.locator("table tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  const winners = shown.filter((cells) => cells[4].includes("won")).map((cells) => [cells[0], cells[5].replace(/[^\d.]/g, "").replace(/\.?0+$/, "")]);
  const known = outcome.winners.map(({ client, payment }) => [client, String(payment)]);
  assert.deepEqual(winners.sort(), known.sort());
});

test("stepping through the clock ends at the payments, by keyboard and by dragging", async () => {
  const slider = page.getByRole("slider", { name: "Step of the clock" });
  await slider.waitFor();
  const prices = () => page.locator(".prices li").evaluateAll((lines) => Object.fromEntries(lines.map((line) => [line.dataset.member, line.dataset.price])));
  const last = Number(await slider.getAttribute("max"));
  const first = Object.values(await prices());
  assert.ok(first.length > 1 && first.every((price) => price === "100"), `all begin at the reserve: ${first}`);
  await slider.focus();
  let before = await prices();
  for (let step = 1; step <= last; step += 1) {
    await page.keyboard.press("ArrowRight");
    await page.getByText(`step ${step} of ${last}`).waitFor();
    const now = await prices();
    for (const [member, price] of Object.entries(now)) assert.ok(Number(price) <= Number(before[member]), `${member} at step ${step}`);
    before = now;
  }
  const shown = await page.locator("table tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
  const paid = shown.filter((cells) => cells[4].includes("won")).map((cells) => [cells[0], Number(cells[5].replace(/[^\d.]/g, ""))]);
  const left = Object.entries(before).filter(([, price]) => price !== "").map(([member, price]) => [member, Number(price)]);
  assert.deepEqual(left.sort(), paid.sort(), "the last prices are the payments");
  const { x, y, width, height } = await slider.boundingBox();
  await page.mouse.move(x + width - 9, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + 2, y + height / 2, { steps: 5 });
  await page.mouse.up();
  await page.getByText(`step 0 of ${last}`).waitFor();
});

test("a member's page shows its own rounds and receipts, and nothing of other members", async () => {
  const link = await demo.memberLink("m1");
  const home = new URL(link).origin;
  // In the browser of the operator: cookies are one for all ports of a host, and neither page may end the login of the other.
  const mine = await open(home, context);
  const said = [];
  mine.page.on("response", (response) => said.push(response.text().then((answer) => [new URL(response.url()).pathname, answer], () => ["", ""])));
  await mine.page.goto(link);
  await mine.page.getByRole("heading", { name: "Overview" }).waitFor();
  await mine.page.locator(".live-state .good").waitFor();
  const used = await open(home);
  await used.page.goto(link);
  await used.page.getByRole("alert").filter({ hasText: "opened before" }).waitFor();
  await browser.look("the login of a member", used.page);
  await used.context.close();
  // Its part in a round, as it happens.
  await mine.page.locator('.phases[data-phase="offers"], .phases[data-phase="deliveries"]').waitFor();
  for (const [name, address] of [["member", "#/"], ["member-rounds", "#/rounds"], ["member-statement", "#/statement"]]) await looks(name, address, mine.page);
  await mine.page.goto(`${home}/#/rounds`);
  const won = mine.page.locator("table tr", { hasText: "paid" }).first();
  await won.waitFor();
  const round = (await won.getByRole("link").first().textContent()).replace(",", "");
  await won.getByRole("link").first().click();
  await mine.page.getByRole("heading", { name: `Round ${round}` }).waitFor();
  await looks("member-round", `#/rounds/${round}`, mine.page);
  const receipt = JSON.parse(await mine.page.locator("figure", { hasText: "paid" }).locator("pre").last().textContent());
  assert.deepEqual([receipt.content.context.member, receipt.content.kind], ["m1", "paid"]);
  await mine.page.goto(`${home}/#/statement`);
  const [file] = await Promise.all([mine.page.waitForEvent("download"), mine.page.getByRole("button", { name: "Download receipts" }).click()]);
  assert.ok(JSON.parse(await text(await file.path())).receipts.length > 3);
  const { stdout } = await demo.truthfed("round", "show", demo.folder, round, "--json");
  const { offers, awards } = JSON.parse(stdout);
  const of = (lines, key, own) => lines.filter(({ member }) => (member === "m1") === own).map((line) => line[key]);
  const own = [...of(offers, "ask_micros", true), ...of(awards, "payment_micros", true)];
  const others = [...of(offers, "ask_micros", false), ...of(awards, "payment_micros", false)].filter((micros) => !own.includes(micros));
  assert.ok(own.length === 2 && others.length > 1, stdout);
  const answers = (await Promise.all(said)).filter(([path]) => path.startsWith("/page/"));
  assert.ok(answers.length > 10);
  for (const [path, answer] of answers) assert.doesNotMatch(answer, /\bm[2-6]\b/, path);
  const shown = answers.filter(([path]) => path === `/page/rounds/${round}`).join();
  assert.ok(shown.includes(String(own[1])), shown);
  for (const micros of others) assert.ok(!shown.includes(`"${micros / 1e6}"`) && !shown.includes(String(micros)), `${micros} of ${shown}`);
  await page.goto(`${origin}/#/`);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await mine.page.setViewportSize({ width: 640, height: 500 });
  await mine.page.reload();
  await mine.page.locator("main .card").first().waitFor();
  const reached = [];
  for (let press = 0; press < 7; press += 1) {
    await mine.page.keyboard.press("Tab");
    reached.push(await mine.page.evaluate(() => document.activeElement?.textContent));
  }
  for (const name of ["Skip to the content", "Overview", "Rounds", "Statement", "Log out"]) assert.ok(reached.includes(name), `${name} of ${reached.join(", ")}`);
  await mine.page.getByRole("button", { name: "Log out" }).click();
  await mine.page.getByText("truthfed member page BUNDLE").waitFor();
  await mine.page.close();
});

test("what is held is released, and the journal's entry is shown", async () => {
  await page.goto(`${origin}/#/members`);
  const release = page.getByRole("button", { name: "Release m6" });
  await page.locator("table tr", { hasText: "m6" }).filter({ hasText: "held" }).waitFor();
  await release.click();
  await page.getByRole("dialog").getByRole("button", { name: "Release and pay" }).click();
  await page.getByRole("dialog").getByText("Done.").waitFor();
  const entry = JSON.parse(await page.getByRole("dialog").locator("pre").first().textContent());
  assert.deepEqual([entry.ruled.member, entry.ruled.ruling.toLowerCase()], ["m6", "release"]);
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
});

test("a member that is revoked is refused from then on", async () => {
  await page.goto(`${origin}/#/members`);
  await page.getByRole("button", { name: "Revoke m2" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Revoke m2" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("dialog").getByText("revoked, hash").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.locator("table tr", { hasText: "m2" }).filter({ hasText: "revoked" }).waitFor();
  const { stdout } = await demo.truthfed("members", "list", demo.folder);
  assert.match(stdout, /m2.*revoked/);
  // It takes no part in the next round: nobody waits for it.
  await page.goto(`${origin}/#/`);
  await page.locator('.feed li[data-kind="revoked"]').waitFor();
  const newest = Number(await page.locator(".feed li[data-round]:not([data-round=''])").first().getAttribute("data-round"));
  await page.locator(`.feed li[data-round="${newest + 2}"][data-kind="settled"]`).waitFor();
  const told = await page.locator(`.feed li[data-round="${newest + 2}"]`).allTextContents();
  assert.ok(told.length > 3 && !told.some((line) => line.includes("m2")), told.join("\n"));
});

test("a member whom the authority has certified is added, and only with its certificate", async () => {
  await demo.truthfed("member", "init", join(demo.place, "zoe"));
  const added = await demo.truthfed("init", join(demo.place, "elsewhere"), "--member", "zoe");
  assert.equal(added.code, 0, added.stderr);
  await page.goto(`${origin}/#/members`);
  await page.getByRole("button", { name: "Add a member" }).click();
  const entrance = page.getByRole("dialog");
  await browser.look("the dialog that adds a member", page);
  await entrance.getByLabel("Certificate").setInputFiles(join(demo.place, "elsewhere", "roster", "zoe.pem"));
  await entrance.getByRole("button", { name: "Look whose it is" }).click();
  await entrance.getByRole("alert").filter({ hasText: "this federation's authority did not issue" }).waitFor();
  // Where the authority's key is: a copy of the folder, with no coordinator beside it.
  const offline = join(demo.place, "offline");
  await cp(demo.folder, offline, { recursive: true, filter: (path) => !/ledger\.db|checkpoint/.test(path) });
  await writeFile(join(offline, "federation.toml"), (await text(join(offline, "federation.toml"))).replaceAll(/^((?:listen|address|admin) = )"[^"]+"/gm, '$1"127.0.0.1:1"'));
  const issued = await demo.truthfed("members", "add", offline, "--request", join(demo.place, "zoe", "request.json"));
  assert.equal(issued.code, 0, issued.stderr);
  await entrance.getByLabel("or its text").fill(await text(join(offline, "roster", "zoe.pem")));
  await entrance.getByRole("button", { name: "Look whose it is" }).click();
  await page.getByRole("heading", { name: "Add zoe?" }).waitFor();
  assert.doesNotMatch((await demo.truthfed("members", "list", demo.folder)).stdout, /zoe/);
  await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("dialog").getByText("enrolled, hash").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.locator("table tr", { hasText: "zoe" }).waitFor();
  assert.match((await demo.truthfed("members", "list", demo.folder)).stdout, /zoe +member/);
  assert.equal(await text(join(demo.folder, "roster", "zoe.pem")), await text(join(offline, "roster", "zoe.pem")));
  // Nobody waits for somebody who never comes.
  await page.getByRole("button", { name: "Revoke zoe" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("dialog").getByText("revoked, hash").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
});

test("the ledger is exported as the command line exports it", async () => {
  await page.goto(`${origin}/#/ledger`);
  await page.locator("table tbody tr").first().waitFor();
  await page.getByRole("searchbox", { name: "Member" }).fill("m1");
  await page.waitForFunction(() => [...document.querySelectorAll("tbody tr")].every((row) => row.children[4].textContent === "m1"));
  await page.getByRole("searchbox", { name: "Member" }).fill("");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download CSV" }).click()]);
  const lines = (await text(await file.path())).trimEnd().split("\r\n");
  const { stdout } = await demo.truthfed("ledger", "export", demo.folder, "--csv");
  assert.ok(lines.length > 10);
  assert.deepEqual(stdout.split("\r\n").slice(0, lines.length), lines);
});

/** The operator's cookie. */
async function loggedIn() {
  const name = `truthfed-${new URL(origin).port}`;
  return (await context.cookies()).find((cookie) => cookie.name === name);
}

/** The status and body of a plain request, with any headers. */
async function raw(head, body = "") {
  const socket = connect(Number(new URL(origin).port), "127.0.0.1");
  socket.write(`${head.join("\r\n")}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  let answer = "";
  socket.on("data", (piece) => (answer += piece));
  await once(socket, "close");
  return { status: Number(answer.split(" ")[1]), answer };
}

test("a stranger, an expired link, a foreign origin and a rebinding host get nothing", async () => {
  const cookie = await loggedIn();
  const key = await page.evaluate(() => localStorage.getItem("truthfed-key"));
  const host = new URL(origin).host;
  const good = [`Host: ${host}`, `Cookie: ${cookie.name}=${cookie.value}`, `X-Truthfed-Key: ${key}`];
  const get = (path, ...headers) => raw([`GET ${path} HTTP/1.1`, ...headers]);
  assert.equal((await get("/page/overview", ...good)).status, 200);
  const data = ["/page/overview", "/page/members", "/page/rounds", "/page/rounds/1", "/page/rounds/1/auction", "/page/rounds/1/round.json", "/page/postings", "/page/postings.csv", "/page/entries?after=0", "/page/events", "/v1/operator/members", "/v1/operator/rounds"];
  for (const path of data) {
    for (const [who, headers, status] of [
      ["a stranger", [`Host: ${host}`], 401],
      ["the cookie alone", [`Host: ${host}`, `Cookie: ${cookie.name}=${cookie.value}`], 401],
      ["the key alone", [`Host: ${host}`, `X-Truthfed-Key: ${key}`], 401],
      ["a foreign origin", [...good, "Origin: http://attacker.example"], 400],
      ["another port", [...good, "Origin: http://127.0.0.1:1"], 400],
      ["a foreign site", [...good, "Sec-Fetch-Site: cross-site"], 400],
      ["a rebinding host", ["Host: attacker.example", ...good.slice(1)], 400],
    ]) {
      const answer = await get(path, ...headers);
      assert.equal(answer.status, status, `${who}: ${path} ${answer.answer}`);
      assert.doesNotMatch(answer.answer.split("\r\n\r\n")[1], /m[1-6]/, `${who}: ${path}`);
    }
  }
  const revoke = (...headers) => raw(["DELETE /v1/operator/members/m1 HTTP/1.1", ...headers]);
  assert.equal((await revoke(`Host: ${host}`, `Cookie: ${cookie.name}=${cookie.value}`)).status, 401);
  assert.equal((await revoke(...good, "Origin: http://attacker.example")).status, 400);
  assert.equal((await raw(["POST /v1/operator/page HTTP/1.1", ...good], '{"seconds":60}')).status, 403, "a login makes no links");
  const link = await demo.newLink("--seconds", "1");
  await new Promise((next) => setTimeout(next, 1200));
  const expired = await raw(["POST /page/login HTTP/1.1", `Host: ${host}`], JSON.stringify({ link: link.split("=")[1] }));
  assert.equal(expired.status, 401, expired.answer);

  // A page of another origin in the same browser: it can neither read nor change anything, nor show ours in a frame.
  const server = createServer((_, response) => response.end("<title>foreign</title>")).listen(0, "127.0.0.1");
  await once(server, "listening");
  const foreign = await context.newPage();
  await foreign.goto(`http://127.0.0.1:${server.address().port}/`);
  const read = await foreign.evaluate(
    async (origin) => {
      const answers = [];
      for (const [path, options] of [["/page/overview", {}], ["/page/overview", { credentials: "include" }], ["/v1/operator/members/m1", { method: "DELETE", credentials: "include" }], ["/page/login", { method: "POST", body: "{}" }]]) {
        answers.push(await fetch(origin + path, options).then((response) => response.text(), () => "nothing"));
      }
      const blind = await fetch(`${origin}/page/overview`, { mode: "no-cors", credentials: "include" }).then((response) => response.type, () => "nothing");
      return [...answers, blind];
    },
    origin,
  );
  assert.ok(read.every((answer) => answer === "nothing" || answer === "opaque"), read.join("\n"));
  await foreign.close();
  server.close();
  const { stdout } = await demo.truthfed("members", "list", demo.folder);
  assert.doesNotMatch(stdout, /m1 .*revoked/);
});

test("every view is whole at any width, light and dark, and axe finds nothing serious", async () => {
  const round = await page.evaluate(async () => {
    const headers = { "x-truthfed-key": localStorage.getItem("truthfed-key") };
    const { rounds } = await (await fetch("/page/rounds", { headers })).json();
    return rounds.find((round) => round.state === "settled" && round.offers > 3).round;
  });
  for (const [name, address] of [["overview", "#/"], ["rounds", "#/rounds"], ["round", `#/rounds/${round}`], ["members", "#/members"], ["ledger", "#/ledger"]]) {
    await looks(name, address);
  }
});

test("no name in the chart of a round covers another", async () => {
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`${origin}/#/rounds`);
    await page.locator("table tr", { hasText: "settled" }).first().getByRole("link").first().click();
    const notes = page.getByRole("img", { name: /^Offers by gain and ask/ }).locator("text.note");
    await notes.nth(1).waitFor();
    const names = await notes.evaluateAll((texts) => texts.map((text) => [text.textContent, text.getBoundingClientRect().toJSON()]));
    assert.ok(names.length > 1, `${names.length} names at ${width}`);
    for (const [index, [one, a]] of names.entries()) {
      const covered = names.slice(index + 1).filter(([, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom);
      assert.deepEqual(covered.map(([name]) => name), [], `${one} covers them at ${width}`);
    }
  }
});

test("all views are reached by keyboard, and are whole at 200 %", async () => {
  await page.setViewportSize({ width: 640, height: 500 });
  await page.goto(`${origin}/#/`);
  // A view that is opened by a click keeps the focus near its content; from the beginning it starts at the top.
  await page.reload();
  await page.locator("main .card").first().waitFor();
  const reached = [];
  for (let press = 0; press < 8; press += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement?.textContent));
  }
  for (const name of ["Skip to the content", "Overview", "Rounds", "Members", "Ledger", "Log out"]) assert.ok(reached.includes(name), `${name} of ${reached.join(", ")}`);
  await browser.look("the overview at 200 %", page);
  await page.setViewportSize({ width: 1280, height: 1000 });
});

test("a thousand members are drawn, found and sorted", async () => {
  // The coordinator's own answer, with its members many times over.
  await page.route("**/page/members", async (route) => {
    const view = await (await route.fetch()).json();
    const members = Array.from({ length: 1000 }, (_, index) => ({ ...view.members[index % view.members.length], member: `n${index}`, won: index }));
    await route.fulfill({ json: { ...view, members } });
  });
  await page.goto(`${origin}/#/members`);
  await page.getByText("1,000 members").waitFor();
  await page.getByRole("button", { name: "won" }).click();
  assert.match(await page.locator("tbody tr").first().textContent(), /^n999/);
  await page.getByLabel("Find").fill("n77");
  await page.getByText("11 of 1,000 members").waitFor();
  assert.equal(await page.locator("tbody tr").count(), 11);
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("whoever logs out is out", async () => {
  const cookie = await loggedIn();
  const key = await page.evaluate(() => localStorage.getItem("truthfed-key"));
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByText("truthfed page DIR").waitFor();
  await browser.look("the login", page);
  const again = await raw(["GET /page/overview HTTP/1.1", `Host: ${new URL(origin).host}`, `Cookie: ${cookie.name}=${cookie.value}`, `X-Truthfed-Key: ${key}`]);
  assert.equal(again.status, 401);
});

test("nothing was asked of another origin, and no error was logged", () => {
  // Browsers log answers that refuse: 401 to the used link, 422 to a foreign certificate, and 429 to a ruling while a round is open, which is tried again.
  const errors = browser.wrong.filter((line) => !/status of 401|status of 422 .*\/page\/certificate$|status of 429 .*\/members\/m6\/ruling$/.test(line));
  assert.deepEqual(errors, []);
});
