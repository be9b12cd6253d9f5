import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { readExplorer } from "@noisefloor/query/pages/explorer.ts";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { launchBrowser } from "../../support/browser/browser.ts";
import { type ExplorerOptions, expectAccessible, openExplorer } from "../../support/browser/explorer-window.ts";
import { builtExplorer } from "../../support/servers/on-demand.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.now();
/** In the middle of an hour, so that no rounding hides a shift. */
const RARE_AT = Math.floor((NOW - 5 * HOUR) / HOUR) * HOUR + HOUR / 2;
const [OLD, FRESH, KNOWN] = ["45.0.0.1", "45.0.0.2", "45.0.0.3"];
const rare = makeTag("rare", "malicious", { name: "Rare", cves: ["CVE-2026-0002"] });
const grown = makeTag("grown", "suspicious", { name: "Grown", cves: ["CVE-2026-0001", "CVE-2026-0003"] });
const steady = makeTag("steady", "unknown", { name: "Steady", cves: ["CVE-2026-0003"] });

let world: World;
let browser: Browser;
let url: string;
let key: string;

async function serve(served: World): Promise<string> {
  const explorer = readExplorer(await builtExplorer());
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) => served.register(made, metrics, { explorer }));
  closing.push(() => app.close());
  return app.listen({ host: "127.0.0.1", port: 0 });
}
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const launching = launchBrowser();
  world = await createWorld(() => NOW);
  await world.addTags([rare, grown, steady]);
  const observe = (source_ip: string, at: number, tags: string[], place: object = {}) => ({
    observed_at: new Date(at).toISOString(),
    sensor_id: "s",
    source_ip,
    tags,
    ...place,
  });
  const germany = { country: "DE", asn: 64_500, organization: "Example Net" };
  const crowd = Array.from({ length: 9 }, (_, n) => `45.1.0.${n}`);
  const { rejected } = await world.store([
    observe(OLD, NOW - 40 * DAY, ["steady"]),
    observe(KNOWN, NOW - 3 * DAY, ["steady"]),
    observe(KNOWN, NOW - HOUR, ["steady"], { country: "US" }),
    observe(KNOWN, NOW - 30 * HOUR, ["steady", "grown"]),
    observe(FRESH, RARE_AT, ["rare"], germany),
    ...crowd.map((ip) => observe(ip, NOW - 2 * HOUR, ["grown"], germany)),
  ]);
  expect(rejected).toEqual([]);
  key = await world.addCaller("unlimited", ["community_dataset"]);
  url = await serve(world);
  browser = await launching;
  closing.push(
    () => browser.close(),
    () => world.close(),
  );
});
afterAll(async () => {
  for (const close of closing) await close();
});

async function open(path: string, options: ExplorerOptions = { key }, base = url) {
  const opened = await openExplorer(browser, base, options);
  onTestFinished(() => opened.close());
  await opened.open(path);
  return opened;
}
async function api<Body>(path: string, schema: z.ZodType<Body>): Promise<Body> {
  return schema.parse(await (await fetch(`${url}${path}`, { headers: { key } })).json());
}

/**
 * From where to where the bar under a point reaches, in pixels of the chart: the point's colour, just above the ground.
 */
const barAt = async (page: Page, x: number) =>
  z.tuple([z.number(), z.number(), z.number()]).parse(
    await page.evaluate(`(() => {
      const over = document.querySelector(".u-over").getBoundingClientRect();
      const canvas = document.querySelector(".uplot canvas");
      const box = canvas.getBoundingClientRect();
      const scale = canvas.width / box.width;
      const y = Math.round((over.bottom - box.top - 4) * scale);
      const row = canvas.getContext("2d").getImageData(0, y, canvas.width, 1).data;
      const colorOf = (column) => row.slice(column * 4, column * 4 + 4).join();
      const from = Math.round((over.left - box.left + ${x}) * scale);
      const color = colorOf(from);
      let [left, right] = [from, from];
      while (colorOf(left - 1) === color) left--;
      while (colorOf(right + 1) === color) right++;
      return [left / scale - (over.left - box.left), (right + 1) / scale - (over.left - box.left), over.width];
    })()`),
  );

const bucket = z.object({ start: z.string(), end: z.string(), active_ips: z.int() });

test.each([
  [1, "1h"],
  [7, "12h"],
  // The last bucket is cut by the window.
  [30, "168h"],
])(
  "of %i days in buckets of %s, the bar of an event reaches from the start of its bucket to the end",
  async (days, width) => {
    const { page, faults } = await open(`/tags/rare?days=${days}&width=${width}`);
    const { activity, metadata } = await api(
      `/v3/tags/${rare.id}/activity?days=${days}&granularity=${width}`,
      z.object({
        activity: z.object({ malicious: z.array(bucket) }),
        metadata: z.object({ start_date: z.string(), end_date: z.string() }),
      }),
    );
    const [start, end] = [Date.parse(metadata.start_date), Date.parse(metadata.end_date)];
    const seen = activity.malicious.filter(({ active_ips }) => active_ips > 0);
    expect(seen).toHaveLength(1);
    const [from, to] = [Date.parse(seen[0]?.start ?? ""), Date.parse(seen[0]?.end ?? "")];
    expect(from <= RARE_AT && RARE_AT < to).toBe(true);

    const over = await page.locator(".u-over").boundingBox();
    if (over === null) throw new Error("the chart is not there");
    const toPixel = (time: number) => ((time - start) / (end - start)) * over.width;
    const [left, right] = await barAt(page, toPixel(RARE_AT));
    expect(Math.abs(left - toPixel(from))).toBeLessThanOrEqual(2);
    expect(Math.abs(right - toPixel(to))).toBeLessThanOrEqual(2);

    const minute = (time: number) => new Date(time).toISOString().slice(0, 16).replace("T", " ");
    // At its very end the start of the next bucket is nearer.
    for (const x of [toPixel(RARE_AT), toPixel(to) - 3]) {
      await page.mouse.move(over.x + x, over.y + over.height / 2);
      const tooltip = await page.locator(".tooltip").textContent();
      expect(tooltip).toMatch(new RegExp(`^${minute(from)} to ${minute(to)} UTC(?:, so far)?\nAddresses: 1$`));
    }
    expect(faults).toEqual([]);
  },
);

test("a timeline begins where its address was last seen, as far as the plan reaches, and says so", async () => {
  const { page } = await open(`/ip/${OLD}`);
  expect(await page.locator("select[name=days]").inputValue()).toBe("90");
  const timeline = page.locator('section[aria-labelledby="timeline"]');
  expect(await timeline.textContent()).toContain("It was last seen 40 days ago, so this shows the last 90 days.");
  expect(await timeline.locator(".legend li").allTextContents()).toEqual([" Steady"]);
  await page.locator("select[name=days]").selectOption("7");
  await timeline.getByText("before this period").waitFor();

  const { page: keyless } = await open(`/ip/${OLD}`, {});
  const shown = await keyless.locator('section[aria-labelledby="timeline"]').textContent();
  expect(shown).toContain("40 days ago, before this period");
  expect(shown).toContain("Your plan shows 1 day");

  const { page: recent } = await open(`/ip/${FRESH}`);
  expect(await recent.locator("select[name=days]").inputValue()).toBe("7");
});

test("the overview begins with what is new: the tags that changed and the addresses never seen before", async () => {
  const { page, faults } = await open("/overview");
  const changes = page.locator('section[aria-labelledby="changed"] tbody tr');
  const rows = await changes.evaluateAll((all) =>
    all.map((row) => [...row.querySelectorAll("th, td")].map((cell) => cell.textContent)),
  );
  expect(rows).toEqual([
    ["Grown", "suspicious", "9", "1", "+800%"],
    ["Rare", "malicious", "1", "0", "new"],
  ]);
  const fresh = page.locator('section[aria-labelledby="fresh"]');
  const { ips, total_ips } = await api(
    "/v3/stats/first-seen",
    z.object({ ips: z.array(z.object({ ip: z.string() })), total_ips: z.int() }),
  );
  expect(total_ips).toBe(10);
  expect(await fresh.locator("[data-new]").textContent()).toContain("10 addresses never seen before");
  expect(await fresh.locator("tbody th").allTextContents()).toEqual(ips.map(({ ip }) => ip));
  expect(faults).toEqual([]);
});

test("every country and network is a link to its addresses, which are as many as it says", async () => {
  const { page, settled, faults } = await open("/overview");
  const countOf = async (section: string, name: string) =>
    page.locator(`section[aria-labelledby="${section}"] tr`, { hasText: name }).locator("td").first().textContent();
  for (const [section, link, heading] of [
    ["countries", "Germany", "Germany"],
    ["networks", "AS64500", "AS64500 Example Net"],
  ] as const) {
    const listed = await countOf(section, link);
    await page.getByRole("link", { name: link }).click();
    await page.getByRole("heading", { name: heading, exact: true }).waitFor();
    await settled();
    expect(await page.locator("[data-listed]").textContent()).toBe(`All ${listed} addresses.`);
    expect(await page.locator("tbody tr").count()).toBe(Number(listed));
    await page.goBack();
    await page.getByRole("heading", { name: "What is new" }).waitFor();
    await settled();
  }
  expect(faults).toEqual([]);
});

test("a search for a CVE opens its tag, or lists its tags", async () => {
  const { page, settled } = await open("/tags");
  const search = page.getByLabel("Address, network, name, CVE or query");
  await search.fill("CVE-2026-0002");
  await search.press("Enter");
  await page.getByRole("heading", { name: "Rare" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/tags/rare");
  await search.fill("CVE-2026-0003");
  await search.press("Enter");
  await page.getByText("2 of 3 tags").waitFor();
  await settled();
  // Who types a CVE into the filter stays with the list.
  await page.getByLabel("CVE", { exact: true }).fill("CVE-2026-0002");
  await page.getByText("1 of 3 tags").waitFor();
  expect(new URL(page.url()).pathname).toBe("/tags");
  expect(await page.locator("tr[data-slug]").count()).toBe(1);
});

test("tables are sorted by their headings, also with the keyboard, and say by which", async () => {
  const opened = await open("/tags");
  const { page } = opened;
  await page.locator('tr[data-slug="grown"] td.number', { hasText: "9" }).waitFor();
  const slugs = async () =>
    page.locator("tr[data-slug]").evaluateAll((rows) => rows.map((row) => row.getAttribute("data-slug")));
  const addresses = page.getByRole("columnheader", { name: "Addresses" });
  await addresses.getByRole("button").click();
  expect(await addresses.getAttribute("aria-sort")).toBe("descending");
  expect((await slugs())[0]).toBe("grown");
  await page.keyboard.press("Enter");
  expect(await addresses.getAttribute("aria-sort")).toBe("ascending");
  expect((await slugs()).at(-1)).toBe("grown");
  await page.getByRole("columnheader", { name: "Tag" }).getByRole("button").click();
  expect(await slugs()).toEqual(["grown", "rare", "steady"]);
  expect(await page.locator("th[aria-sort]").count()).toBe(1);
  await expectAccessible(opened, "a sorted table");
});

test("an empty store says how to send the first observation, how to see a demo, and where the key is", async () => {
  const empty = await createWorld(() => NOW);
  closing.push(() => empty.close());
  const base = await serve(empty);
  const opened = await open("/", {}, base);
  const { page, faults } = opened;
  await page.getByRole("heading", { name: "No observation is stored yet" }).waitFor();
  const text = (await page.locator("main").textContent()) ?? "";
  for (const part of [`curl -X POST ${base}/v1/observations`, "npm start -- --demo", "first-key-"])
    expect(text).toContain(part);
  expect(await page.locator(".chart").count()).toBe(0);
  await expectAccessible(opened, "the page of an empty store");
  expect(faults).toEqual([]);
});
