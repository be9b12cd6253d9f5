import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { readExplorer } from "@noisefloor/query/pages/explorer.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { launchBrowser } from "../../support/browser/browser.ts";
import { type ExplorerOptions, expectAccessible, openExplorer } from "../../support/browser/explorer-window.ts";
import { observation } from "../../support/builders/observation.ts";
import { builtExplorer } from "../../support/servers/on-demand.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.now();
const SCRIPT = "<script>alert(1)</script>";
const TAGS = [
  makeTag("steady", "unknown", { name: "Steady" }),
  makeTag("fresh", "malicious", { name: `Fresh ${SCRIPT}`, cves: ["CVE-2026-0001"] }),
];
const NARROW = { colorScheme: "dark", viewport: { width: 390, height: 844 } } as const;

let world: World;
let browser: Browser;
let url: string;
let key: string;
const closing: (() => Promise<unknown>)[] = [];

async function serve(served: World): Promise<string> {
  const explorer = readExplorer(await builtExplorer());
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) => served.register(made, metrics, { explorer }));
  closing.push(() => app.close());
  return app.listen({ host: "127.0.0.1", port: 0 });
}

beforeAll(async () => {
  const launching = launchBrowser();
  world = await createWorld(() => NOW);
  await world.addTags(TAGS);
  const crowd = Array.from({ length: 30 }, (_, n) => `45.0.0.${n}`);
  const { rejected } = await world.store([
    ...Array.from({ length: 20 }, (_, day) =>
      observation("45.0.0.0", NOW - day * DAY - 2 * HOUR, { tags: ["steady"] }),
    ),
    ...crowd.map((ip) => observation(ip, NOW - HOUR, { tags: ["steady"] })),
    ...crowd.slice(0, 4).map((ip) => observation(ip, NOW - HOUR, { tags: ["fresh"], http: { path: `/New${SCRIPT}` } })),
  ]);
  expect(rejected).toEqual([]);
  key = await world.addCaller("unlimited", ["sensors"]);
  await world.post("/v3/guard", { network: "45.0.0.7/32", note: `office ${SCRIPT}` }, { key });
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

test("the explorer opens with what is new since yesterday, and each line leads to its addresses", async () => {
  const opened = await open("/");
  const { page, faults, settled } = opened;
  const heading = page.getByRole("heading", { name: "What is new since yesterday" });
  await heading.waitFor();
  expect(await page.locator("[data-today]").textContent()).toMatch(
    /^30 addresses were seen .*, 29 of them never before\.$/,
  );
  const rowsOf = (section: string) =>
    page
      .locator(`section[aria-labelledby="${section}"] tbody tr`)
      .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll("th, td")].map((cell) => cell.textContent)));
  expect(await rowsOf("new-tags")).toEqual([[`Fresh ${SCRIPT}`, "malicious", "4"]]);
  expect(await rowsOf("rising")).toEqual([["Steady", "unknown", "30", "1 (0 to 5)"]]);
  expect(await rowsOf("new-paths")).toEqual([[`/new${SCRIPT}`, "4"]]);
  expect(await rowsOf("new-cves")).toEqual([["CVE-2026-0001", "4"]]);
  const own = await rowsOf("own-addresses");
  expect(own.map((cells) => cells.slice(0, 3))).toEqual([["45.0.0.7", `45.0.0.7/32 office ${SCRIPT}`, "unknown"]]);
  await expectAccessible(opened, "today");

  for (const section of ["new-tags", "rising", "new-paths", "new-cves"]) {
    const link = page.locator(`section[aria-labelledby="${section}"] tbody td.number a`);
    const count = await link.textContent();
    await link.click();
    const matches = page.locator("[data-matches]");
    await matches.waitFor();
    await settled();
    expect([section, await matches.textContent()]).toEqual([
      section,
      expect.stringMatching(new RegExp(`^${count}\\b`)),
    ]);
    await page.goBack();
    await heading.waitFor();
    await settled();
  }
  expect(faults).toEqual([]);
});

test("without a key it says what a key would show, and the overview is one link away", async () => {
  const opened = await open("/today", NARROW);
  const { page, faults } = opened;
  await page.getByText("Enter the key of your workspace").waitFor();
  expect(await page.locator('section[aria-labelledby="own-addresses"]').count()).toBe(0);
  await expectAccessible(opened, "today without a key");
  await page.getByRole("navigation").getByRole("link", { name: "Overview" }).click();
  await page.getByRole("heading", { name: "What came in" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/overview");
  expect(faults).toEqual([]);
});

test("a store without a yesterday opens with the overview, and its morning page calls nothing new", async () => {
  const young = await createWorld(() => NOW);
  closing.push(() => young.close());
  await young.store([observation("45.0.0.1", NOW - HOUR)]);
  const base = await serve(young);
  const { page, open: go, faults } = await open("/", {}, base);
  await page.getByRole("heading", { name: "What came in" }).waitFor();
  await go("/today");
  expect(await page.locator("[data-today]").textContent()).toMatch(/^1 address was seen /);
  await page.getByText("Nothing can be called new yet").waitFor();
  expect(await page.locator('section[aria-labelledby="new-tags"]').count()).toBe(0);
  const body = z.object({ metadata: z.object({ has_yesterday: z.boolean() }) });
  expect(body.parse((await young.get("/v3/today")).body).metadata.has_yesterday).toBe(false);
  expect(faults).toEqual([]);
});
