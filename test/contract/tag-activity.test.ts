import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const HOUR = 3_600_000;
const NOW = Date.now();
const tag = makeTag("worm", "malicious");
const UNKNOWN = "00000000-0000-4000-8000-000000000000";
let world: ServedWorld;
let key: string;
let plain: string;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([tag]);
  key = await world.addCaller("standard", ["community_dataset"]);
  plain = await world.addCaller("unlimited");
  const said = { sensor_id: "s", tags: ["worm"] };
  const at = (hoursAgo: number) => new Date(NOW - hoursAgo * HOUR).toISOString();
  await world.store([
    { ...said, observed_at: at(0), source_ip: "45.0.0.2" },
    { ...said, observed_at: at(0), source_ip: "45.0.0.10" },
    { ...said, observed_at: at(30), source_ip: "45.0.0.2" },
  ]);
});
afterAll(() => world.close());

const timestamp = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:00:00Z$/, "RFC 3339, on the hour, in UTC with Z");
/** What these tests read; the description has the rest. */
const shape = z.object({
  activity: z.strictObject({
    malicious: z.array(
      z.object({
        start: timestamp,
        end: timestamp,
        timestamp,
        active_ips: z.int(),
        ips: z.array(z.string()).optional(),
      }),
    ),
  }),
  aggregations: z.object({ total_ips: z.int(), classification: z.record(z.string(), z.int()) }),
  metadata: z.looseObject({ granularity: z.string(), start_date: timestamp, end_date: timestamp }),
});

const send = (query: string, headers: Record<string, string> = { key }, id = tag.id) =>
  fetch(`${world.url}/v3/tags/${id}/activity${query}`, { headers });
async function ask(query: string, headers?: Record<string, string>) {
  const { status, body } = await world.get(`/v3/tags/${tag.id}/activity${query}`, headers ?? { key });
  expect([query, status]).toEqual([query, 200]);
  return shape.parse(body);
}

test("the series stands under the tag's intention, each bucket with timestamp and active_ips", async () => {
  const { activity, aggregations } = await ask("?days=2");
  expect(activity.malicious.map(({ active_ips }) => active_ips)).toEqual([1, 2]);
  for (const { start, timestamp } of activity.malicious) expect(timestamp).toBe(start);
  expect(aggregations).toEqual({ total_ips: 2, classification: { malicious: 2 } });
});

test("buckets without activity are there too, contiguous and ascending: 30 days at 24h are 30 buckets", async () => {
  const { activity, metadata } = await ask("?days=30");
  expect(activity.malicious).toHaveLength(30);
  const starts = activity.malicious.map(({ start }) => start);
  expect(activity.malicious.map(({ end }) => end)).toEqual([...starts.slice(1), metadata.end_date]);
  expect(starts[0]).toBe(metadata.start_date);
  expect(starts).toEqual([...starts].sort());
});

test("without parameters: one day, one bucket of 24h, that ends with the current hour, no addresses", async () => {
  const { activity, metadata } = await ask("");
  const end = Math.ceil(NOW / HOUR) * HOUR;
  expect(Date.parse(metadata.end_date)).toBe(end);
  expect(Date.parse(metadata.start_date)).toBe(end - 24 * HOUR);
  expect(metadata).toStrictEqual({ granularity: "24h", start_date: metadata.start_date, end_date: metadata.end_date });
  expect(activity.malicious).toHaveLength(1);
  expect(activity.malicious[0]).not.toHaveProperty("ips");
});

test.each(["true", "1"])("include_ips=%s adds the addresses, in numeric order, and says so", async (yes) => {
  const { activity, metadata } = await ask(`?include_ips=${yes}&days=2`);
  expect(activity.malicious.map(({ ips }) => ips)).toEqual([["45.0.0.2"], ["45.0.0.2", "45.0.0.10"]]);
  expect(metadata).toMatchObject({ ips_included: true, ips_per_bucket: 1_000, ips_truncated: false });
});

test.each(["false", "0"])("include_ips=%s is as if left out", async (no) => {
  expect(await ask(`?include_ips=${no}`)).toEqual(await ask(""));
});

test("more days than the plan reaches is no error: the shorter window stands in metadata.start_date", async () => {
  const { metadata } = await ask("?days=90");
  expect(Date.parse(metadata.end_date) - Date.parse(metadata.start_date)).toBe(30 * 24 * HOUR);
  const { metadata: keyless } = await ask("?days=90", {});
  expect(Date.parse(keyless.end_date) - Date.parse(keyless.start_date)).toBe(24 * HOUR);
});

test.each([
  ...["0", "91", "-1", "1.5", "01", "+1", "1d", "one", "", "1e1", "0x1"].map((value) => ["days", value]),
  ...["0h", "169h", "1d", "24", "1.5h", "01h", "h", "", "24H", "1h30m", "-1h"].map((value) => ["granularity", value]),
  ...["yes", "True", "TRUE", "2", "", "null"].map((value) => ["include_ips", value]),
  ...["nonsense", "Global", "personal:acme", "global,,personal", "community;personal"].map((value) => [
    "workspace_labels",
    value,
  ]),
] as [string, string][])(
  "%s=%j is 400 with a message that names the parameter and what it takes",
  async (name, value) => {
    const answer = await send(`?${new URLSearchParams({ [name]: value })}`);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toStrictEqual({ message: expect.stringMatching(new RegExp(`${name} takes \\S`)) });
  },
);

test.each(["1h", "4h", "24h", "168h"])("a width of %s is accepted", async (width) => {
  expect((await ask(`?granularity=${width}`)).metadata.granularity).toBe(width);
});

test("checks come in their order: id, parameters, unknown scope, entitlement, workspace, unknown tag", async () => {
  const status = async (id: string, query: string, headers: Record<string, string>) =>
    (await send(query, headers, id)).status;
  expect(await status("mirai", "?days=0&workspace_labels=nonsense", {})).toBe(400);
  expect(await (await send("?days=0", {}, "mirai")).json()).toEqual({ message: expect.stringMatching(/\bid\b/) });
  const both = await send("?days=0&workspace_labels=nonsense", {});
  expect(await both.json()).toEqual({ message: expect.stringContaining("days") });
  for (const headers of [{}, { key: plain }]) {
    expect(await status(UNKNOWN, "?workspace_labels=personal,nonsense", headers)).toBe(400);
    for (const labels of ["global", "greynoise", "community", "personal"]) {
      expect([labels, await status(UNKNOWN, `?workspace_labels=${labels}`, headers)]).toEqual([labels, 403]);
    }
  }
  const unknown = await send("", {}, UNKNOWN);
  expect([unknown.status, await unknown.json()]).toEqual([404, { message: "Tag not found" }]);
});

test("a slug stands for the id: the same answer, and the same checks", async () => {
  const bySlug = await send("?days=2&include_ips=true", { key }, tag.slug);
  expect([bySlug.status, shape.parse(await bySlug.json())]).toEqual([200, await ask("?days=2&include_ips=true")]);
  expect((await send("?days=0", { key }, tag.slug)).status).toBe(400);
  expect((await send("?workspace_labels=community", { key: plain }, tag.slug)).status).toBe(403);
  for (const [malformed, message] of [
    ["no-such-tag", /no tag has this slug/],
    ["Worm", /\bid takes\b/],
    [`${tag.id}0`, /\bid takes\b/],
  ] as const) {
    const answer = await send("", { key }, malformed);
    expect([malformed, answer.status]).toEqual([malformed, 400]);
    expect(await answer.json()).toEqual({ message: expect.stringMatching(message) });
  }
});

test("a UUID is an id, also when a tag has it as its slug", async () => {
  const other = makeTag(UNKNOWN, "unknown");
  await world.addTags([tag, other]);
  expect((await send("", { key }, UNKNOWN)).status).toBe(404);
  expect((await send("", { key }, other.id)).status).toBe(200);
});

test("a scope list may be empty, have white space, repeat itself and use the alias; the id may be upper case", async () => {
  const expected = await ask("?days=2");
  for (const labels of ["", " ", "greynoise", " global , greynoise,global"]) {
    expect(await ask(`?${new URLSearchParams({ days: "2", workspace_labels: labels })}`)).toEqual(expected);
  }
  expect((await send("", { key }, tag.id.toUpperCase())).status).toBe(200);
});
