import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ExplorerWindow, expectAccessible, openExplorer, savedBy } from "../../support/browser/explorer-window.ts";
import { CROWD, type ExplorerWorld, NOISE, openExplorerWorld, SCRIPT } from "../../support/browser/explorer-world.ts";

let shown: ExplorerWorld;
let browser: Browser;
let ours: ExplorerWindow;
beforeAll(async () => {
  shown = await openExplorerWorld();
  ({ browser } = shown);
  ours = await openExplorer(browser, shown.url, { key: shown.key });
});
afterAll(() => shown?.close());

const count = (value: number) => new Intl.NumberFormat("en").format(value);

test("matches are sorted by their headings, and what they did narrows the query", async () => {
  const { page, faults, open, settled } = ours;
  await open("/search?query=tags%3Ascanner");
  expect(await page.locator("[data-matches]").textContent()).toBe(`${count(CROWD + 1)} addresses match.`);
  const texts = (cell: string) => page.locator(`[data-page] tbody ${cell}`).allTextContents();
  expect([(await texts("th")).length, (await texts("th"))[0]]).toEqual([25, NOISE]);
  await page.getByRole("button", { name: "Show 25 more" }).click();
  await page.locator("[data-page] tbody tr").nth(49).waitFor();
  expect(await texts("th")).toHaveLength(50);
  await page.locator("[data-page]").getByRole("button", { name: "Last seen" }).click();
  const ascending = await texts("td.when");
  expect(ascending).toEqual(ascending.toSorted());
  await page.locator("[data-page]").getByRole("button", { name: "Address" }).click();
  await page.locator("[data-page]").getByRole("button", { name: "Address" }).click();
  expect((await texts("th")).at(-1)).toBe(NOISE);
  const matches = (number: string) =>
    page.locator("[data-matches]", { hasText: number === "1" ? "1 address matches." : `${number} addresses match.` });
  const value = page.locator('section[aria-labelledby="what-they-did"] tbody tr').first();
  const [addresses = ""] = await value.locator("td.number").allTextContents();
  await value.getByRole("link").first().click();
  await settled();
  await matches(addresses.trim()).waitFor();
  await page.goBack();
  await matches(count(CROWD + 1)).waitFor();
  await settled();
  const worm = page.getByRole("link", { name: `Worm ${SCRIPT}` }).first();
  await worm.click();
  await matches("1").waitFor();
  await settled();
  expect(new URL(page.url()).searchParams.get("query")).toMatch(/^tags:scanner tags:[0-9a-f-]{36}$/);
  await expectAccessible(ours, "search");
  expect(await page.locator("main script, main img").count()).toBe(0);
  await page.goBack();
  await matches(count(CROWD + 1)).waitFor();
  const row = page.locator("[data-page] tbody tr", { hasText: NOISE });
  await row.getByRole("link", { name: `not Worm ${SCRIPT}` }).press("Enter");
  await matches(count(CROWD)).waitFor();
  await settled();
  expect(new URL(page.url()).searchParams.get("query")).toBe("tags:scanner NOT tags:worm");
  await page.goBack();
  await row.getByRole("link", { name: `only Worm ${SCRIPT}` }).press("Enter");
  await matches("1").waitFor();
  expect(new URL(page.url()).searchParams.get("query")).toBe("tags:worm");
  expect(faults).toEqual([]);
});

test("numbers and rows follow what is typed, and only Enter makes it the page's", async () => {
  const { page, faults, open, settled } = ours;
  await open("/search?query=tags%3Ascanner");
  const box = page.getByRole("combobox", { name: "Query" });
  const matches = (text: string) => page.locator("[data-matches]", { hasText: text }).waitFor();
  const queryOfPage = () => new URL(page.url()).searchParams.get("query");
  const entries = await page.evaluate("history.length");
  await box.press("End");
  await box.pressSequentially(" port:80");
  await matches("1 address matches.");
  await settled();
  expect(await page.locator("[data-page] tbody th").allTextContents()).toEqual([NOISE]);
  expect([queryOfPage(), await page.evaluate("history.length")]).toEqual(["tags:scanner", entries]);
  const errorsAfterMs = page.evaluate(MS_FROM_INPUT_TO_ERRORS);
  await box.pressSequentially(" (");
  expect(await errorsAfterMs).toBeGreaterThanOrEqual(1_000);
  expect(await page.locator(".outdated [data-matches]").textContent()).toBe("1 address matches.");
  await box.press("Backspace");
  await page.locator("#query-errors").waitFor({ state: "detached" });
  await box.press("Enter");
  await settled();
  expect([queryOfPage(), await page.evaluate("history.length")]).toEqual(["tags:scanner port:80", Number(entries) + 1]);
  expect(await box.evaluate((field) => field === field.ownerDocument.activeElement)).toBe(true);
  await box.fill("tags:worm");
  await box.press("(");
  await box.press("Enter");
  await page.locator("#query-errors").waitFor();
  expect(await page.locator("[data-matches]").count()).toBe(0);
  await page.goBack();
  await page.goBack();
  await matches(`${count(CROWD + 1)} addresses match.`);
  expect([await box.inputValue(), queryOfPage()]).toEqual(["tags:scanner", "tags:scanner"]);
  expect(faults).toEqual([]);
});

const MS_FROM_INPUT_TO_ERRORS = `new Promise((resolve) => {
  let typed = 0;
  document.addEventListener("input", () => { typed = performance.now(); }, true);
  new MutationObserver((_, observer) => {
    if (document.querySelector("#query-errors") === null) return;
    observer.disconnect();
    resolve(performance.now() - typed);
  }).observe(document.body, { childList: true, subtree: true });
})`;

test("a slow answer leaves the one before in its place, and is given up when more is typed", async () => {
  const { page, faults, open } = ours;
  await open("/search?query=tags%3Ascanner");
  const box = page.getByRole("combobox", { name: "Query" });
  const isOf = (query: string) => (url: URL) =>
    url.pathname === "/v3/gnql/stats" && url.searchParams.get("query") === query;
  // Never answered.
  await page.route(isOf("tags:worm"), () => undefined);
  await box.fill("tags:worm");
  await page.locator(".outdated [data-matches]").waitFor();
  expect(await page.locator("[data-matches]").textContent()).toBe(`${count(CROWD + 1)} addresses match.`);
  const givenUp = page.waitForEvent("requestfailed", (request) => isOf("tags:worm")(new URL(request.url())));
  await box.fill("NOT tags:worm");
  await givenUp;
  await page.locator("[data-matches]", { hasText: `${count(CROWD)} addresses match.` }).waitFor();
  await page.unrouteAll({ behavior: "ignoreErrors" });
  expect(faults).toEqual([]);
});

test("numbers of classifications lead to searches that have the same number", async () => {
  const { page, faults, open } = ours;
  await open("/");
  const links = page.locator('section[aria-labelledby="classes"] a');
  const shownNumbers = await links.evaluateAll((all) => all.map((one) => [one.textContent, one.getAttribute("href")]));
  expect(shownNumbers).not.toEqual([]);
  for (const [number, href] of shownNumbers) {
    await open(href ?? "");
    const said = number === "1" ? "1 address matches." : `${number} addresses match.`;
    await page.locator("[data-matches]", { hasText: said }).waitFor();
  }
  expect(faults).toEqual([]);
});

test("the box completes fields, values and tags with the keyboard alone, and Escape and Enter leave what was typed", async () => {
  const { page, faults, open, settled } = ours;
  await open("/search");
  const box = page.getByRole("combobox", { name: "Query" });
  const options = page.locator(".combobox").getByRole("option");
  const texts = () => options.locator("code").allTextContents();
  await box.pressSequentially("classi");
  expect(await texts()).toEqual(["classification:"]);
  expect(await box.getAttribute("aria-expanded")).toBe("true");
  await box.press("ArrowDown");
  const chosen = page.locator(".combobox").getByRole("option", { selected: true });
  expect(await box.getAttribute("aria-activedescendant")).toBe(await chosen.getAttribute("id"));
  await expectAccessible(ours, "completion");
  await box.press("Shift+Tab");
  expect(await box.inputValue()).toBe("classi");
  await box.focus();
  await box.press("ArrowDown");
  await box.press("ArrowDown");
  await box.press("Tab");
  await options.nth(3).waitFor();
  expect(await texts()).toEqual(["malicious", "suspicious", "benign", "unknown"]);
  await box.press("ArrowUp");
  await box.press("Enter");
  expect(await box.inputValue()).toBe("classification:unknown ");
  expect(await options.count()).toBe(0);
  await box.fill("tags:sc");
  await options.filter({ hasText: `scanner Scanner${count(CROWD + 1)} addresses` }).waitFor();
  await box.press("Escape");
  expect(await options.count()).toBe(0);
  expect(await box.inputValue()).toBe("tags:sc");
  for (const [query, value] of [
    ["NOT tags:worm tags:", `scanner Scanner${count(CROWD)} addresses`],
    ["tags:worm country_code:", "DE Germany1 address"],
    ["tags:worm port:", "80 1 address"],
    ["tags:worm AND path:", "1 address"],
    ["tags:worm OR classification:", "malicious 1 address"],
    ["asn:", `AS64500 ${count(CROWD + 1)} addresses`],
  ] as const) {
    await box.fill(query);
    await options.filter({ hasText: value }).first().waitFor();
  }
  await box.fill("tags:sc");
  await options.filter({ hasText: "scanner" }).waitFor();
  await box.press("Escape");
  await box.press("ArrowDown");
  await options.filter({ hasText: "scanner" }).click();
  expect(await box.inputValue()).toBe("tags:scanner ");
  await box.pressSequentially("country_code:");
  await options.filter({ hasText: "Germany" }).waitFor();
  await box.press("ArrowDown");
  await box.press("Enter");
  await box.press("Enter");
  await page.locator("[data-matches]", { hasText: `${count(CROWD + 1)} addresses match.` }).waitFor();
  await settled();
  expect(new URL(page.url()).searchParams.get("query")).toBe("tags:scanner country_code:DE");
  expect(faults).toEqual([]);
});

test("the box of every page completes, too, and suggests nothing for an address or a pasted list", async () => {
  const { page, faults, open, settled } = ours;
  await open("/tags");
  const box = page.getByLabel("Address, network, name, CVE or query");
  const options = page.locator("header").getByRole("option");
  await box.pressSequentially("tags:sc");
  await options.filter({ hasText: "scanner" }).waitFor();
  await box.press("ArrowDown");
  await expectAccessible(ours, "completion in the header");
  await box.press("Tab");
  expect(await box.inputValue()).toBe("tags:scanner ");
  await box.pressSequentially("countr");
  await options.first().waitFor();
  await box.press("Escape");
  await box.pressSequentially("y:DE");
  await box.press("Enter");
  await page.locator("[data-matches]", { hasText: `${count(CROWD + 1)} addresses match.` }).waitFor();
  await settled();
  expect(new URL(page.url()).searchParams.get("query")).toBe("tags:scanner country:DE");
  expect(await options.count()).toBe(0);
  for (const text of ["45.0.0.1", "45.0.0.1\ntags:sc"]) {
    await box.fill(text);
    expect([text, await options.count()]).toEqual([text, 0]);
  }
  await box.press("ArrowUp");
  expect(await options.count()).toBe(0);
  expect(faults).toEqual([]);
});

test("an error of a query stands at its place, and nothing is searched", async () => {
  const { page, faults, open } = ours;
  await open("/search?query=port%3A22%20clasification%3Amalicious");
  expect(await page.locator("#query-errors li p").allTextContents()).toEqual([
    'no field is called "clasification". Did you mean "classification"?',
  ]);
  expect(await page.locator("#query-errors mark").textContent()).toBe("clasification");
  expect(await page.locator("[data-matches]").count()).toBe(0);
  await expectAccessible(ours, "wrong query");
  expect(faults).toEqual([]);
});

test("values on every page lead to the search for them, which finds what the page is about", async () => {
  const { page, faults, open, settled } = ours;
  const fieldOf = (query: string) => /([a-z0-9_]+):[^ ]/.exec(query.replace(/^tags:worm /, ""))?.[1] ?? "";
  /** Two of each field. */
  const queries = new Map<string, Set<string>>();
  const hrefs = (links: { getAttribute(name: string): string | null }[]) =>
    links.map((link) => link.getAttribute("href") ?? "");
  const collect = async (path: string) => {
    await open(path);
    const observations = page.getByRole("button", { name: "Show the newest observations" });
    if ((await observations.count()) > 0) {
      await observations.click();
      await page.locator("[data-observations-page]").waitFor();
      await settled();
    }
    for (const href of await page.locator('main a[href*="/search?query="]:not(.instead a)').evaluateAll(hrefs)) {
      const query = new URL(href, shown.url).searchParams.get("query") ?? "";
      const known = queries.get(fieldOf(query)) ?? new Set();
      if (known.size < 2) queries.set(fieldOf(query), known.add(query));
    }
  };
  await collect(`/ip/${NOISE}`);
  await collect("/search?query=tags%3Aworm");
  for (const path of ["/", "/tags/worm", "/networks/45.0.0.0/24", "/asns/AS64500", "/countries/DE"])
    await collect(path);
  const expected = ["port", "path", "useragent", "method", "sensor", "organization", "tags", "cve", "ip", "asn"];
  expect([...queries.keys()]).toEqual(expect.arrayContaining([...expected, "country_code", "country"]));
  for (const query of [...queries.values()].flatMap((some) => [...some])) {
    const { body } = await shown.world.get(`/v3/gnql/count?${new URLSearchParams({ query })}`, { key: shown.key });
    expect([query, Object(body).count > 0]).toEqual([query, true]);
  }
  await open("/sensors");
  expect(await page.locator('main a[href*="query=sensor"]').count()).toBeGreaterThan(0);
  expect(faults).toEqual([]);
});

test("two searches stand in one chart, with the numbers of the API for each hour", async () => {
  const { page, faults, open, settled } = ours;
  await open("/search?query=tags%3Ascanner");
  await page.getByRole("link", { name: "Over time, beside another search" }).click();
  await page.getByRole("combobox", { name: "Compared with" }).fill("tags:worm");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.locator(".legend li", { hasText: "tags:worm" }).waitFor();
  await settled();
  await page.getByText("The same in numbers").click();
  const rows = await page
    .locator("table tbody tr")
    .evaluateAll((all) =>
      all.map((row) =>
        [...row.querySelectorAll("td")].slice(2).map((cell) => Number(cell.textContent?.replace(/,/g, ""))),
      ),
    );
  const [from = ""] = await page.locator("table tbody td.when").allTextContents();
  const start = `${from.replace(" ", "T")}:00Z`;
  const countsOf = async (query: string): Promise<readonly number[]> => {
    const parameters = new URLSearchParams({ query, interval: "hour", start });
    const { body } = await shown.world.get(`/v3/gnql/timeseries/stats?${parameters}`, { key: shown.key });
    return Object(body).data.map((bucket: { readonly count: number }) => bucket.count);
  };
  const [scanners, worms] = [await countsOf("tags:scanner"), await countsOf("tags:worm")];
  expect(rows).toEqual(scanners.map((scanner, hour) => [scanner, worms[hour]]));
  expect(Math.max(...scanners)).toBeGreaterThan(Math.max(...worms));
  await expectAccessible(ours, "/compare");
  const chart = await page.locator(".u-over").boundingBox();
  if (chart === null) throw new Error("the chart is not there");
  await page.mouse.move(chart.x + 3, chart.y + 3);
  expect(await page.locator(".tooltip").textContent()).toMatch(/ UTC\ntags:scanner: 0\ntags:worm: 0$/);
  await page.getByRole("combobox", { name: "Compared with" }).fill("");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.locator(".legend li", { hasText: "tags:worm" }).waitFor({ state: "detached" });
  await settled();
  expect(await page.locator(".legend li").count()).toBe(1);
  expect(faults).toEqual([]);
});

test("compared days are whole UTC days, of as many days as the plan reaches", async () => {
  for (const [plan, days, notice] of [
    ["unlimited", 90, []],
    ["standard", 30, [expect.stringContaining("Your plan shows 30 days of the 90")]],
  ] as const) {
    const window = await openExplorer(browser, shown.url, { key: await shown.world.addCaller(plan, []) });
    await window.open("/compare?query=tags%3Ascanner&days=90");
    const starts = await window.page.locator("table tbody td.when:first-child").allTextContents();
    expect(starts).toHaveLength(days);
    expect(starts.filter((start) => !start.endsWith(" 00:00"))).toEqual([]);
    expect(await window.page.locator("main .notice").allTextContents()).toEqual(notice);
    await window.close();
  }
});

test("without a key nothing is listed before it is asked for, as each address is a lookup", async () => {
  const window = await openExplorer(browser, shown.url);
  await window.open("/search?query=tags%3Aworm");
  expect(await window.page.locator("[data-page]").count()).toBe(0);
  await window.page.getByRole("button", { name: /^List the first 25/ }).click();
  await window.page.locator("[data-page] tbody tr").waitFor();
  expect(await window.page.locator("[data-page] tbody th").allTextContents()).toEqual([NOISE]);
  expect(window.faults).toEqual([]);
  await window.close();
});

test("under a plan with a limit, addresses are listed at Enter, not while one types", async () => {
  const key = await shown.world.addCaller("standard", []);
  const window = await openExplorer(browser, shown.url, { key });
  const { page } = window;
  const listed: string[] = [];
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.pathname === "/v3/gnql/metadata") listed.push(url.searchParams.get("query") ?? "");
  });
  await window.open("/search?query=tags%3Aworm");
  const box = page.getByRole("combobox", { name: "Query" });
  await box.fill("tags:scanner");
  await page.locator("[data-matches]", { hasText: `${count(CROWD + 1)} addresses match.` }).waitFor();
  await window.settled();
  expect(await page.getByRole("button", { name: /^List the first 25/ }).count()).toBe(1);
  expect(await page.locator(".outdated [data-page] tbody th").allTextContents()).toEqual([NOISE]);
  await box.press("Enter");
  await page.locator("[data-page] tbody tr").nth(24).waitFor();
  expect(listed).toEqual(["tags:worm", "tags:scanner"]);
  expect(window.faults).toEqual([]);
  await window.close();
});

test("all matches are saved as CSV and as NDJSON", async () => {
  const { open } = ours;
  await open("/search?query=tags%3Ascanner");
  for (const format of ["CSV", "NDJSON"]) {
    const lines = (await savedBy(ours, `Download all as ${format}`)).trimEnd().split(/\r?\n/);
    expect(lines).toHaveLength(CROWD + 1 + (format === "CSV" ? 1 : 0));
    expect(lines.at(-1)).toContain("45.1.");
    if (format === "NDJSON") continue;
    expect(lines[0]).toBe("ip,first_seen,last_seen,classification,tags,asn,organization,country,spoofable");
    expect(lines[1]).toMatch(
      /^[\d.]+,\d{4}-\d\d-\d\d,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ,malicious,scanner worm,AS64500,.*,DE,(?:true|false)$/,
    );
  }
});
