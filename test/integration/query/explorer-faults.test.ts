import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { readExplorer } from "@noisefloor/query/pages/explorer.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type ExplorerWindow, expectAccessible, openExplorer } from "../../support/browser/explorer-window.ts";
import { type ExplorerWorld, NOISE, openExplorerWorld } from "../../support/browser/explorer-world.ts";
import { builtExplorer } from "../../support/servers/on-demand.ts";
import { atVolume } from "../../support/volume.ts";
import { makeApp } from "../../support/worlds/http.ts";

let shown: ExplorerWorld;
beforeAll(async () => {
  shown = await openExplorerWorld();
});
afterAll(() => shown?.close());

async function open(options: { readonly locale?: string; readonly key?: string } = {}): Promise<ExplorerWindow> {
  const opened = await openExplorer(shown.browser, shown.url, options);
  onTestFinished(() => opened.close());
  return opened;
}

const PATHS = [
  "/",
  `/ip/${NOISE}`,
  "/tags",
  "/tags/scanner",
  "/networks/45.1.0.0/24",
  "/addresses",
  "/sensors",
  "/plans",
];

test("every page is there in a browser with an invalid language tag, and in any other language", async () => {
  const invalid = await open({ key: shown.key });
  await invalid.context.addInitScript(
    'for (const [name, value] of [["language", "C"], ["languages", ["C", "", "de_DE", "x"]]])' +
      " Object.defineProperty(Navigator.prototype, name, { get: () => value });",
  );
  const german = await open({ key: shown.key, locale: "de-CH" });
  for (const { page, open: go, faults } of [invalid, german]) {
    for (const path of atVolume(PATHS.slice(0, 2), PATHS)) {
      await go(path);
      expect([path, await page.locator('[role="alert"]:visible, #start').allTextContents()]).toEqual([path, []]);
    }
    expect(faults).toEqual([]);
  }
  expect(await german.page.evaluate("navigator.language")).toBe("de-CH");
});

test("an answer that is not as the API promises leaves a message in its place, and the rest of the page", async () => {
  const opened = await open({ key: shown.key });
  const { page, open: go } = opened;
  for (const answer of ["null", '{"hours":[null],"metadata":{}}']) {
    await page.route("**/v3/stats/hours*", (route) => route.fulfill({ contentType: "application/json", body: answer }));
    await go("/");
    const fault = page.locator("[data-fault]");
    expect([answer, await fault.count()]).toEqual([answer, 1]);
    expect(await fault.textContent()).toMatch(/report it to those who run this service.*Error.*on \/.*Chrome/s);
    expect(await page.locator("[data-total]").textContent()).toBe("1,006 addresses");
    const repeated = page.waitForResponse("**/v3/stats/hours*");
    await page.getByRole("button", { name: "Try again" }).click();
    await repeated;
    await opened.settled();
    expect([answer, await fault.count()]).toEqual([answer, 1]);
    if (answer === "null") await expectAccessible(opened, `/ with the answer ${answer}`);
    await page.unroute("**/v3/stats/hours*");
    await page.getByRole("button", { name: "Try again" }).click();
    await fault.waitFor({ state: "detached" });
    expect(await page.locator('section[aria-labelledby="hours"] td.number').count()).toBeGreaterThan(20);
  }
});

test("when every answer is something else, every page still says so, and the way to other pages stays", async () => {
  const { page } = await open();
  await page.route(/\/v3\//, (route) => route.fulfill({ contentType: "application/json", body: "{}" }));
  for (const path of PATHS.filter((one) => one !== "/addresses").slice(0, atVolume(3, 7))) {
    await page.goto(`${shown.url}${path}`);
    await page.locator("[data-fault]").first().waitFor();
    expect(await page.getByRole("link", { name: "Overview" }).count()).toBe(1);
  }
  await page.unroute(/\/v3\//);
  await page.getByRole("link", { name: "Tags", exact: true }).click();
  await page.locator('tr[data-slug="worm"]').waitFor();
});

test("a script that does not load or fails leaves a message with the way to report it, not an empty page", async () => {
  const { page } = await open();
  const message = page.getByText("These pages have not started");
  for (const status of [404, 200]) {
    const body = status === 200 ? "syntax from the future(" : "";
    await page.route("**/assets/*.js", (route) => route.fulfill({ status, contentType: "text/javascript", body }));
    await page.goto(`${shown.url}/ip/${NOISE}`);
    await message.waitFor({ state: "visible" });
    expect(await page.locator("#start").textContent()).toContain("report it to those who run this service");
    await page.unroute("**/assets/*.js");
  }

  const failing = await open();
  await failing.context.addInitScript("delete window.Intl.NumberFormat");
  await failing.page.goto(shown.url);
  await failing.page.locator("#start pre").waitFor({ state: "visible" });
  expect(await failing.page.locator("#start pre").textContent()).toMatch(/NumberFormat.*on \/.*Chrome/s);
});

test("a browser that allows no storage shows every page, and takes a key until the page is loaded again", async () => {
  const { page, context, open: go, faults } = await open();
  const refuse = "() => { throw new DOMException('denied', 'SecurityError'); }";
  await context.addInitScript(
    `for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { get: ${refuse} });`,
  );
  await go("/plans");
  await page.getByRole("button", { name: "Key" }).click();
  await page.getByText("allows no storage").waitFor();
  await page.getByLabel("Key", { exact: true }).fill(shown.key);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.getByText("Your plan is unlimited.").waitFor();
  expect(faults).toEqual([]);
});

test("a service whose database is too slow says so", async () => {
  const explorer = readExplorer(await builtExplorer());
  const slow = await makeApp(QUERY_OPERATIONS, (made, metrics) => shown.world.register(made, metrics, { explorer }), {
    deadlineMs: 1,
  });
  onTestFinished(() => slow.close());
  const url = await slow.listen({ host: "127.0.0.1", port: 0 });
  const opened = await openExplorer(shown.browser, url, { key: shown.key });
  onTestFinished(() => opened.close());
  await opened.open("/");
  const failure = opened.page.locator('main [role="alert"]').first();
  expect(await failure.getAttribute("data-status")).toBe("503");
  expect(await failure.textContent()).toContain("Wait a moment, then try again");
  expect(opened.faults).toEqual([]);
});
