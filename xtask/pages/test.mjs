// Looks at pages in a browser without a network: node test.mjs DIRECTORY
import { mkdirSync, readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const WIDTHS = [400, 1000, 1600];
const SCHEMES = ["light", "dark"];
const directory = resolve(process.argv[2]);
const shots = join(directory, "shots");
mkdirSync(shots, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  // Where there is no GPU, a process that plays one is one more that may stop answering.
  args: ["--disable-gpu", ...(process.getuid() === 0 ? ["--no-sandbox"] : [])],
});

let passed = 0;
const failures = [];
const check = (what, holds, found = "") => {
  if (holds) passed += 1;
  else failures.push(`${what}${found === "" ? "" : `: ${found}`}`);
};

/** Opens a page; what the browser complains of is collected. */
const open = async (browser, name, width, colorScheme) => {
  const context = await browser.newContext({
    viewport: { width, height: 900 }, colorScheme, offline: true, reducedMotion: "reduce",
  });
  const page = await context.newPage();
  // A long page takes a busy machine a while to paint.
  page.setDefaultTimeout(60_000);
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => { complaints.push("a dialog"); dialog.dismiss(); });
  page.on("request", (request) => {
    if (!request.url().endsWith(`/${name}`)) complaints.push(`asked for ${request.url()}`);
  });
  await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) =>
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  await page.goto(pathToFileURL(join(directory, name)).href);
  return { context, page, complaints };
};

/** The lowest place, in pixels of the window, at which a page's first picture may begin. */
const FOLD = 700;

/** Without scrolling all charts are drawn that are not folded, and the first picture is seen. */
const unscrolled = async (at, page) => {
  const [empty, top, read] = await page.evaluate(() => {
    const folded = (one) => one.parentElement.closest("details:not([open])") !== null;
    const plots = [...document.querySelectorAll(".plot")].filter((plot) => !folded(plot));
    const first = document.querySelector(".plot svg, .flame svg, .sequence");
    const reading = document.querySelector(".reading, .answer caption");
    return [plots.filter((plot) => !plot.querySelector("svg")).length,
            first && !folded(first) ? first.getBoundingClientRect().top : null,
            reading?.textContent ?? ""];
  });
  check(`${at}: charts are there without scrolling`, empty === 0, empty);
  check(`${at}: the first picture is above the fold`, top === null || top < FOLD, top);
  check(`${at}: says how to read it`, read.length > 20, read);
};

/** Opens what is folded; the charts in it are drawn then. */
const unfold = async (page) => {
  await page.evaluate(() =>
    document.querySelectorAll("details.charts").forEach((one) => { one.open = true; }));
  for (const plot of await page.locator(".plot").all()) {
    await plot.locator("svg").first().waitFor({ state: "attached", timeout: 10_000 })
      .catch(() => {});
  }
};

const contents = async (name, page) => {
  const verdict = await page.locator("#verdict").innerText();
  check(`${name}: a verdict`, verdict.length > 20, verdict);
  const [plots, svgs, empty] = await page.evaluate(() => {
    const plots = [...document.querySelectorAll(".plot, .flame")];
    const svgs = plots.map((plot) => plot.querySelectorAll(":scope > svg, div svg").length);
    const drawn = (plot) => plot.querySelectorAll("path[d], rect, line, text").length > 0;
    return [plots.length, svgs.filter((count) => count === 1).length,
            plots.filter((plot) => !drawn(plot)).length];
  });
  check(`${name}: one drawing for each chart`, plots === svgs, `${svgs} of ${plots}`);
  check(`${name}: no chart is empty`, empty === 0, empty);
  const told = await page.locator('[role="img"]').evaluateAll((all) =>
    all.every((one) => /\d/.test(one.getAttribute("aria-label") ?? "")));
  check(`${name}: every chart is told in figures`, told);
  check(`${name}: nothing of the records ran`, !(await page.evaluate(() => window.hacked)));
};

const filters = async (name, page) => {
  for (const form of await page.locator("form.filters").all()) {
    const table = page.locator(`#${await form.getAttribute("data-table")}`);
    const shown = () => table.locator("tbody tr:visible").count();
    const metric = form.locator('[data-by="metric"]');
    const before = await shown();
    const first = await table.locator("tbody tr:visible").first().getAttribute("data-metric");
    // By keyboard alone.
    await metric.focus();
    await page.keyboard.type(first);
    const named = await table.locator("tbody tr:visible").evaluateAll((rows) =>
      rows.map((row) => row.dataset.metric));
    const fits = named.every((one) => one.toLowerCase().includes(first.toLowerCase()));
    check(`${name}: a filter leaves what it names`, named.length > 0 && fits, named.join());
    await metric.fill("no such metric");
    check(`${name}: a filter hides what it does not name`, (await shown()) === 0);
    const told = await form.locator("output").innerText();
    check(`${name}: the number of rows is told`, told.startsWith("0 of "), told);
    await metric.fill("");
    check(`${name}: an empty filter shows all again`, (await shown()) === before);
    const variant = form.locator('select[data-by="variant"]');
    if (await variant.count()) {
      await variant.selectOption("1");
      const columns = await table.locator("thead th[data-column]:visible").count();
      check(`${name}: one variant beside the base`, columns === 2, columns);
      await variant.selectOption("");
    }
    const same = form.locator('[data-by="same"]');
    if (await same.count()) {
      await same.focus();
      await page.keyboard.press("Space");
      check(`${name}: rows that are the same can be shown`, (await shown()) > before);
      await page.keyboard.press("Space");
    }
  }
};

const data = async (name, page) => {
  const details = page.locator("details.data");
  if ((await details.count()) === 0) return;
  await details.first().locator("summary").focus();
  await page.keyboard.press("Enter");
  const rows = details.first().locator("tbody tr");
  await rows.first().waitFor();
  const embedded = await page.evaluate(() =>
    JSON.parse(document.getElementById("charts").textContent)[0].rows.length);
  check(`${name}: a chart's data are a table`, (await rows.count()) === embedded);
  await page.keyboard.press("Enter");
};

/** What the marks of one chart are is the same for all of them: of a map with thousands of cells,
 *  and of many points, the first stays to be looked at. Axes, labels, tables stay whole. */
const ALIKE = ".plot svg g:is(.mark-rect, .mark-symbol).role-mark";

/** The last test of a page: it takes most marks of its charts away. */
const accessible = async (name, page) => {
  await page.emulateMedia({ media: "screen" });
  await page.evaluate((alike) => {
    for (const marks of document.querySelectorAll(alike)) {
      marks.replaceChildren(...[...marks.children].slice(0, 1));
    }
  }, ALIKE);
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
  }));
  const found = violations.map(({ id, nodes }) =>
    `${id} (${nodes.length}): ${nodes[0].html.slice(0, 120)} ${nodes[0].failureSummary}`);
  check(`${name}: accessible`, found.length === 0, found.join("; "));
};

const printed = async (name, page) => {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  check(`${name}: inputs are not printed`, !(await page.locator("form.filters").first().isVisible()));
  const clipped = await page.evaluate(() =>
    [...document.querySelectorAll(".scroll")].filter((box) =>
      getComputedStyle(box).overflowY !== "visible").length);
  check(`${name}: no table is cut in print`, clipped === 0, clipped);
  // Paper is narrower than the screen that the charts were drawn for, and tells nobody.
  const cut = await page.evaluate(() => {
    document.body.style.width = "600px";
    const plots = [...document.querySelectorAll(".plot:has(svg)")];
    const width = (element) => element.getBoundingClientRect().width;
    const found = plots.filter((plot) => width(plot.querySelector("svg")) > width(plot) + 1).length;
    document.body.style.width = "";
    return found;
  });
  check(`${name}: no chart is cut in print`, cut === 0, cut);
  const pdf = await page.pdf({ format: "A4" });
  check(`${name}: prints`, pdf.length > 10_000, pdf.length);
};

const names = readdirSync(directory).filter((name) => name.endsWith(".html")).sort();
check("there are pages", names.length > 0);
const look = async (browser, { at, name, width, scheme }) => {
  const { context, page, complaints } = await open(browser, name, width, scheme);
  await unscrolled(at, page);
  await page.screenshot({ path: join(shots, `${name}-${width}-${scheme}.png`), fullPage: true });
  await unfold(page);
  await contents(at, page);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  check(`${at}: no sideways scrolling`, over <= 0, over);
  if (width === 1000) {
    await filters(at, page);
    await data(at, page);
  }
  if (width === 1000 && scheme === "dark") await printed(at, page);
  if (width === 1000) await accessible(at, page);
  check(`${at}: no complaints`, complaints.length === 0, complaints.slice(0, 3).join(" | "));
  await context.close();
  console.log(`seen ${at}`);
};

const views = names.flatMap((name) => SCHEMES.flatMap((scheme) => WIDTHS.map((width) =>
  ({ at: `${name}, ${width} px, ${scheme}`, name, width, scheme }))));

/** Looks at views until none is left. A browser that stops answering says nothing of the page: a
 *  fresh one looks at it once more. */
const lookOn = async () => {
  let browser = await launch();
  const looks = async (view) => {
    try {
      await look(browser, view);
    } catch (error) {
      // What does not answer may not close either.
      browser.close().catch(() => {});
      browser = await launch();
      return error.message;
    }
  };
  for (let view = views.shift(); view; view = views.shift()) {
    const failed = await looks(view);
    if (failed === undefined) continue;
    console.log(`${view.at}: ${failed}`);
    const again = await looks(view);
    if (again !== undefined) check(view.at, false, again);
  }
  browser.close().catch(() => {});
};

// As many at once as there are CPUs, each in a browser of its own.
await Promise.all(Array.from({ length: availableParallelism() }, lookOn));
failures.forEach((failure) => console.log(`FAILED ${failure}`));
const result = failures.length ? "FAILED" : "ok";
console.log(`test result: ${result}. ${passed} passed; ${failures.length} failed; 0 ignored`);
process.exit(failures.length ? 1 : 0);
