import { RECIPES } from "@noisefloor/domain/feeds/recipes.ts";
import { FORMS } from "@noisefloor/query/feeds/forms/forms.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type ExplorerWindow, expectAccessible, openExplorer } from "../../support/browser/explorer-window.ts";
import { CROWD, type ExplorerWorld, NOISE, openExplorerWorld } from "../../support/browser/explorer-world.ts";
import { PUBLIC_URL } from "../../support/oracle/address-oracle.ts";

let shown: ExplorerWorld;
beforeAll(async () => {
  shown = await openExplorerWorld(Date.now);
});
afterAll(() => shown?.close());

const count = (value: number) => new Intl.NumberFormat("en").format(value);

async function open(path: string, key = shown.key, viewport = { width: 1280, height: 900 }): Promise<ExplorerWindow> {
  const opened = await openExplorer(shown.browser, shown.url, { ...(key !== "" && { key }), viewport });
  onTestFinished(() => opened.close());
  await opened.open(path);
  return opened;
}

/** Makes a feed as the form does. */
async function makeFeed(name: string, query: string): Promise<void> {
  const response = await fetch(`${shown.url}/v3/feeds/${name}`, {
    method: "PUT",
    headers: { key: shown.key },
    body: JSON.stringify({ query }),
  });
  expect(response.status).toBe(201);
}

test("a search becomes a feed, which is shown, changed and deleted, and a wrong search says what is wrong", async () => {
  const { page, settled, faults } = await open("/search?query=tags%3Ascanner&days=7");
  await page.getByRole("link", { name: "Make a feed of them" }).click();
  await settled();
  const query = page.getByRole("combobox", { name: "Search" });
  expect(await query.inputValue()).toBe("tags:scanner");
  expect(await page.locator("[name=days]").inputValue()).toBe("7");
  await page.getByLabel("Name", { exact: true }).fill("scanners");
  await page.locator("[name=limit]").fill("12");
  await query.fill("clasification:x");
  await page.getByRole("button", { name: "Make the feed" }).click();
  await page.getByText('no field is called "clasification"').waitFor();
  expect(await page.locator("[name=limit]").inputValue(), "what was typed stays").toBe("12");
  await page.locator("[name=limit]").fill("100000");
  await query.fill("tags:scanner");
  await page.getByRole("button", { name: "Make the feed" }).click();
  await page.getByRole("heading", { name: "scanners" }).waitFor();
  await settled();
  expect(await page.locator("[data-count]").textContent()).toBe(count(CROWD + 1));
  await page.getByLabel("Description").fill("who scans");
  await page.locator("[name=limit]").fill("10");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("There are more").waitFor();
  expect(await page.locator("[data-count]").textContent()).toBe("10");
  expect(await page.locator(".lead").textContent()).toBe("who scans");
  await page.getByRole("button", { name: "Delete this feed" }).click();
  await page.getByRole("button", { name: "Delete scanners" }).click();
  await page.getByRole("heading", { name: "A new feed" }).waitFor();
  await settled();
  expect(await page.locator("[data-feed=scanners]").count()).toBe(0);
  expect(faults).toEqual([]);
});

test("a feed's page shows its first addresses, saves each of its forms, and links the search that finds what it lists", async () => {
  const { page, settled, faults } = await open("/tags/scanner", shown.key, { width: 390, height: 900 });
  await page.getByRole("link", { name: "Its feed" }).click();
  await settled();
  const listed = Number((await page.locator("[data-count]").textContent())?.replace(/\D/g, ""));
  expect(listed).toBeGreaterThan(CROWD - 1);
  expect(await page.locator("[data-first-addresses] tbody tr").count()).toBe(20);
  const forms = FORMS.filter(({ of }) => of === undefined);
  for (const [index, form] of forms.map(({ name }) => name).entries()) {
    // Chromium lets a page save ten files before it asks.
    if (index % 10 === 9) await page.reload();
    await settled();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.locator(`[data-form="${form}"]`).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`tag-scanner.${form}`);
  }
  expect(await page.locator("[data-form]").count()).toBe(forms.length);
  await page.locator(".facts").getByRole("link").click();
  await settled();
  expect(await page.locator("[data-matches]").textContent()).toContain(count(listed));
  expect(faults).toEqual([]);
});

test("a token is shown once, the lines of every consumer read the feed with it, and a revoked one reads nothing", async () => {
  await makeFeed("tokens", "tags:worm");
  const { page, settled, faults } = await open("/feeds/tokens");
  await page.getByLabel("For", { exact: true }).first().fill("edge");
  await page.getByRole("button", { name: "Make a token" }).click();
  const token = (await page.locator("[data-token]").textContent()) ?? "";
  for (const { consumer } of RECIPES) {
    await page.locator("select[name=consumer]").selectOption(consumer);
    const lines = (await page.locator(`[data-recipe="${consumer}"]`).textContent()) ?? "";
    expect(lines).toContain(token);
    expect(lines).toContain(PUBLIC_URL);
    expect(lines).not.toContain(shown.url);
    for (const [url] of lines
      .replaceAll(PUBLIC_URL, shown.url)
      .matchAll(/http:[^'"\s]+\/v3\/feeds\/tokens\.[^'"\s]+/g)) {
      expect([consumer, (await fetch(url, { headers: { key: token } })).status]).toEqual([consumer, 200]);
    }
  }
  await page.reload();
  await settled();
  expect(await page.content()).not.toContain(token);
  await page.getByRole("button", { name: "Revoke the token edge" }).click();
  await page.getByText("No consumer has a token yet.").waitFor();
  expect((await fetch(`${shown.url}/v3/feeds/tokens.txt`, { headers: { key: token } })).status).toBe(401);
  expect(faults).toEqual([]);
});

test.each(["worms", "9-worms-with-a-name-longer-than-ipset-takes"])(
  "the lines for %s name the sets that its lists fill",
  async (name) => {
    await makeFeed(name, "tags:worm");
    const setIn = async (consumer: string, rule: RegExp) => {
      const recipe = RECIPES.find((one) => one.consumer === consumer);
      const lines = recipe?.lines({ url: shown.url, name, id: "", token: shown.key }) ?? "";
      const [list = ""] = /http:[^'\s]+/.exec(lines) ?? [];
      const script = await (await fetch(list, { headers: { key: shown.key } })).text();
      return { script, set: rule.exec(lines)?.[1] ?? "" };
    };
    const nft = await setIn("nftables", /set=(\w+)&/);
    expect(nft.script).toContain(` ip saddr @${nft.set} drop\n`);
    expect(nft.script).toContain(`add set inet noisefloor ${nft.set} {`);
    const ipset = await setIn("ipset", /--match-set (\S+) /);
    expect(ipset.script).toContain(`create ${ipset.set} hash:ip`);
  },
);

test("a guarded network is held back from a feed, and its page says how many left", async () => {
  await makeFeed("guarded", "tags:worm");
  const feed = await open("/feeds/guarded");
  await feed.page.locator("[data-changes]", { hasText: "0 hosts came, 0 hosts left" }).waitFor();
  const { page, faults } = await open("/feeds");
  await page.getByLabel("Network", { exact: true }).fill("45.0.0.0/24");
  await page.getByLabel("Note", { exact: true }).fill("ours");
  await page.getByRole("button", { name: "Guard it" }).click();
  await page.locator('[data-guarded="45.0.0.0/24"]').waitFor();
  await page.getByLabel("Is this address guarded?").fill(NOISE);
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText(`${NOISE} is guarded: it is in a network of yours (45.0.0.0/24, ours).`).waitFor();
  await feed.page.reload();
  await feed.settled();
  expect(await feed.page.locator("[data-guarded-count]").textContent()).toBe("1");
  expect(await feed.page.locator("[data-changes]").textContent()).toContain("1 host left");
  expect(await feed.page.getByRole("link", { name: NOISE, exact: true }).count(), "gone, and held back").toBe(2);
  expect(await feed.page.locator(`[data-held-back="${NOISE}"]`).textContent()).toContain("45.0.0.0/24, ours");
  const [last] = await feed.page.locator("[data-revision]").allTextContents();
  expect(last).toMatch(/01$/);
  await page.getByRole("button", { name: "Guard 45.0.0.0/24 no longer" }).click();
  await page.getByText("You guard no network yet.").waitFor();
  expect([...faults, ...feed.faults]).toEqual([]);
});

test("the pages of feeds fit every window, axe finds nothing serious, and without a key they ask for one", async () => {
  await makeFeed("shown", "tags:worm");
  for (const viewport of [
    { width: 1280, height: 900 },
    { width: 390, height: 844 },
  ]) {
    for (const path of ["/feeds", "/feeds/shown", "/feeds/recent"]) {
      const opened = await open(path, shown.key, viewport);
      await expectAccessible(opened, path);
      expect(opened.faults).toEqual([]);
    }
  }
  for (const path of ["/feeds", "/feeds/shown"]) {
    const { page } = await open(path, "");
    await page.getByText("Feeds belong to a workspace").waitFor();
  }
});
