import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { credentials } from "@noisefloor/clickhouse/access/credentials.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { expectDescribed } from "../../support/oracle/description.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

let world: World;
let key: string;
beforeAll(async () => {
  world = await createWorld(Date.now);
  await world.addTags([makeTag("mirai", "malicious")]);
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

const answerSchema = z.looseObject({ id: z.string().default(""), deliver: z.array(z.looseObject({})).default([]) });
async function ask(
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  headers = { key },
) {
  const response = await world.app.inject({
    method,
    url: `/v3/watches${path}`,
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { payload: JSON.stringify(body) }),
  });
  const text = response.body;
  if (text !== "") expectDescribed(method, `/v3/watches${path}`, response.statusCode, response.json());
  return { status: response.statusCode, body: answerSchema.parse(text === "" ? {} : response.json()), text };
}

const NETWORK = { name: "ours", on: { type: "network_seen", networks: ["45.0.0.0/24"] } };

test("a watch is made, read, changed and deleted by its workspace alone, and shows its secret once", async () => {
  const made = await ask("POST", "", {
    ...NETWORK,
    deliver: [{ type: "webhook", url: "https://soar.example.org/hook" }],
  });
  expect(made).toMatchObject({
    status: 201,
    body: {
      ...NETWORK,
      repeat_after_hours: 24,
      enabled: true,
      origin: "api",
      deliver: [{ type: "webhook", format: "standard", secret: expect.stringMatching(/^whsec_/), off: false }],
    },
  });
  const { id, deliver } = made.body;
  const secret = String(deliver[0]?.secret);
  const shown = await ask("GET", `/${id}`);
  expect(shown.text).not.toContain(secret);
  expect((await ask("GET", "")).text).not.toContain(secret);
  const changed = await ask("PATCH", `/${id}`, {
    name: "renamed",
    deliver: [
      { id: deliver[0]?.id, url: "https://soar.example.org/new" },
      { type: "slack", url: "https://hooks.slack.com/services/secret" },
    ],
  });
  expect(changed).toMatchObject({
    status: 200,
    body: {
      name: "renamed",
      since: shown.body.since,
      deliver: [{ id: deliver[0]?.id, url: "https://soar.example.org/new" }, { url: "https://hooks.slack.com/…" }],
    },
  });
  expect(changed.text).not.toContain("secret");
  // A client sends back what it has read.
  const { body } = await ask("GET", `/${id}`);
  const sentBack = await ask("PUT", `/${id}`, body);
  expect(sentBack).toMatchObject({ status: 200, body: { deliver: body.deliver, since: shown.body.since } });
  await world.watches.cache.refresh();
  expect(world.watches.cache.byId(id)?.deliver).toMatchObject([
    { secret },
    { url: "https://hooks.slack.com/services/secret" },
  ]);
  const replaced = await ask("PUT", `/${id}`, { name: "other", on: { type: "sensor_silent", after_minutes: 10 } });
  expect(replaced).toMatchObject({
    status: 200,
    body: { name: "other", on: { sensors: [] }, deliver: [], repeat_after_hours: 0 },
  });
  const others = { key: await world.addCaller("unlimited") };
  expect((await ask("GET", "", undefined, others)).body).toMatchObject({ watches: [] });
  for (const method of ["GET", "DELETE"] as const)
    expect((await ask(method, `/${id}`, undefined, others)).status).toBe(404);
  expect((await ask("GET", "", undefined, { key: "" })).status).toBe(401);
  expect((await ask("DELETE", `/${id}`)).status).toBe(204);
  expect((await ask("GET", `/${id}`)).status).toBe(404);
});

test.each([
  [{}, /name takes 1 to 200 characters/],
  [
    { ...NETWORK, on: { type: "network_seen", networks: ["45.0.0.1/24"] } },
    /on.networks: "45.0.0.1\/24": address has bits set/,
  ],
  [{ ...NETWORK, on: { type: "network_seen", networks: [] } }, /on.networks/],
  [{ ...NETWORK, on: { type: "network_seen", networks: ["2001:db8::/32"] } }, /not an IPv4/],
  [{ ...NETWORK, on: { type: "search_matches", query: "clasification:benign" } }, /no field is called "clasification"/],
  [{ ...NETWORK, on: { type: "tag_rises", tag: "none" } }, /no tag is called "none"/],
  [{ ...NETWORK, on: { type: "new_value", field: "port" } }, /on.field/],
  [{ ...NETWORK, on: { type: "sensor_silent", after_minutes: 1 } }, /on.after_minutes/],
  [{ ...NETWORK, enabld: false }, /enabld is unknown/],
  [{ ...NETWORK, on: { type: "sensor_silent", after_minutes: 9, sensor: ["a"] } }, /on.sensor is unknown/],
  [{ ...NETWORK, deliver: [{ type: "webhook" }] }, /webhook takes url/],
  [{ ...NETWORK, deliver: [{ type: "webhook", url: "http://169.254.169.254/latest" }] }, /link-local/],
  [{ ...NETWORK, deliver: [{ type: "email", to: ["soc@example.org"] }] }, /SMTP_URL/],
  [{ ...NETWORK, deliver: [{ id: "none", type: "slack" }] }, /no destination none/],
])("a watch that cannot work is a 400 that says why: %j", async (body, reason) => {
  const { status, text } = await ask("POST", "", body);
  expect(status).toBe(400);
  expect(text.replaceAll('\\"', '"')).toMatch(reason);
});

test("events come by pages with a cursor, as a stream with Last-Event-ID, as Atom, and by a webhook", async () => {
  const received: string[] = [];
  const receiver = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push(body);
    response.end("taken");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void receiver.close());
  await once(receiver, "listening");
  const address = receiver.address();
  const port = typeof address === "object" ? address?.port : 0;
  const { body } = await ask("POST", "", {
    ...NETWORK,
    name: "<b>ours</b>",
    deliver: [{ type: "webhook", url: `http://127.0.0.1:${port}/` }],
  });
  const { id } = body;
  expect(await ask("POST", `/${id}/test`)).toMatchObject({
    status: 200,
    body: { success: true, status_code: 200, response_body: "taken" },
  });
  await world.watches.look();
  for (const host of [1, 2, 3]) {
    await world.store([observation(`45.0.0.${host}`, Date.now())]);
    await world.watches.look();
  }
  const page = z.object({
    events: z.array(z.object({ id: z.string(), data: z.object({ addresses: z.array(z.object({ ip: z.string() })) }) })),
    cursor: z.string(),
    has_more: z.boolean(),
  });
  const first = page.parse((await ask("GET", `/${id}/events?limit=2`)).body);
  expect(first).toMatchObject({ has_more: true, events: [{}, {}] });
  const rest = page.parse((await ask("GET", `/events?limit=2&after=${first.cursor}`)).body);
  expect(rest.has_more).toBe(false);
  expect([...first.events, ...rest.events].map(({ data }) => data.addresses[0]?.ip)).toEqual([
    "45.0.0.1",
    "45.0.0.2",
    "45.0.0.3",
  ]);
  expect(page.parse((await ask("GET", `/${id}/events?after=${rest.cursor}`)).body)).toMatchObject({
    events: [],
    cursor: rest.cursor,
  });
  const newest = page.parse((await ask("GET", "/events?limit=2&newest=true")).body);
  expect(newest.events.map((event) => event.id)).toEqual([first.events[1]?.id, rest.events[0]?.id]);
  expect(newest).toMatchObject({ cursor: rest.cursor, has_more: false });
  expect((await ask("GET", `/events?newest=true&after=${rest.cursor}`)).status).toBe(400);
  expect((await ask("GET", `/${id}`)).body).toMatchObject({ last_event_at: expect.stringMatching(/Z$/) });

  await eventually(async () => expect(received).toHaveLength(4));
  await eventually(async () =>
    expect((await ask("GET", "")).body).toMatchObject({
      watches: expect.arrayContaining([expect.objectContaining({ id, undelivered: 0 })]),
    }),
  );
  await eventually(async () =>
    expect((await ask("GET", `/${id}/deliveries`)).body).toMatchObject({
      deliveries: [1, 2, 3].map(() => ({ state: "delivered", attempts: 1, last_status: 200, next_attempt_at: "" })),
    }),
  );
  const retried = await ask("POST", `/${id}/deliveries/${first.events[0]?.id}/retry`);
  expect(retried.status).toBe(202);
  await eventually(async () => expect(received).toHaveLength(5));
  expect((await ask("POST", `/${id}/deliveries/none/retry`)).status).toBe(404);

  const app = await world.makeApp();
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const atom = await fetch(`${url}/v3/watches/events.atom`, {
    headers: { authorization: `Basic ${btoa(`any:${key}`)}` },
  });
  expect(atom.headers.get("content-type")).toBe("application/atom+xml; charset=utf-8");
  const titles =
    "import sys, xml.etree.ElementTree as x; print(*[t.text for t in x.parse(sys.stdin).iterfind('.//{*}entry/{*}title')], sep='|')";
  const read = execFileSync("python3", ["-c", titles], { input: await atom.text(), encoding: "utf8" }).trim();
  expect(read.split("|")).toEqual(
    [3, 2, 1].map((host) => `45.0.0.${host} of the watched network 45.0.0.0/24 was seen`),
  );
  const streaming = new AbortController();
  const stream = await fetch(`${url}/v3/watches/events/stream`, {
    headers: { key, "last-event-id": "0.0" },
    signal: streaming.signal,
  });
  expect(stream.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  let text = "";
  for await (const chunk of stream.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.match(/^data: /gm)?.length === 3) break;
  }
  streaming.abort();
  const lines = text.split("\n").filter((line) => line.startsWith("data: "));
  expect(lines.map((line) => JSON.parse(line.slice(6)).id)).toEqual(
    [...first.events, ...rest.events].map((event) => event.id),
  );
});

test("a search that is watched finds only what begins to match", async () => {
  await world.store([observation("46.0.0.1", Date.now() - DAY_MS, { tags: ["mirai"] })]);
  const { body } = await ask("POST", "", { name: "mirai", on: { type: "search_matches", query: "tags:mirai" } });
  await world.store([
    observation("46.0.0.1", Date.now(), { tags: ["mirai"] }),
    observation("46.0.0.2", Date.now(), { tags: ["mirai"] }),
  ]);
  await world.watches.look();
  const events = await ask("GET", `/${body.id}/events`);
  expect(events.body).toMatchObject({
    events: [{ type: "search_matches", data: { count: 1, addresses: [{ ip: "46.0.0.2" }] } }],
  });
});

test("a stream ends when its key is revoked", async () => {
  const app = await world.makeApp();
  if (!app.server.listening) await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const reader = await world.addCaller("unlimited", [], "streaming");
  const stream = await fetch(`${url}/v3/watches/events/stream`, { headers: { key: reader } });
  const ended = stream.text();
  const own = (await credentials.read(world.client)).filter(({ workspaceId }) => workspaceId === "streaming");
  await credentials.write(
    world.client,
    own.map((each) => ({ ...each, isRevoked: true })),
    Date.now(),
  );
  await world.refresh();
  expect(await ended).toMatch(/^retry: 5000\n\n/);
});
