// Opens the HTML report in Chromium and uses everything on it.
//
// Environment: PLUMBLINE (the program), CHROMIUM, NODE_MODULES (with playwright-core and axe-core).
// `--measure` prints how long things take, and fails if the limits of docs/benchmarks.md are missed.
// `--screenshots DIR [ARCHIVE]` writes pictures of the page of an archive, or of a generated one, instead.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { CLUSTER, HOSTILE, archive, mixed, nodeList, sample, suite, sweep } from "./archives.mjs";

const modules = createRequire(join(process.env.NODE_MODULES, "index.js"));
const { chromium } = modules("playwright-core");
const AXE = readFileSync(modules.resolve("axe-core/axe.min.js"), "utf8");
const scratch = mkdtempSync(join(tmpdir(), "plumbline-browser-"));

/** Writes the page of an archive. Returns its path, its size, and the peak memory of the program. */
async function report(dir, name, more = []) {
  const path = join(scratch, `${name}.html`);
  const program = spawn(process.env.PLUMBLINE, ["results", dir, "-o", "html", ...more], { stdio: ["ignore", openSync(path, "w"), "inherit"] });
  let peak = 0;
  const look = setInterval(() => {
    try {
      const [, kib] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${program.pid}/status`, "utf8")) ?? [];
      peak = Math.max(peak, Number(kib ?? 0) / 1024);
    } catch {
      // The program has ended.
    }
  }, 5);
  const code = await new Promise((resolve) => program.on("exit", resolve));
  clearInterval(look);
  assert.ok([0, 1, 3].includes(code), `exit code ${code}`);
  return { url: pathToFileURL(path).href, bytes: statSync(path).size, peak };
}

/** Opens a page, and collects what it must not do: requests to elsewhere, and errors. */
async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const bad = [];
  page.on("request", (request) => { if (!request.url().startsWith("file:")) bad.push(request.url()); });
  page.on("console", (message) => { if (message.type() === "error") bad.push(message.text()); });
  page.on("pageerror", (error) => bad.push(error.stack));
  await page.goto(url);
  if (options.javaScriptEnabled !== false) await page.locator("html[data-ready]").waitFor();
  return { page, bad };
}

const count = (page) => page.locator("#table > p[role=status]").textContent();
const rows = (page) => page.locator(".grid .body .row");

/** Waits until a function of the page returns a true value. */
const until = (page, condition, argument) => page.waitForFunction(condition, argument);

/** Scrolls to a part of the page, which the script then fills. */
const scrollTo = (page, part) => page.locator(part).evaluate((element) => element.scrollIntoView());

/** The violations of WCAG 2.1 AA that axe finds. */
async function violations(page) {
  // The page's policy forbids scripts that are not its own, so axe comes over the debugger.
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: AXE });
  const run = `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }).then((found) => found.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary).slice(0, 3).join("; ")))`;
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", { expression: run, awaitPromise: true, returnByValue: true });
  assert.equal(exceptionDetails, undefined);
  return result.value;
}

const tests = {
  async "without a script, the page says what failed and why"(browser, { url }) {
    const { page } = await open(browser, url, { javaScriptEnabled: false });
    assert.match(await page.locator(".verdict").textContent(), /^failed 1\d failures count, 1 is excused of \d+ items; 1 check did not pass$/);
    const facts = await page.locator("header .facts").textContent();
    for (const fact of [CLUSTER, "v1.36.3", "nodes12", "25 November 2026, 09:00 UTC", "1 h 30 min", "Plumbline 0.1.0"]) assert.ok(facts.includes(fact), facts);
    const titles = await page.locator("main h2").allTextContents();
    assert.match(titles.slice(0, 3).join(), /^1\d failures, \d+ causes,All items,Plugins$/);
    await page.locator("#failures details.cause").first().locator("details.test > summary").first().click();
    assert.ok(await page.locator("#failures pre").first().isVisible());
    assert.match(await page.locator("#nodes").textContent(), /kernelVersion6\.1\.0-17-amd641 of 10 of 11/);
    assert.match(await page.locator("main").textContent(), /kernel6\.1\.0-18-amd64 on 116\.1\.0-17-amd64 on 1: node-5/);
  },

  async "search, filters and sorting find items, and the URL keeps them"(browser, { url }) {
    const { page, bad } = await open(browser, url);
    const all = await count(page);
    await page.locator("input[type=search]").fill("NUMBER 57 sig-");
    await until(page, (all) => document.querySelector("#table > p").textContent !== all, all);
    const found = await count(page);
    assert.match(await rows(page).first().textContent(), /failed.*number 57 /);
    await page.reload();
    await page.locator("html[data-ready]").waitFor();
    assert.equal(await count(page), found);
    await page.getByRole("button", { name: "Clear" }).click();
    for (const [title, value, text] of [["status", "skipped", /skipped/], ["SIG or suite", "sig-auth", /\[sig-auth\]/], ["node", "node-5", /node-5/], ["plugin", "node-check", /node-check/],
      ["duration", "60", /min/], ["class", "known-failure", /known-failure/]]) {
      await page.getByLabel(`Filter by ${title}`).selectOption(value);
      assert.notEqual(await count(page), all, title);
      assert.match(await rows(page).first().textContent(), text, title);
      await page.getByRole("button", { name: "Clear" }).click();
      assert.equal(await count(page), all);
    }
    await page.getByRole("button", { name: "took" }).click();
    await page.getByRole("button", { name: "took" }).click();
    assert.match(await rows(page).first().textContent(), /11 min 40 s/);
    assert.equal(await page.locator("[role=columnheader].col-took").getAttribute("aria-sort"), "descending");
    assert.match(page.url(), /#sort=-took$/);
    assert.deepEqual(bad, []);
  },

  async "the keyboard is enough"(browser, { url }) {
    const { page } = await open(browser, url);
    await page.keyboard.press("/");
    await page.keyboard.type("check 3");
    await page.locator(".grid").focus();
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.locator(".grid").getAttribute("aria-activedescendant"), "row-1");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    const title = await dialog.locator("h2").textContent();
    await page.keyboard.press("j");
    await until(page, (before) => document.querySelector("dialog h2").textContent + document.querySelector("dialog dl").textContent !== before, title);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await until(page, () => document.activeElement.className === "grid");
    await page.keyboard.press("End");
    const last = await page.locator(".grid .row.active").getAttribute("aria-rowindex");
    assert.equal(last, await page.locator(".grid").getAttribute("aria-rowcount"));
  },

  async "every item has a link that works on the page of another run"(browser, { url, other }) {
    const { page } = await open(browser, url);
    await page.locator("input[type=search]").fill("number 57 ");
    await rows(page).first().click();
    await page.getByRole("dialog").waitFor();
    const hash = new URL(page.url()).hash;
    const id = new URLSearchParams(hash.slice(1)).get("item");
    assert.match(id, /^t-/);
    await page.evaluate(() => { navigator.clipboard.writeText = async (text) => { window.copied = text; }; });
    await page.getByRole("button", { name: "Copy link" }).click();
    await until(page, () => window.copied);
    assert.equal(await page.evaluate(() => window.copied), `${url}#${id}`);
    for (const base of [url, other]) {
      const { page: linked } = await open(browser, `${base}#${id}`);
      assert.match(await linked.getByRole("dialog").locator("h2").textContent(), /number 57 /);
      await linked.keyboard.press("Escape");
      await until(linked, () => location.hash === "");
    }
    const { page: missing } = await open(browser, `${url}#t-none`);
    assert.match(await count(missing), /not on this page/);
    await page.keyboard.press("Escape");
    await page.locator("#slowest a").first().click();
    await page.getByRole("dialog").waitFor();
  },

  async "a cause leads to its failures"(browser, { url }) {
    const { page } = await open(browser, url);
    const cause = page.locator("#failures details.cause").first();
    const number = /^(\d+) ×/.exec(await cause.locator("summary .count").first().textContent())[1];
    await cause.getByText("in the table").click();
    await until(page, (number) => document.querySelector("#table > p").textContent.startsWith(`${number} of`), number);
    await rows(page).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "failures with this cause" }).click();
    assert.match(await count(page), new RegExp(`^${number} of`));
  },

  async "durations against the previous run lead to the items"(browser, { url }) {
    const { page, bad } = await open(browser, url);
    const part = page.locator("section[aria-labelledby=durations]");
    assert.match(await part.locator("p").first().textContent(), /^The previous run is in earlier\. Tests with a duration in both runs took .+, previously .+\.$/);
    assert.match(await part.locator("h3").first().textContent(), /^Much slower: \d+$/);
    const link = part.locator("td a").first();
    const [number] = /number \d+ /.exec(await link.textContent());
    await link.click();
    assert.ok((await page.getByRole("dialog").locator("h2").textContent()).includes(number));
    assert.deepEqual(bad, []);
  },

  async "the heat map and the timeline can be used"(browser, { url }) {
    const { page, bad } = await open(browser, url);
    await scrollTo(page, "#heat");
    const heat = page.locator("#heat canvas").first();
    await heat.waitFor();
    await heat.focus();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", ...Array(5).fill("ArrowRight")]) await page.keyboard.press(key);
    assert.match(await page.locator("#heat .readout").textContent(), /^node-5 · check 3: .*: failed the kernel of node-5/);
    await page.keyboard.press("Enter");
    assert.match(await page.getByRole("dialog").textContent(), /failed.*check 3.*node-5/);
    await page.keyboard.press("Escape");
    const box = await heat.boundingBox();
    await heat.hover({ position: { x: box.width - 2, y: 2 } });
    assert.match(await page.locator("#heat .readout").textContent(), /^node-11 · check 0/);
    await page.locator("#heat summary").click();
    await page.locator("#heat").getByRole("button", { name: "node-5" }).first().click();
    assert.match(await count(page), /^1 of/);

    await scrollTo(page, "#lanes");
    const lanes = page.locator("#lanes canvas").first();
    await lanes.waitFor();
    await lanes.focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await page.locator("#lanes .readout").first().textContent(), / · after 0 ms · /);
    await page.keyboard.press("+");
    await page.getByRole("button", { name: "Show everything" }).first().click();
    await lanes.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(bad, []);
  },

  async "what the cluster went through is on the timeline and beside failures"(browser, { url }) {
    const { page, bad } = await open(browser, url);
    const sentence = "node node-5 was not ready while plugin node-check ran";
    assert.ok((await page.locator("#failures p.cluster").first().textContent()).startsWith(sentence));
    await scrollTo(page, "#lanes");
    const lanes = page.locator("#lanes canvas").nth(1), readout = page.locator("#lanes .readout").nth(1);
    await lanes.waitFor();
    await lanes.focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await readout.textContent(), "node node-5: Ready is Unknown: Kubelet stopped · 09:10:00 · 20 min 0 s");
    await page.keyboard.press("ArrowRight");
    assert.match(await readout.textContent(), /^pod apps\/web-1: FailedScheduling: <img onerror> /);
    await page.keyboard.press("Enter");
    assert.equal(await page.getByRole("dialog").count(), 0);
    await page.locator("input[type=search]").fill("check 3 node-5");
    await rows(page).first().click();
    assert.ok((await page.getByRole("dialog").locator("dl").textContent()).includes(sentence));
    assert.deepEqual(bad, []);
  },

  async "a failed item offers the log of the pod on its node"(browser, { url }) {
    const { page, bad } = await open(browser, url);
    await page.locator("input[type=search]").fill("check 3 node-5");
    await rows(page).first().click();
    const log = page.getByRole("dialog").locator("details");
    await log.locator("summary").click();
    assert.equal(await log.locator("pre span.c1").textContent(), "the kernel is too old");
    assert.deepEqual(bad, []);
  },

  async "foreign text stays text, and logs have their colours"(browser, { url }) {
    const { page, bad } = await open(browser, url);
    await page.locator("input[type=search]").fill("onerror");
    await rows(page).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.locator("pre").first().waitFor();
    assert.ok((await dialog.locator("h2").textContent()).includes("</script><script>window.hacked = 1</script>"));
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("main img").count(), 0);
    const red = dialog.locator("pre span.c1.bo", { hasText: "red and bold" });
    assert.notEqual(await red.evaluate((span) => getComputedStyle(span).color), await dialog.evaluate((all) => getComputedStyle(all).color));
    assert.match(await dialog.textContent(), /characters are left out: see plugins\/e2e\/results\/global\/junit_01\.xml/);
    assert.ok(!(await dialog.textContent()).includes("\u202e"), HOSTILE);
    assert.deepEqual(bad, []);
  },

  async "it meets WCAG AA: light, dark and on a phone, folded and unfolded"(browser, { url }) {
    const phone = { viewport: { width: 360, height: 740 } };
    for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, phone]) {
      const { page } = await open(browser, url, options);
      for (const part of ["#heat", "#lanes"]) {
        await scrollTo(page, part);
        await page.locator(`${part} canvas`).first().waitFor();
      }
      await page.evaluate(() => document.querySelectorAll("details").forEach((folded) => { folded.open = true; }));
      assert.deepEqual(await violations(page), [], JSON.stringify(options));
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the screen");
      await page.evaluate(() => { location.hash = "#item-7"; });
      await page.getByRole("dialog").locator("pre").first().waitFor();
      assert.deepEqual(await violations(page), [], `dialog, ${JSON.stringify(options)}`);
    }
  },

  async "no heading of a table wraps, and no short word is broken"(browser, { url }) {
    for (const viewport of [{ width: 360, height: 740 }, { width: 1280, height: 900 }]) {
      const { page } = await open(browser, url, { viewport });
      const broken = await page.evaluate(() => {
        const lines = (range) => new Set(Array.from(range.getClientRects(), (line) => Math.round(line.top))).size;
        const found = [];
        for (const cell of document.querySelectorAll("table th, table td")) {
          const range = document.createRange();
          range.selectNodeContents(cell);
          if (cell.closest("thead") && lines(range) > 1) found.push(cell.textContent);
          const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
          while (texts.nextNode()) {
            for (const word of texts.currentNode.data.matchAll(/(?<![^\s/-])[^\s/-]{1,12}(?![^\s/-])/g)) {
              range.setStart(texts.currentNode, word.index);
              range.setEnd(texts.currentNode, word.index + word[0].length);
              if (!cell.matches(".long") && lines(range) > 1) found.push(word[0]);
            }
          }
        }
        return found;
      });
      assert.deepEqual(broken, [], `${viewport.width} pixels`);
    }
  },

  async "it prints what is folded, and leaves out what needs a pointer"(browser, { url }) {
    const { page } = await open(browser, url);
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("details:not([open])").count(), 0);
    assert.ok(await page.locator("#table").isHidden());
  },
};

/** Measures a large page. Each entry is a title, a value, its unit and its limit. */
async function measured(browser) {
  const large = await report(archive(join(scratch, "large"), [suite(100000)]), "large");
  const wide = await report(archive(join(scratch, "wide"), [sweep(5000, 30)], { "resources/cluster/core_v1_nodes.json": nodeList(5000) }), "wide");
  const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
  const paints = [], ready = [];
  for (let round = 0; round < 5; round++) {
    const { page } = await open(browser, large.url);
    paints.push(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime));
    ready.push(await page.evaluate(() => performance.getEntriesByName("plumbline-ready")[0].duration));
    await page.context().close();
  }
  const { page } = await open(browser, large.url);
  await page.locator("input[type=search]").pressSequentially("volumes 4711 sig-node");
  const searches = await page.evaluate(() => performance.getEntriesByName("plumbline-search").map((entry) => entry.duration));
  const { page: nodes } = await open(browser, wide.url);
  await scrollTo(nodes, "#heat");
  await nodes.waitForFunction(() => performance.getEntriesByName("plumbline-heat").length > 0);
  const heat = await nodes.evaluate(() => performance.getEntriesByName("plumbline-heat").map((entry) => entry.duration));
  await scrollTo(page, "#lanes");
  await page.waitForFunction(() => performance.getEntriesByName("plumbline-timeline").length > 0);
  const lanes = await page.evaluate(() => performance.getEntriesByName("plumbline-timeline").map((entry) => entry.duration));
  return [
    ["100,000 items: size of the file", large.bytes / 1048576, "MiB", 15],
    ["100,000 items: peak memory of the program", large.peak, "MiB", 64],
    ["100,000 items: first paint (median of 5)", median(paints), "ms", 1000],
    ["100,000 items: table ready (median of 5)", median(ready), "ms"],
    ["100,000 items: a search, per key (median of 21 keys)", median(searches.slice(1)), "ms", 50],
    ["100,000 items: the slowest of these searches", Math.max(...searches.slice(1)), "ms"],
    ["100,000 items: timeline drawn (median)", median(lanes), "ms"],
    ["5,000 nodes × 30 checks: size of the file", wide.bytes / 1048576, "MiB", 15],
    ["5,000 nodes × 30 checks: peak memory of the program", wide.peak, "MiB", 64],
    ["5,000 nodes × 30 checks: heat map built and drawn (slowest)", Math.max(...heat), "ms", 200],
  ];
}

/** Scrolls to a part of the page, and waits until it stays where it is: charts are drawn when they come near the screen. */
async function settle(page, part) {
  await scrollTo(page, part);
  await page.locator(part).evaluate(async (element) => {
    await document.fonts.ready;
    const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); });
    for (let last = "", same = 0; same < 20;) {
      await frame();
      const { top, height } = element.getBoundingClientRect();
      const now = `${top} ${height} ${document.documentElement.scrollHeight}`;
      same = now === last ? same + 1 : 0;
      last = now;
    }
  });
}

/** The pictures: file, part of the page, what must be there, and the colour scheme. */
const PICTURES = [
  ["report.png", "header", "h1", "light"],
  ["report-dark.png", "header", "h1", "dark"],
  ["report-causes.png", "#failures", "details.cause", "light"],
  ["report-table.png", "#items", ".grid .body .row", "light"],
  ["report-nodes.png", "#nodes", "#heat canvas", "light"],
  ["report-timeline.png", "#timeline", "#lanes canvas", "light"],
];

/** Writes pictures of the report of an archive. */
async function screenshots(browser, dir, source) {
  const { url } = await report(source, "screenshots");
  for (const colorScheme of ["light", "dark"]) {
    const { page } = await open(browser, url, { colorScheme, viewport: { width: 1000, height: 520 } });
    // What is drawn later moves what is below it, so everything is drawn first.
    for (const part of ["#heat", "#lanes"]) await settle(page, part);
    for (const [name, part, content] of PICTURES.filter((picture) => picture[3] === colorScheme)) {
      if (await page.locator(content).count() === 0) {
        console.log(`${name} is not written: the report has no ${content}`);
        continue;
      }
      await settle(page, part);
      await page.locator(content).first().waitFor();
      await page.screenshot({ path: join(dir, name) });
    }
  }
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
let failed = 0, passed = 0;
try {
  const [option, dir, source] = process.argv.slice(2);
  if (option === "--screenshots") {
    await screenshots(browser, dir, source ?? sample(join(scratch, "sample")));
  } else if (option === "--measure") {
    console.log("| what | value | limit |\n|---|---|---|");
    for (const [what, value, unit, limit] of await measured(browser)) {
      const text = unit === "MiB" ? value.toFixed(1) : Math.round(value);
      console.log(`| ${what} | ${text} ${unit} | ${limit ? `${limit} ${unit}` : "–"} |`);
      if (limit && value >= limit) failed++; else passed++;
    }
  } else {
    const earlier = archive(join(scratch, "earlier"), [suite(400, [], 0.25)]);
    const { url } = await report(mixed(join(scratch, "mixed")), "mixed", ["--previous", earlier]);
    const { url: other } = await report(archive(join(scratch, "other"), [sweep(3, 8), suite(200)]), "other");
    for (const [name, test] of Object.entries(tests)) {
      try {
        await test(browser, { url, other });
        passed++;
        console.log(`ok      ${name}`);
      } catch (error) {
        failed++;
        console.log(`FAILED  ${name}\n${error.stack}`);
      }
      for (const context of browser.contexts()) await context.close();
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
} finally {
  await browser.close();
  rmSync(scratch, { recursive: true });
}
process.exitCode = failed ? 1 : 0;
