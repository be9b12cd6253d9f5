import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { appendLook, readLogHead } from "@noisefloor/clickhouse/watches/log.ts";
import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import type { WatchEvent } from "@noisefloor/domain/watches/event.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { type ExplorerWindow, expectAccessible, openExplorer } from "../../support/browser/explorer-window.ts";
import { type ExplorerWorld, openExplorerWorld, SCRIPT } from "../../support/browser/explorer-world.ts";
import { observation } from "../../support/builders/observation.ts";
import { startHttpReceiver } from "../../support/watches/http-receiver.ts";

let shown: ExplorerWorld;
beforeAll(async () => {
  shown = await openExplorerWorld(Date.now);
});
afterAll(() => shown?.close());

async function open(path: string, key = shown.key, viewport = { width: 1280, height: 900 }): Promise<ExplorerWindow> {
  const opened = await openExplorer(shown.browser, shown.url, { ...(key !== "" && { key }), viewport });
  onTestFinished(() => opened.close());
  await opened.open(path);
  return opened;
}

const idSchema = z.object({ id: z.string() });
/** Makes a watch as the form does. @returns its id. */
async function makeWatch(name: string, on: object, deliver: readonly object[] = []): Promise<string> {
  const body = JSON.stringify({ name, on, deliver });
  const response = await fetch(`${shown.url}/v3/watches`, { method: "POST", headers: { key: shown.key }, body });
  expect(response.status).toBe(201);
  return idSchema.parse(await response.json()).id;
}

test("a search is watched with a webhook, whose secret is shown once and whose test says what came back", async () => {
  const { url: hook } = await startHttpReceiver(() => 204);
  const { page, settled, faults } = await open("/search?query=tags%3Ascanner");
  await page.getByRole("link", { name: "Watch this search" }).click();
  await settled();
  const query = page.getByRole("combobox", { name: "Search" });
  expect(await query.inputValue()).toBe("tags:scanner");
  await page.getByLabel("Name", { exact: true }).fill("scanners");
  await page.getByRole("button", { name: "Add a destination" }).click();
  await page.getByLabel("URL").fill("http://169.254.169.254/latest");
  await query.fill("clasification:x");
  await page.getByRole("button", { name: "Make the watch" }).click();
  await page.getByText("link-local").waitFor();
  await page.getByLabel("URL").fill(hook);
  await page.getByRole("button", { name: "Make the watch" }).click();
  await page.getByText('no field is called "clasification"').waitFor();
  await query.fill("tags:scanner");
  await page.getByRole("button", { name: "Make the watch" }).click();
  const secret = (await page.locator("[data-secret]").textContent()) ?? "";
  expect(secret).toMatch(/^whsec_/);
  expect(await page.getByRole("button", { name: "Copy the secret" }).count()).toBe(1);
  await page.getByRole("link", { name: "scanners" }).first().click();
  await page.getByRole("heading", { name: "scanners" }).waitFor();
  await settled();
  expect(await page.content()).not.toContain(secret);
  expect(await page.locator("[data-waits]").textContent()).toBe("an address begins to match tags:scanner");
  await page.getByRole("button", { name: "Send a test" }).click();
  await page.getByText("Every destination took it, with HTTP 204.").waitFor();
  expect(faults).toEqual([]);
});

test.each([
  ["/networks/45.0.0.0/24", "Watch this network", "networks", "45.0.0.0/24"],
  ["/tags/scanner", "Watch this tag", "tag", "scanner"],
  ["/sensors", `Watch tap ${SCRIPT}`, "sensors", `tap ${SCRIPT}`],
  ["/sensors", "Watch for silent sensors", "sensors", ""],
])("from %s the button %j opens the form filled in", async (path, button, field, value) => {
  const { page, settled, faults } = await open(path);
  await page.getByRole("link", { name: button }).first().click();
  await page.getByRole("heading", { name: "A new watch" }).waitFor();
  await settled();
  expect(await page.locator(`[name=${field}]`).inputValue()).toBe(value);
  await page.getByRole("button", { name: "Make the watch" }).click();
  await page.getByRole("heading", { name: "Its events" }).waitFor();
  expect(faults).toEqual([]);
});

test("an event comes to the open page with what it lists, and a delivery that failed is sent again", async () => {
  let isUp = false;
  const { url: hook } = await startHttpReceiver(() => (isUp ? 204 : 503));
  const id = await makeWatch(`ours ${SCRIPT}`, { type: "network_seen", networks: ["45.7.0.0/24"] }, [
    { type: "webhook", url: hook },
  ]);
  const { page, settled, faults } = await open(`/watches/${id}`);
  await page.getByText("It has found nothing yet.").waitFor();
  const all = await open("/watches");
  await shown.world.watches.look();
  await shown.world.store([observation("45.7.0.1", Date.now(), { tags: ["worm"] })]);
  await shown.world.watches.look();
  await page.locator("[data-event=network_seen]").waitFor();
  await page.getByText("What it found").click();
  const listed = page.locator("[data-event=network_seen]");
  for (const name of ["45.7.0.1", "45.7.0.0/24", "worm"])
    expect(await listed.getByRole("link", { name, exact: true }).count()).toBe(1);
  await page.locator("[data-delivery=pending]", { hasText: "HTTP 503" }).waitFor();
  isUp = true;
  await page.getByRole("button", { name: "Retry" }).click();
  await page.locator("[data-delivery=delivered]").waitFor();
  await all.page.locator("[data-event=network_seen]", { hasText: "45.7.0.1" }).waitFor();
  await all.page.locator(`[data-watch="${id}"]`, { hasText: "less than a minute ago" }).waitFor();
  await settled();
  expect([...faults, ...all.faults]).toEqual([]);
});

test("a watch is changed, disabled and deleted", async () => {
  const id = await makeWatch("mine", { type: "new_value", field: "cve" }, [
    { type: "slack", url: "https://hooks.slack.com/services/x" },
  ]);
  const { page, settled, faults } = await open(`/watches/${id}`);
  await page.getByLabel("Name", { exact: true }).fill("renamed");
  await page.getByLabel("Waits until").selectOption("network_seen");
  await page.getByLabel("Networks").fill("198.51.101.0/24\n198.51.102.7");
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Add a destination" }).click();
  await page.locator("select[name$=-type]").selectOption("syslog");
  await page.getByLabel("Host").fill("siem.example.org");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "renamed" }).waitFor();
  await settled();
  expect(await page.locator("[data-waits]").textContent()).toBe(
    "an address of 198.51.101.0/24 or 198.51.102.7/32 is seen",
  );
  expect(await page.locator("[data-destination]").first().textContent()).toBe("syslog: siem.example.org:6514 (tls)");
  await page.getByRole("button", { name: "Disable this watch" }).click();
  await page.getByText("This watch is disabled").waitFor();
  await page.getByRole("button", { name: "Delete this watch" }).click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await page.getByRole("heading", { name: "Watches of this workspace" }).waitFor();
  await settled();
  expect(await page.locator(`[data-watch="${id}"]`).count()).toBe(0);
  expect(faults).toEqual([]);
});

test("a watch of a file is shown as that, and nothing changes it", async () => {
  const id = await makeWatch("of a file", { type: "tag_rises", tag: "worm" });
  const watch = shown.world.watches.cache.byId(id);
  if (watch === undefined) throw new Error("the watch is not there");
  await watchDefinitions.write(shown.world.client, [{ ...watch, origin: "file" }], Date.now());
  const { page } = await open(`/watches/${id}`);
  await page.getByText("WATCHES_FILE").waitFor();
  for (const name of ["Save", "Disable this watch", "Delete this watch"])
    expect(await page.getByRole("button", { name }).count()).toBe(0);
});

/** Writes an event into the log, as the look that finds it does. */
async function logEvent({ workspaceId, id: watchId }: Watch, event: WatchEvent): Promise<void> {
  const head = await readLogHead(shown.world.client);
  const stored = { id: event.id, workspaceId, watchId, body: JSON.stringify(event), subjects: [], times: [] };
  const look = { holder: "test", position: head?.position ?? "", events: [stored] };
  expect(await appendLook(shown.world.client, look, head)).toBeDefined();
}

test("the page of a watch fits every window with any event, axe finds nothing serious, and it asks for a key", async () => {
  const id = await makeWatch("rises", { type: "tag_rises", tag: "worm" }, [
    { type: "webhook", url: "https://soar.example.org/hook" },
  ]);
  const watch = shown.world.watches.cache.byId(id);
  if (watch === undefined) throw new Error("the watch is not there");
  const [at, listed] = [new Date().toISOString(), { count: 1_234, truncated: true }];
  const head = { watch: { id, name: watch.name }, detected_at: at, summary: `${SCRIPT} \u202e`, link: "" };
  const address = { first_seen: at, last_seen: at, classification: "malicious" as const, tags: ["worm"] };
  const hourOf = (back: number) => new Date(Date.now() - back * HOUR_MS).toISOString();
  const events: WatchEvent[] = [
    {
      ...head,
      id: crypto.randomUUID(),
      type: "search_matches",
      data: { query: `path:"${SCRIPT}"`, ...listed, addresses: [{ ip: "45.0.0.1", ...address }] },
    },
    {
      ...head,
      id: crypto.randomUUID(),
      type: "new_value",
      data: {
        field: "raw_data.http.path",
        ...listed,
        values: [{ value: `/${SCRIPT}${"x".repeat(300)}`, addresses: 7 }],
      },
    },
    {
      ...head,
      id: crypto.randomUUID(),
      type: "sensor_silent",
      data: { after_minutes: 30, ...listed, sensors: [{ sensor: SCRIPT, last_seen: at }] },
    },
    {
      ...head,
      id: crypto.randomUUID(),
      type: "tag_rises",
      data: {
        tag: { slug: "worm", name: SCRIPT },
        hour: hourOf(0),
        count: 43,
        expected: { median: 12, low: 5, high: 20.5 },
        made_from: [3, 2, 1].map((week) => ({ hour: hourOf(168 * week), count: 10 + week })),
      },
    },
  ];
  for (const event of events) await logEvent(watch, event);
  for (const viewport of [
    { width: 1280, height: 900 },
    { width: 390, height: 844 },
  ]) {
    for (const path of ["/watches", "/watches?kind=search_matches&value=tags%3Aworm", `/watches/${id}`]) {
      const opened = await open(path, shown.key, viewport);
      for (const details of await opened.page.getByText("What it found").all()) await details.click();
      await expectAccessible(opened, path);
      expect(opened.faults).toEqual([]);
    }
  }
  const { page } = await open(`/watches/${id}`);
  await page.locator("[data-event=tag_rises] summary").first().click();
  expect(await page.locator("[data-rise]").textContent()).toMatch(
    /had 43 addresses in the hour from .* Usual for this hour of the week are 5 to 20\.5, in the middle 12\./,
  );
  for (const path of ["/watches", `/watches/${id}`]) {
    const unkeyed = await open(path, "");
    await unkeyed.page.getByText("Watches belong to a workspace").waitFor();
  }
});
