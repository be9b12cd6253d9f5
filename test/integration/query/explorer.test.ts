import type { Browser, BrowserContextOptions } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  type ExplorerOptions,
  type ExplorerWindow,
  enterKey,
  expectAccessible,
  openExplorer,
  savedBy,
} from "../../support/browser/explorer-window.ts";
import {
  CROWD,
  type ExplorerWorld,
  NOISE,
  NOW,
  openExplorerWorld,
  RIOT,
  RULE,
  SCRIPT,
  scanner,
  UNKNOWN,
} from "../../support/browser/explorer-world.ts";
import { atVolume } from "../../support/volume.ts";

let shown: ExplorerWorld;
let url: string;
let browser: Browser;
let key: string;
/** Has a key. Shared, as another window is another process. */
let ours: ExplorerWindow;
beforeAll(async () => {
  shown = await openExplorerWorld();
  ({ url, browser, key } = shown);
  ours = await openExplorer(browser, url, { key });
});
afterAll(() => shown?.close());

async function openWithKey(path: string) {
  ours.faults.length = 0;
  await ours.open(path);
  return ours;
}

async function open(path: string, options: ExplorerOptions = {}) {
  const opened = await openExplorer(browser, url, options);
  onTestFinished(() => opened.close());
  await opened.open(path);
  return opened;
}
const count = (value: number) => new Intl.NumberFormat("en").format(value);
/** An answer of the API. @param schema of the part of it that a test looks at. */
async function api<Body>(path: string, schema: z.ZodType<Body>): Promise<Body> {
  const response = await fetch(`${url}${path}`, { headers: { key } });
  return schema.parse(await response.json());
}

const PAGES = [
  "/",
  "/today",
  `/ip/${NOISE}`,
  `/riot/${RIOT}`,
  `/ip/${UNKNOWN}`,
  "/ip/10.0.0.1",
  "/networks/45.1.0.0/24",
  "/networks/x/24",
  "/asns/AS64500",
  "/countries/DE",
  "/tags",
  "/tags/scanner?width=1h",
  "/tags/nothing",
  "/sensors",
  "/search?query=tags%3Ascanner",
  "/compare?query=tags%3Ascanner&with=tags%3Aworm",
  "/feeds",
  "/feeds/recent",
  "/plans",
  "/nowhere",
];
/** With charts, tables and lists: looked at both ways, and at full volume all the others, too. */
const RICH_PAGES = ["/", "/tags/scanner?width=1h"];
type Look = Pick<BrowserContextOptions, "colorScheme" | "viewport">;
const WIDE: Look = { colorScheme: "light", viewport: { width: 1280, height: 900 } };
const NARROW: Look = { colorScheme: "dark", viewport: { width: 390, height: 844 } };
const LOOKS = [WIDE, NARROW].map((look, turn) => ({
  look,
  pages: PAGES.filter((path, n) => RICH_PAGES.includes(path) || atVolume(n % 2 === turn, true)),
}));

test("every page loads without an error, wide and narrow, light and dark, and axe finds nothing serious", async () => {
  const windows = await Promise.all(
    LOOKS.map(async ({ look, pages }) => ({
      pages,
      opened: await openExplorer(browser, url, { ...look, key }),
    })),
  );
  onTestFinished(async () => void (await Promise.all(windows.map(({ opened }) => opened.close()))));
  // At once, as one loads while axe looks at the other.
  await Promise.all(
    windows.map(async ({ opened, pages }) => {
      for (const path of pages) {
        await opened.open(path);
        expect([path, await opened.page.locator('[role="alert"]').allTextContents()]).toEqual([path, []]);
        await expectAccessible(opened, path);
      }
      expect(opened.faults).toEqual([]);
    }),
  );
});

test("the overview shows the numbers of the API", async () => {
  const { page, faults } = await openWithKey("/");
  const { total_ips } = await api("/v3/stats/classifications", z.object({ total_ips: z.int() }));
  expect(total_ips).toBe(CROWD + 1);
  expect(await page.locator("[data-total]").textContent()).toBe(`${count(total_ips)} addresses`);
  const { hours } = await api("/v3/stats/hours", z.object({ hours: z.array(z.object({ active_ips: z.int() })) }));
  const cells = await page.locator('section[aria-labelledby="hours"] td.number').allTextContents();
  expect(cells).toEqual(hours.map(({ active_ips }) => count(active_ips)));
  const made = z.object({ hours: z.array(z.object({ observations: z.int() })) });
  const observations = (await api("/v3/stats/observations", made)).hours.map((hour) => hour.observations);
  expect(observations.reduce((sum, one) => sum + one)).toBeGreaterThan(CROWD);
  const observed = page.locator('section[aria-labelledby="observations"] td.number');
  expect(await observed.allTextContents()).toEqual(observations.map(count));
  const summary = z.object({ name: z.string(), total_ips: z.int(), previous_ips: z.int().optional() });
  const { tags } = await api("/v3/summary/tags?sort=active", z.object({ tags: z.array(summary) }));
  const rows = page.locator('section[aria-labelledby="tags"] tbody tr');
  expect(await rows.count()).toBe(tags.length);
  for (const [n, { name, total_ips: now, previous_ips: before }] of tags.entries()) {
    const shown = (await rows.nth(n).locator("th, td.number").allTextContents()).slice(0, 3);
    expect(shown).toEqual([name, count(now), before === undefined ? "" : count(before)]);
  }
  expect(await page.locator('section[aria-labelledby="countries"] tbody tr').textContent()).toBe("Germany1,006100%");
  expect(await page.locator('section[aria-labelledby="networks"] tbody th').textContent()).toBe(`AS64500 ${SCRIPT}`);
  expect(faults).toEqual([]);
});

test("the page of an address says what it is and why, and texts of sensors stay texts", async () => {
  const { page, faults } = await openWithKey(`/ip/${NOISE}`);
  expect(await page.locator(".verdict").textContent()).toMatch(
    /^malicious It scans the Internet and was seen attacking/,
  );
  expect(await page.locator("[data-observations]").textContent()).toBe("4");
  const tags = await page.locator('section[aria-labelledby="tags"] li a').allTextContents();
  expect(tags).toEqual([`Worm ${SCRIPT}`, "CVE-2026-0001", "Scanner"]);
  const minute = (ageMs: number) => new Date(NOW - ageMs).toISOString().slice(0, 16).replace("T", " ");
  expect(await page.locator("[data-seen]").allTextContents()).toEqual([
    `3 observations at ${minute(60_000)}`,
    `4 observations, the first at ${minute(3_600_000)}, the last at ${minute(60_000)}`,
  ]);
  const logins = page.locator("section", { has: page.getByRole("heading", { name: "Logins and commands" }) });
  expect(await logins.locator("dd").allTextContents()).toEqual([
    "1,234",
    `no name and no passwordroot and ${SCRIPT}Each in 1 observation.`,
    `echo ${SCRIPT} > /tmp/xIn 1 observation.`,
    `javascript:alert(9)//${SCRIPT}In 1 observation.`,
  ]);
  const searches = await logins.locator("a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  expect(searches.map((href) => new URLSearchParams(href?.split("?")[1]).get("query"))).toEqual([
    "username:root",
    `credential:"root/${SCRIPT}"`,
    `password:"${SCRIPT}"`,
    `command:"echo ${SCRIPT} > /tmp/x"`,
    `url:"javascript:alert(9)//${SCRIPT}"`,
  ]);
  const texts = await page.locator("code").allTextContents();
  expect(texts).toContain(`/${SCRIPT}a`);
  expect(texts).toContain(`"><img src=x onerror=alert(2)> \\u{202e}${SCRIPT}`);
  expect(await page.locator("main script, main img").count()).toBe(0);
  const places = page.locator("section", { has: page.getByRole("heading", { name: "Network and place" }) });
  const links = places.locator("a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  const organization = `/search?${new URLSearchParams({ query: `organization:"${SCRIPT}"` })}`;
  expect(await links).toEqual(["/asns/AS64500", organization, "/networks/45.0.0.0/24", "/countries/DE"]);

  await page.locator("select[name=by]").selectOption("http_path");
  await page.locator(".legend li", { hasText: `/${SCRIPT}c` }).waitFor();
  expect(new URL(page.url()).search).toBe("?by=http_path");
  expect((await page.locator(".legend li").allTextContents()).map((text) => text.trim()).sort()).toEqual(
    ["a", "b", "c"].map((path) => `/${SCRIPT}${path}`),
  );
  await page.goBack();
  await page.locator(".legend li", { hasText: "Scanner" }).waitFor();
  expect(new URL(page.url()).search).toBe("");
  expect(await page.locator("select[name=by]").inputValue()).toBe("tag_ids");
  expect(faults).toEqual([]);
});

test("the page of an address shows on request what it did, newest first, and texts of sensors stay texts", async () => {
  const { page, faults, settled } = await openWithKey(`/ip/${NOISE}`);
  await page.getByRole("button", { name: "Show the newest observations" }).click();
  await page.locator("[data-observations-page]").waitFor();
  await settled();
  const rows = page.locator("[data-observations-page] tbody tr");
  expect(await rows.count()).toBe(4);
  const steps = await rows.nth(3).locator("li").allTextContents();
  expect(steps).toEqual([
    `tried root and ${SCRIPT}`,
    "tried no name and no password",
    `typed echo ${SCRIPT} > /tmp/x`,
    `downloaded javascript:alert(9)//${SCRIPT}`,
  ]);
  const requests = await page.locator("[data-observations-page] li").allTextContents();
  expect(requests).toContainEqual(expect.stringContaining(`GET /${SCRIPT}a`));
  expect(await rows.first().locator("th").textContent()).toContain(`s ${SCRIPT}`);
  expect(await page.locator("main script, main img").count()).toBe(0);
  await expectAccessible(ours, "observations of an address");
  expect(faults).toEqual([]);
});

test("the page of a tag shows its activity, lists the addresses of a bucket and says when they are a sample", async () => {
  const { page, faults } = await openWithKey("/tags/scanner?days=1&width=4h");
  expect(await page.locator("[data-total]").textContent()).toBe("1,006 addresses");
  expect(await page.locator('section[aria-labelledby="rule"] pre').textContent()).toBe(
    RULE.replace("\u202e", "\\u{202e}"),
  );
  const bucket = z.object({ start: z.string(), end: z.string(), active_ips: z.int(), ips: z.array(z.string()) });
  const { activity } = await api(
    `/v3/tags/${scanner.id}/activity?days=1&granularity=4h&include_ips=true`,
    z.object({ activity: z.object({ suspicious: z.array(bucket) }) }),
  );
  const buckets = activity.suspicious;
  const table = page.locator('section[aria-labelledby="activity"] table');
  expect(await table.locator("td.number").allTextContents()).toEqual(
    buckets.map(({ active_ips }) => count(active_ips)),
  );

  const lines = buckets.map(({ start, end, active_ips }) => `${start},${end},${active_ips}`);
  expect(await savedBy(ours, "Download CSV")).toBe(["start,end,active_ips", ...lines, ""].join("\r\n"));

  const chart = await page.locator(".u-over").boundingBox();
  if (chart === null) throw new Error("the chart is not there");
  await page.mouse.click(chart.x + chart.width - 20, chart.y + chart.height - 20);
  await page.locator("[data-listed]").waitFor();
  expect(new URL(page.url()).searchParams.get("bucket")).toBe(buckets.at(-1)?.start);
  expect(await page.locator("[data-listed]").textContent()).toBe(
    "1,000 of 1,006 addresses: a uniform sample, the same each time.",
  );
  expect(await page.locator(".addresses a").allTextContents()).toEqual(buckets.at(-1)?.ips);
  await page.locator('a[href="/tags/worm"]').click();
  await page.getByRole("heading", { name: SCRIPT }).waitFor();
  await page.getByText("It has no rule: sensors name it themselves.").waitFor();
  expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
  expect(faults).toEqual([]);
});

test("plans are those of the service, a key is entered once and never in a URL, and a forgotten one is gone", async () => {
  const opened = await open("/plans");
  const { page, settled, faults } = opened;
  await enterKey(opened, key);
  await page.getByText("Your plan is unlimited.").waitFor();
  await page.reload();
  await page.getByText("Your plan is unlimited.").waitFor();
  expect(page.url()).toBe(`${url}/plans`);
  await page.getByRole("button", { name: "Key: set" }).click();
  await page.getByRole("button", { name: "Forget the key" }).click();
  await page.getByText("Your plan is unauthenticated").waitFor();
  await settled();
  const rows = await page.locator("tbody tr").allTextContents();
  expect(rows).toContain("unauthenticated (yours)1001 day");
  expect(rows).toContain("standard10,00030 days");
  expect(faults).toEqual([]);
});

test("sensors are shown with what became of their records, to keys that may see them", async () => {
  const { page, faults } = await openWithKey("/sensors");
  const cells = await page.locator("tbody tr").locator("th, td").allTextContents();
  expect([cells[0], cells[1], ...cells.slice(3)]).toEqual([
    ...[`tap ${SCRIPT}`, `active Watch tap ${SCRIPT}`, "kafka", "63", "1,500", "500 (25%)", "not-json 500", "cowrie"],
  ]);
  expect(await page.locator("[data-stored]").textContent()).toMatch(
    /^1 sensor\. Your datasets hold observations from /,
  );
  expect(await page.locator("[data-lag]").textContent()).toMatch(
    /^1,234 messages wait in the Kafka topic scan<b>, as the intake saw .* ago\.$/,
  );
  const other = await open("/sensors");
  expect(await other.page.locator('[role="alert"]').getAttribute("data-status")).toBe("403");
  expect([...faults, ...other.faults]).toEqual([]);
});

test("401, 403, 429 and 503 are explained, with what to do", async () => {
  const wrong = await open("/plans", { key: "made-up" });
  const failure = (page: typeof wrong.page) => page.locator('[role="alert"]').first();
  expect(await failure(wrong.page).textContent()).toContain("no longer knows the key");

  const { page, open: go, faults } = await open("/tags/scanner");
  expect(await page.getByText("Your plan shows 1 day of the 7").count()).toBe(1);
  await page.getByLabel("personal").check();
  expect(await failure(page).getAttribute("data-status")).toBe("403");
  expect(await failure(page).textContent()).toContain("You may not see this");

  const ips = Array.from({ length: 100 }, (_, n) => `45.8.0.${n}`);
  await fetch(`${url}/v3/ip`, { method: "POST", body: JSON.stringify({ ips }) });
  await go(`/ip/${NOISE}`);
  expect(await failure(page).getAttribute("data-status")).toBe("429");
  expect(await failure(page).textContent()).toContain("Too few lookups are left for today");
  await page.getByRole("link", { name: "What the plans allow" }).click();
  await page.getByText("You have 0 of 100 lookups left").waitFor();
  expect([...wrong.faults, ...faults]).toEqual([]);
});
