import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { readExplorer } from "@noisefloor/query/pages/explorer.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  type ExplorerOptions,
  type ExplorerWindow,
  enterKey,
  expectAccessible,
  openExplorer,
  savedBy,
} from "../../support/browser/explorer-window.ts";
import { type ExplorerWorld, NOISE, openExplorerWorld, RIOT, UNKNOWN } from "../../support/browser/explorer-world.ts";
import { builtExplorer } from "../../support/servers/on-demand.ts";
import { atVolume } from "../../support/volume.ts";
import { makeApp } from "../../support/worlds/http.ts";

let shown: ExplorerWorld;
beforeAll(async () => {
  shown = await openExplorerWorld();
});
afterAll(() => shown?.close());

async function openWindow(options: ExplorerOptions = {}): Promise<ExplorerWindow> {
  const opened = await openExplorer(shown.browser, shown.url, options);
  onTestFinished(() => opened.close());
  return opened;
}

async function open(path: string, options: ExplorerOptions = {}): Promise<ExplorerWindow> {
  const opened = await openWindow(options);
  await opened.open(path);
  return opened;
}

/** Pastes as a person does, and presses Enter. */
async function search({ page, settled }: ExplorerWindow, text: string) {
  const box = page.getByLabel("Address, network, name, CVE or query");
  await box.evaluate((element, pasted) => {
    if (!("select" in element && typeof element.select === "function")) throw new Error("no field");
    element.focus();
    element.select();
    element.ownerDocument.execCommand("insertText", false, pasted);
  }, text);
  await box.press("Enter");
  await settled();
}

test("pasted text leads to the page of the address in it, whatever is around it", async () => {
  const opened = await open("/plans", { key: shown.key });
  for (const text of [
    "hxxp://45[.]0[.]0[.]1/x",
    "Received: from mail.example (mail.example [45.0.0.1])\n\tby mx.example with ESMTP id 7; Sat, 28 Nov 2026",
  ]) {
    await opened.open("/plans");
    await search(opened, text);
    expect([text, new URL(opened.page.url()).pathname]).toEqual([text, `/ip/${NOISE}`]);
  }
  await search(opened, "2001:db8::1");
  expect(await opened.page.getByText("only IPv4 addresses are known").count()).toBe(1);
  expect(opened.faults).toEqual([]);
});

test("several lines open a page for many: each address once, with what is known, and why others were not looked up", async () => {
  const opened = await open("/", { key: shown.key });
  const { page, faults, settled } = opened;
  await search(
    opened,
    [UNKNOWN, NOISE, "45[.]0[.]0[.]1", RIOT, "10.0.0.1", "300.1.1.1", "45.1.0.0/24", "fe80::1", ""].join("\r\n"),
  );
  await page.getByRole("heading", { name: "3 addresses" }).waitFor();
  await settled();
  expect(await page.locator("[data-verdicts]").textContent()).toBe("1 malicious, 1 benign, 1 not seen");
  const table = (name: string) => page.locator(`section[aria-labelledby="${name}"] tbody tr`);
  const results = await table("results").allTextContents();
  expect(results).toEqual([
    expect.stringMatching(/^45\.0\.0\.1malicious\d{4}-\d\d-\d\d \d\d:\d\d.*no$/),
    expect.stringMatching(/benignnot seen *yes, trust level 1$/),
    expect.stringMatching(/not seennot seen *no$/),
  ]);
  expect(await table("not-looked-up").allTextContents()).toEqual([
    "10.0.0.1not reached over the Internet: private, reserved or for special use",
    "300.1.1.1no IPv4 address: it has four numbers from 0 to 255, without leading zeros",
    "45.1.0.0/24a network: its addresses",
    "fe80::1only IPv4 addresses are known",
  ]);
  await expectAccessible(opened, "/addresses");
  expect((await savedBy(opened, "Download CSV")).split("\r\n")).toContainEqual(
    expect.stringMatching(/^45\.0\.0\.1,malicious,true,false,,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,[a-z]/),
  );
  await page.getByRole("link", { name: NOISE, exact: true }).click();
  await page.getByRole("heading", { name: NOISE }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "3 addresses" }).waitFor();
  const copy = await open(new URL(page.url()).pathname + new URL(page.url()).hash, { key: shown.key });
  expect(await copy.page.locator("[data-verdicts]").textContent()).toBe("1 malicious, 1 benign, 1 not seen");
  expect([...faults, ...copy.faults]).toEqual([]);
});

test("a pasted list has last seen, tags and networks, and becomes a search", async () => {
  const opened = await open("/", { key: shown.key });
  const { page, settled } = opened;
  await search(opened, `${NOISE}\n${UNKNOWN}`);
  await page.getByRole("link", { name: "make a feed of them" }).click();
  await settled();
  const query = `ip:(${NOISE} OR ${UNKNOWN})`;
  expect(new URL(page.url()).searchParams.get("query")).toBe(query);
  await page.goBack();
  // In a narrow window a row is as high as what it shows before it is scrolled.
  await page.setViewportSize({ width: 390, height: 844 });
  const heights = await page
    .locator('section[aria-labelledby="results"] tbody tr')
    .evaluateAll((rows) => rows.map((row) => row.clientHeight));
  expect(Math.max(...heights)).toBeLessThan(45);
  await page.getByRole("link", { name: "Search these addresses" }).click();
  await page.locator("[data-matches]", { hasText: "1 address matches." }).waitFor();
  expect(new URL(page.url()).searchParams.get("query")).toBe(query);
  expect(opened.faults).toEqual([]);
});

test("a list of 10,000 addresses is looked up, survives a reload, and is in no URL", async () => {
  const opened = await open("/", { key: shown.key });
  const { page, settled, faults } = opened;
  const ips = Array.from({ length: 10_000 }, (_, n) => `45.1.${n >> 8}.${n & 255}`);
  const box = page.getByLabel("Address, network, name, CVE or query");
  const paste = async (text: string) => {
    await box.focus();
    await page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", ${JSON.stringify(text)});
      document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    })()`);
  };
  await paste(ips.join("\n"));
  await box.press("Enter");
  await page.getByRole("heading", { name: "10,000 addresses" }).waitFor();
  await settled();
  const verdicts = page.locator("[data-verdicts]");
  expect(await verdicts.textContent()).toBe("1,005 suspicious, 8,995 not seen");
  expect(page.url().length).toBeLessThan(150);
  expect(await page.locator("tbody tr").count()).toBe(500);
  await page.reload();
  await settled();
  expect(await verdicts.textContent()).toBe("1,005 suspicious, 8,995 not seen");
  await box.fill("");
  await paste(ips.slice(0, 1_000).join(" "));
  await box.press("Enter");
  await page.getByRole("heading", { name: "1,000 addresses" }).waitFor();
  await settled();
  await page.goBack();
  await page.getByRole("heading", { name: "10,000 addresses" }).waitFor();
  const elsewhere = await open(new URL(page.url()).pathname + new URL(page.url()).hash);
  await elsewhere.page.getByText("too long for a link").waitFor();
  expect(faults).toEqual([]);
});

test("a key is kept for all tabs of a browser, open ones follow, and a forgotten key is gone in all of them", async () => {
  const first = await open("/plans");
  await enterKey(first, shown.key);
  const second = await first.context.newPage();
  await second.goto(`${shown.url}/plans`);
  await second.getByText("Your plan is unlimited.").waitFor();
  await second.getByRole("button", { name: "Key: set" }).click();
  await second.getByRole("button", { name: "Forget the key" }).click();
  await second.getByText("Your plan is unauthenticated").waitFor();
  await first.page.getByText("Your plan is unauthenticated").waitFor();
  await enterKey(first, shown.key);
  await second.getByText("Your plan is unlimited.").waitFor();
  expect(second.url()).toBe(`${shown.url}/plans`);
  expect(first.faults).toEqual([]);
});

test("a wrong key is refused where it is entered, with the reason, and the pages stay as they were", async () => {
  const { page, faults } = await open("/plans");
  await page.getByRole("button", { name: "Key" }).click();
  const field = page.getByLabel("Key", { exact: true });
  const use = page.getByRole("button", { name: "Use this key" });
  for (const [wrong, reason] of [
    ["nf_made-up", "The service does not know this key. It may be mistyped or revoked."],
    ["two words", "A key has no spaces"],
    ["nf_\u201cquoted\u201d", "A key has no spaces"],
  ] as const) {
    await field.fill(wrong);
    await use.click();
    await page.locator("dialog [role=alert]", { hasText: reason }).waitFor();
  }
  await page.route("**/v3/plans", (route) => route.abort());
  await field.fill("nf_anything");
  await use.click();
  await page.getByText("The key could not be checked: The service cannot be reached.").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  expect(await page.getByText("Your plan is unauthenticated").count()).toBe(1);
  expect(await page.evaluate("localStorage.length")).toBe(0);
  expect(faults).toEqual([]);
});

test("a kept key that was revoked gives one message and the place for another one, not a failure in every panel", async () => {
  const opened = await open("/", { key: "nf_revoked" });
  const { page, settled, faults } = opened;
  await page.locator("dialog[open]").waitFor();
  expect(await page.locator("main [role=alert]").allTextContents()).toEqual([
    expect.stringContaining("no longer knows the key that this browser keeps"),
  ]);
  await page.getByLabel("Key", { exact: true }).fill(shown.key);
  await page.getByRole("button", { name: "Use this key" }).click();
  await page.locator("[data-total]").waitFor();
  await settled();
  expect(await page.locator("main [role=alert]").count()).toBe(0);
  expect(faults).toEqual([]);
});

test("the page of an address leads to its neighbours, and names its sensors to those alone who may know them", async () => {
  const { page, faults } = await open(`/ip/${NOISE}`, { key: shown.key });
  expect(await page.locator("section", { hasText: "Sensors that saw it" }).locator("li").allTextContents()).toEqual([
    expect.stringMatching(/^s <script>alert\(1\)<\/script> \(4 observations, the last at /),
  ]);
  const other = await open(`/ip/${NOISE}`, { key: await shown.world.addCaller("unlimited") });
  const unauthenticated = await open(`/ip/${NOISE}`);
  for (const { page: without } of [other, unauthenticated]) {
    expect(await without.getByText("Sensors that saw it").count()).toBe(0);
    expect(await without.getByRole("link", { name: "45.0.0.0/24" }).count()).toBe(1);
  }
  await page.getByRole("link", { name: "45.0.0.0/24" }).click();
  await page.getByRole("heading", { name: "45.0.0.0/24" }).waitFor();
  await page.getByRole("link", { name: NOISE, exact: true }).waitFor();
  expect([...faults, ...other.faults, ...unauthenticated.faults]).toEqual([]);
});

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
  const invalid = await openWindow({ key: shown.key });
  await invalid.context.addInitScript(
    'for (const [name, value] of [["language", "C"], ["languages", ["C", "", "de_DE", "x"]]])' +
      " Object.defineProperty(Navigator.prototype, name, { get: () => value });",
  );
  const german = await openWindow({ key: shown.key, locale: "de-CH" });
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
  const opened = await openWindow({ key: shown.key });
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

test("a script that does not load or fails leaves a message with the way to report it, not an empty page", async () => {
  const { page } = await openWindow();
  const message = page.getByText("These pages have not started");
  for (const status of [404, 200]) {
    const body = status === 200 ? "syntax from the future(" : "";
    await page.route("**/assets/*.js", (route) => route.fulfill({ status, contentType: "text/javascript", body }));
    await page.goto(`${shown.url}/ip/${NOISE}`);
    await message.waitFor({ state: "visible" });
    expect(await page.locator("#start").textContent()).toContain("report it to those who run this service");
    await page.unroute("**/assets/*.js");
  }

  const failing = await openWindow();
  await failing.context.addInitScript("delete window.Intl.NumberFormat");
  await failing.page.goto(shown.url);
  await failing.page.locator("#start pre").waitFor({ state: "visible" });
  expect(await failing.page.locator("#start pre").textContent()).toMatch(/NumberFormat.*on \/.*Chrome/s);
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
