import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const DAY = 86_400_000;
const NOW = Date.now();
const worm = makeTag("worm", "malicious");
const FIELDS = [
  "classification",
  "destination_port",
  "http_path",
  "http_user_agent",
  "source_asn",
  "source_org",
  "source_rdns",
  "tag_ids",
];
let world: ServedWorld;
let key: string;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([worm]);
  key = await world.addCaller("unlimited");
  const said = {
    sensor_id: "s",
    source_ip: "45.0.0.1",
    tags: ["worm"],
    destination_port: 80,
    http: { path: "/x", user_agent: "curl" },
    asn: 64_500,
    organization: "Org",
    rdns: "x.example.org",
  };
  const days = [1, 1, 4];
  await world.store(days.map((day) => ({ ...said, observed_at: new Date(NOW - day * DAY + 60_000).toISOString() })));
});
afterAll(() => world.close());

const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, "RFC 3339 with whole seconds in UTC with Z");
const shape = z.object({
  metadata: z.looseObject({ first_seen: z.string(), start: instant, end: instant, granularity: z.string() }),
  results: z.array(z.object({ data: z.int().min(1), label: z.string().min(1), timestamp: instant })),
});

const send = (query: string, headers: Record<string, string> = { key }, ip = "45.0.0.1") =>
  fetch(`${world.url}/v3/noise/ips/${ip}/timeline${query}`, { headers });
async function ask(query: string, headers: Record<string, string> = { key }, ip = "45.0.0.1") {
  const { status, body } = await world.get(`/v3/noise/ips/${ip}/timeline${query}`, headers);
  expect([query, status]).toEqual([query, 200]);
  return shape.parse(body);
}

test.each(FIELDS)(
  "the Python SDK's question about %s is answered in text labels, newest bucket first",
  async (field) => {
    const { metadata, results } = await ask(`?field=${field}&days=30&granularity=1d`);
    expect(metadata).toMatchObject({ ip: "45.0.0.1", field, granularity: "1d" });
    const days = results.map(({ timestamp }) => timestamp);
    expect(days).toHaveLength(2);
    expect(days).toEqual([...days].sort().reverse());
    for (const timestamp of days) expect(timestamp).toMatch(/T00:00:00Z$/);
    expect(results.map(({ data }) => data)).toEqual([2, 1]);
  },
);

test("without parameters: classification, one day, buckets of a day", async () => {
  const { metadata, results } = await ask("");
  expect(metadata).toMatchObject({ field: "classification", granularity: "1d" });
  expect(Date.parse(metadata.end) - Date.parse(metadata.start)).toBe(DAY);
  expect(results.map(({ label }) => label)).toEqual(["malicious"]);
});

test("an address without activity is a 200 with no results and an empty first_seen", async () => {
  const { metadata, results } = await ask("", { key }, "45.9.9.9");
  expect([metadata.first_seen, results]).toEqual(["", []]);
});

test.each([
  ...["0", "91", "1.5", "", "all"].map((value) => ["days", value]),
  ...["0h", "25h", "0d", "91d", "1w", "1", "", "01h"].map((value) => ["granularity", value]),
  ...["asn", "Classification", ""].map((value) => ["field", value]),
  ...["nonsense", "Global", "global,nonsense"].map((value) => ["workspace_labels", value]),
] as [string, string][])("%s=%j is 400 with a message that names the parameter", async (name, value) => {
  const answer = await send(`?${new URLSearchParams({ [name]: value })}`);
  expect([answer.status, await answer.json()]).toEqual([400, { message: expect.stringContaining(name) }]);
});

test("scopes need no entitlement here; personal needs a workspace and is 400 without one", async () => {
  for (const headers of [{}, { key }]) {
    for (const labels of ["global", "greynoise", "community"]) await ask(`?workspace_labels=${labels}`, headers);
  }
  expect((await ask("?workspace_labels=personal")).results).toEqual([]);
  for (const labels of ["personal", "global,personal"]) {
    const rejected = await send(`?workspace_labels=${labels}`, {});
    expect([rejected.status, await rejected.json()]).toEqual([400, { message: expect.stringMatching(/workspace/) }]);
  }
});

test("an invalid address is 400 with the text clients know", async () => {
  const answer = await send("", { key }, "1.2.3");
  expect([answer.status, await answer.text()]).toEqual([400, '{"message":"Invalid parameter: ip"}']);
});
