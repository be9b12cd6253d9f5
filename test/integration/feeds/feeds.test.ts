import { credentials } from "@noisefloor/clickhouse/access/credentials.ts";
import { feedDefinitions } from "@noisefloor/clickhouse/feeds/definitions.ts";
import { guardNetworks } from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import { parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { failOnHeaderFaults } from "../../support/oracle/answer-headers.ts";
import { type FeedProcess, startFeedProcess } from "../../support/worlds/feed-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const DAY = 24 * 60 * 60 * 1000;
/** A completed handshake, without which ready-made feeds list no address. */
const IN_CONTACT = { transport: "tcp", established: true } as const;
let now = Date.now();
let world: World;
let key: string;
failOnHeaderFaults();

beforeAll(async () => {
  world = await createWorld(() => now, { ownAddresses: ["45.0.0.9", "45.7.7.9/24"] });
  await world.addTags([makeTag("mirai", "malicious"), makeTag("crawler", "benign"), makeTag("flood", "suspicious")]);
  await world.store([
    observation("45.0.0.1", now - 60_000, {
      ...IN_CONTACT,
      tags: ["mirai"],
      country: "DE",
      asn: 64_500,
      organization: "=Ex, Ample",
    }),
    observation("45.0.0.2", now - 2 * DAY, { ...IN_CONTACT, tags: ["mirai"] }),
    observation("45.0.0.9", now - 60_000, { ...IN_CONTACT, tags: ["mirai"] }),
    observation("200.0.0.1", now - 60_000, { ...IN_CONTACT, tags: ["crawler"] }),
  ]);
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

type Sent = { readonly method?: "GET" | "HEAD" | "PUT" | "POST" | "DELETE"; readonly payload?: object };
async function ask(path: string, headers: Record<string, string> = { key }, { method = "GET", payload }: Sent = {}) {
  const response = await world.app.inject({ method, url: path, headers, ...(payload && { payload }) });
  const { statusCode: status, headers: fields, body } = response;
  return { status, fields, body, json: () => response.json() };
}
const put = (name: string, payload: object) => ask(`/v3/feeds/${name}`, { key }, { method: "PUT", payload });

test("a feed is created, listed, read, replaced and deleted", async () => {
  const created = await put("bots", { query: "tags:mirai" });
  expect(created.status).toBe(201);
  const feed = created.json();
  expect(feed).toMatchObject({
    name: "bots",
    query: "tags:mirai",
    days: 0,
    limit: 100_000,
    ttl_hours: 24,
    guard: true,
  });
  expect(feed).toMatchObject({ enabled: true, ready_made: false, count: 2, guarded: 1, truncated: false });
  expect((await ask("/v3/feeds/bots")).json()).toEqual(feed);
  const listed = (await ask("/v3/feeds")).json();
  expect(listed.feeds.map(({ name }: { name: string }) => name)).toEqual(["bots", "recent", "persistent", "callbacks"]);
  expect(listed.feeds[0]).toEqual(feed);
  const txt = await ask("/v3/feeds/bots.txt");
  expect(txt).toMatchObject({ status: 200, body: "45.0.0.1\n45.0.0.2\n" });
  expect(txt.fields).toMatchObject({ "content-type": "text/plain; charset=utf-8", "feed-cursor": feed.cursor });
  now += 1_000;
  const replaced = await put("bots", { query: "tags:mirai last_seen:1d", limit: 10 });
  expect(replaced.status).toBe(200);
  expect(replaced.json()).toMatchObject({ id: feed.id, created_at: feed.created_at, count: 1, limit: 10 });
  expect((await ask("/v3/feeds/bots.txt")).body).toBe("45.0.0.1\n");
  expect((await ask(`/v3/feeds/bots.txt?since=${feed.cursor}`)).body).toBe("-45.0.0.2\n");
  const typed = { key, "content-type": "text/plain" };
  expect((await ask("/v3/feeds/bots", typed, { method: "DELETE", payload: {} })).status).toBe(204);
  expect((await ask("/v3/feeds/bots")).status).toBe(404);
  expect((await ask("/v3/feeds/bots.txt")).json()).toEqual({ message: "Feed not found" });
});

test("a feed whose query can match nothing is made, and says so as validate does", async () => {
  const query = "tags:Mirrai last_seen:7d";
  const made = await put("typo", { query });
  expect(made.status).toBe(201);
  const validated = await ask("/v3/gnql/validate", { key }, { method: "POST", payload: { query } });
  expect(made.json().warnings).toEqual(validated.json().warnings);
  expect(made.json().warnings).not.toEqual([]);
  expect((await put("typo", { query: "tags:mirai" })).json()).not.toHaveProperty("warnings");
});

test("a deleted feed is gone for its tokens in every protocol, until a feed of its name is made", async () => {
  await put("ended", { query: "tags:mirai" });
  const { token } = (
    await ask("/v3/feeds/ended/tokens", { key }, { method: "POST", payload: { label: "edge" } })
  ).json();
  const urls = ["/v3/feeds/ended", "/v3/feeds/ended.txt", "/v3/feeds/ended.json", "/v3/feeds/ended/misp/manifest.json"];
  const all = async () => {
    const bouncer = await ask("/v1/decisions/stream?startup=true", { "x-api-key": token });
    const platform = await ask("/taxii2/root/collections/", { key: token });
    const lists = await Promise.all(urls.map((url) => ask(url, { key: token })));
    return [bouncer, platform, ...lists];
  };
  expect((await all()).map(({ status }) => status)).toEqual(Array(6).fill(200));
  const typed = { key, "content-type": "application/json" };
  expect((await ask("/v3/feeds/ended", typed, { method: "DELETE" })).status).toBe(204);
  for (const { status, json } of await all()) {
    expect({ status, body: json() }).toMatchObject({ status: 410, body: { message: "This feed was deleted" } });
  }
  expect((await ask("/v3/feeds/ended.txt", { key: "nff_none" })).status).toBe(401);
  await put("ended", { query: "tags:mirai" });
  expect((await ask("/v3/feeds/ended.txt", { key: token })).status).toBe(401);
});

test("forms say the same addresses, with what is known of each", async () => {
  await put("forms", { query: "tags:mirai" });
  const item = {
    ip: "45.0.0.1",
    classification: "malicious",
    tags: ["mirai"],
    organization: "=Ex, Ample",
    country: "DE",
  };
  const json = (await ask("/v3/feeds/forms.json")).json();
  expect(json).toMatchObject({ feed: "forms", count: 2, truncated: false, items: [item, { ip: "45.0.0.2" }] });
  const csv = (await ask("/v3/feeds/forms.csv")).body.split("\r\n");
  expect(csv[0]).toBe("ip,first_seen,last_seen,classification,tags,asn,organization,country,spoofable");
  expect(csv[1]).toMatch(/^45\.0\.0\.1,.*,malicious,mirai,(?:AS)?64500,"'=Ex, Ample",DE,false$/);
  const unknown = await ask("/v3/feeds/forms.exe");
  expect([unknown.status, unknown.json().message]).toEqual([404, expect.stringMatching(/txt, csv, ndjson, json, nft/)]);
});

test("the categories of reputation lists are the same for all feeds, and need a key", async () => {
  const { status, body, fields } = await ask("/v3/feeds/iprep-categories.csv");
  expect([status, fields["content-type"]]).toEqual([200, "text/csv; charset=utf-8"]);
  expect(body.split("\n")[0]).toBe("1,NFMalicious,Seen scanning with malicious intent");
  expect((await ask("/v3/feeds/iprep-categories.csv", {})).status).toBe(401);
});

test("an unchanged list is a 304, in every form, and HEAD says the same as GET", async () => {
  await put("same", { query: "tags:mirai" });
  for (const form of ["txt", "json", "nft"]) {
    const path = `/v3/feeds/same.${form}`;
    const first = await ask(path);
    const etag = String(first.fields.etag);
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    now += 100_000;
    const again = await ask(path, { key, "if-none-match": etag });
    expect([again.status, again.body, again.fields.etag]).toEqual([304, "", etag]);
    const head = await ask(path, { key }, { method: "HEAD" });
    expect([head.status, head.body, head.fields.etag, head.fields["content-length"]]).toEqual([
      200,
      "",
      etag,
      first.fields["content-length"],
    ]);
    expect((await ask(path, { key, "if-none-match": '"other"' })).status).toBe(200);
  }
});

test("since is refused where it is no cursor, too old, or of another feed", async () => {
  const { cursor } = (await put("cursors", { query: "tags:mirai" })).json();
  expect(await ask(`/v3/feeds/cursors.txt?since=${cursor}`)).toMatchObject({ status: 200, body: "" });
  for (const since of ["x", `${cursor}A`, "../etc", cursor.slice(1)]) {
    expect((await ask(`/v3/feeds/cursors.txt?since=${encodeURIComponent(since)}`)).status, since).toBe(400);
  }
  const message = "This cursor is older than the changes that are kept: ask without since";
  const other = (await put("cursors-too", { query: "tags:mirai" })).json().cursor;
  const unknown = await ask(`/v3/feeds/cursors.txt?since=${other}`);
  expect([unknown.status, unknown.json()]).toEqual([410, { message }]);
  expect((await ask(`/v3/feeds/cursors.iprep?since=${cursor}`)).status).toBe(400);
});

test("a cursor holds for seven days after its list was replaced, also in a process that has just started", async () => {
  const { cursor } = (await put("week", { query: "tags:mirai" })).json();
  now += 1_000;
  await put("week", { query: "tags:crawler" });
  const sinceIn = async (app: FeedProcess["app"]) =>
    (await app.inject({ url: `/v3/feeds/week.txt?since=${cursor}`, headers: { key } })).statusCode;
  now += 7 * DAY - 10_000;
  const other = await startFeedProcess(world, () => now);
  expect([await sinceIn(world.app), await sinceIn(other.app)]).toEqual([200, 200]);
  now += 20_000;
  expect([await sinceIn(world.app), await sinceIn(other.app)]).toEqual([410, 410]);
  await other.stop();
  now -= 7 * DAY + 10_000;
});

test("more than the limit: those seen last, said so", async () => {
  const { truncated, count } = (
    await put("few", { query: "tags:mirai OR tags:crawler", limit: 2, guard: false })
  ).json();
  expect([count, truncated]).toEqual([2, true]);
  const list = await ask("/v3/feeds/few.txt");
  expect(list.fields["feed-truncated"]).toBe("true");
  expect(list.body).toBe("45.0.0.1\n45.0.0.9\n");
});

test("what is guarded is in no feed, and the guard says why", async () => {
  const network = parseNetwork("200.0.0.0/24");
  if (typeof network === "string") throw new Error(network);
  const list = {
    listId: "x",
    category: "",
    description: "",
    explanation: "",
    reference: "",
    priority: 0,
    networks: [network],
  };
  await world.replaceNetworks("service", [{ ...list, name: "A cloud", trustLevel: "3" }]);
  await put("guarded", { query: "*" });
  const addresses = async () => (await ask("/v3/feeds/guarded.txt")).body;
  expect(await addresses()).toBe("45.0.0.1\n45.0.0.2\n200.0.0.1\n");
  await world.replaceNetworks("service", [{ ...list, name: "A resolver", trustLevel: "1" }]);
  now += 100_000;
  expect(await addresses()).toBe("45.0.0.1\n45.0.0.2\n");
  const guard = { network: "45.0.0.2/31", note: "a partner" };
  const added = await ask("/v3/guard", { key }, { method: "POST", payload: guard });
  expect(added).toMatchObject({ status: 201 });
  const stored = added.json();
  expect((await ask("/v3/guard")).json()).toEqual({ networks: [stored] });
  expect(await addresses()).toBe("45.0.0.1\n");
  const why = async (ip: string) => (await ask(`/v3/guard?ip=${ip}`)).json();
  const none = { name: "", network: "", note: "", attacked: false };
  expect(await why("45.0.0.1")).toEqual({ ip: "45.0.0.1", guarded: false, reason: "", ...none });
  expect(await why("45.0.0.2")).toEqual({ ip: "45.0.0.2", guarded: true, reason: "network", ...none, ...guard });
  expect(await why("45.0.0.9")).toMatchObject({ guarded: true, reason: "own_address" });
  expect(await why("45.7.7.200")).toMatchObject({ guarded: true, reason: "own_address" });
  expect(await why("200.0.0.1")).toMatchObject({ guarded: true, reason: "service", name: "A resolver" });
  expect((await ask("/v3/guard", { key }, { method: "POST", payload: { network: "45.0.0.1/24" } })).status).toBe(400);
  expect((await ask("/v3/guard?ip=x")).status).toBe(400);
  expect(
    (await ask(`/v3/guard/${stored.id}`, { key: await world.addCaller("unlimited") }, { method: "DELETE" })).status,
  ).toBe(404);
  expect((await ask(`/v3/guard/${stored.id}`, { key }, { method: "DELETE" })).status).toBe(204);
  now += 1;
  expect(await addresses()).toBe("45.0.0.1\n45.0.0.2\n");
  await world.replaceNetworks("service", [{ ...list, name: "A cloud", trustLevel: "3" }]);
});

test("a token reads its feed and nothing else, until it is revoked", async () => {
  await put("edge", { query: "tags:mirai" });
  await put("core", { query: "tags:mirai" });
  const made = await ask("/v3/feeds/edge/tokens", { key }, { method: "POST", payload: { label: "edge" } });
  expect(made.status).toBe(201);
  const { id, token, url } = made.json();
  expect(url).toMatch(new RegExp(`/v3/feeds/edge\\.txt\\?token=${token}$`));
  const basic = `Basic ${Buffer.from(`anyone:${token}`).toString("base64")}`;
  for (const headers of [{ key: token }, { authorization: `Bearer ${token}` }, { authorization: basic }]) {
    expect((await ask("/v3/feeds/edge.txt", headers)).status).toBe(200);
    expect((await ask("/v3/feeds/core.txt", headers)).status).toBe(403);
  }
  expect((await ask(`/v3/feeds/edge.txt?token=${token}`, {})).body).toBe("45.0.0.1\n45.0.0.2\n");
  expect((await ask(`/v3/feeds/edge.txt?token=${key}`, {})).status).toBe(401);
  expect((await ask("/v3/feeds/edge.txt", {})).status).toBe(401);
  for (const path of ["/v3/feeds", "/v3/guard", "/v3/ip/45.0.0.1", "/v3/feeds/edge/tokens"]) {
    expect((await ask(path, { key: token })).status, path).toBe(401);
  }
  const { tokens } = (await ask("/v3/feeds/edge/tokens")).json();
  expect(tokens).toEqual([{ id, label: "edge", created_at: expect.any(String), last_used_at: expect.any(String) }]);
  expect((await ask(`/v3/feeds/edge/tokens/${id}`, { key }, { method: "DELETE" })).status).toBe(204);
  expect((await ask("/v3/feeds/edge.txt", { key: token })).status).toBe(401);
});

test("a workspace sees its own feeds alone", async () => {
  await put("mine", { query: "tags:mirai" });
  const other = await world.addCaller("community");
  expect((await ask("/v3/feeds/mine.txt", { key: other })).status).toBe(404);
  const theirs = { method: "PUT", payload: { query: "tags:crawler" } } as const;
  expect((await ask("/v3/feeds/mine", { key: other }, theirs)).status).toBe(201);
  expect((await ask("/v3/feeds/mine.txt", { key: other })).body).toBe("200.0.0.1\n");
  expect((await ask("/v3/feeds/mine.txt")).body).toBe("45.0.0.1\n45.0.0.2\n");
});

const feedItems = z.object({ items: z.array(z.object({ ip: z.string(), spoofable: z.boolean() })) });

test("ready-made feeds need no definition, and cannot be changed", async () => {
  expect((await ask("/v3/feeds/recent.txt")).body).toBe("45.0.0.1\n45.0.0.2\n");
  expect((await ask("/v3/feeds/tag-crawler.txt")).body).toBe("200.0.0.1\n");
  expect((await ask("/v3/feeds/persistent.txt")).body).toBe("");
  expect((await ask("/v3/feeds/tag-nothing.txt")).status).toBe(404);
  expect((await put("recent", { query: "*" })).status).toBe(409);
  expect((await ask("/v3/feeds/recent", { key }, { method: "DELETE" })).status).toBe(409);
});

test("ready-made feeds leave out what could be forged, and say how many, unless they are told to list it", async () => {
  await world.store([
    observation("45.4.0.1", now - 60_000, { transport: "tcp", tags: ["flood"] }),
    observation("45.4.0.2", now - 60_000, { transport: "udp", established: true, tags: ["flood"] }),
    observation("45.4.0.3", now - 60_000, { ...IN_CONTACT, tags: ["flood"] }),
  ]);
  now += 120_000;
  const items = async (name: string, of = world.app) => {
    const { body } = await of.inject({ url: `/v3/feeds/${name}.json`, headers: { key } });
    return feedItems.parse(JSON.parse(body)).items.map(({ ip, spoofable }) => `${ip} ${spoofable}`);
  };
  const leftOut = async (name: string, of = world.app) =>
    (await of.inject({ url: `/v3/feeds/${name}`, headers: { key } })).json().left_out_spoofable;
  expect(await items("tag-flood")).toEqual(["45.4.0.3 false"]);
  expect(await leftOut("tag-flood")).toBe(2);
  await put("own", { query: "tags:flood" });
  expect(await items("own")).toEqual(["45.4.0.1 true", "45.4.0.2 true", "45.4.0.3 false"]);
  expect(await leftOut("own")).toBe(0);
  const csv = (await ask("/v3/feeds/own.csv")).body.split("\r\n");
  expect(csv[0]).toMatch(/,country,spoofable$/);
  expect(csv.slice(1, 4).map((line) => line.split(",").at(-1))).toEqual(["true", "true", "false"]);
  const { objects } = (await ask("/v3/feeds/own.stix")).json();
  const labels = objects.flatMap((object: { labels?: string[] }) => (object.labels ? [object.labels] : []));
  expect(labels).toEqual([["flood", "spoofable"], ["flood", "spoofable"], ["flood"]]);
  now += 120_000;
  const listing = await startFeedProcess(world, () => now, { listsSpoofable: true });
  expect(await items("tag-flood", listing.app)).toHaveLength(3);
  expect(await leftOut("tag-flood", listing.app)).toBe(0);
  await listing.stop();
  await ask("/v3/feeds/own", { key }, { method: "DELETE" });
});

test("bad definitions are refused, with the place of each error of the query", async () => {
  const wrong = await put("bad", { query: "clasification:malicious" });
  expect([wrong.status, wrong.json().errors]).toEqual([400, [expect.objectContaining({ position: 0, length: 13 })]]);
  const half = await put("bad", { query: "path:/a\ud800" });
  expect([half.status, half.json().errors]).toEqual([400, [expect.objectContaining({ position: 7, length: 1 })]]);
  expect((await put("halves", { query: "*", enabled: false })).status).toBe(201);
  const texts = [
    ["/v3/guard", { network: "45.0.9.0/24", note: "\udc00" }],
    ["/v3/feeds/halves/tokens", { label: "\ud800" }],
  ] as const;
  for (const [path, payload] of texts) {
    expect((await ask(path, { key }, { method: "POST", payload })).status, path).toBe(400);
  }
  const bad = [
    { query: "*", description: "\ud800" },
    {},
    { query: "*", limit: 0 },
    { query: "*", limit: 1_000_001 },
    { query: "*", days: 91 },
    { query: 1 },
  ];
  for (const payload of bad) expect((await put("bad", payload)).status, JSON.stringify(payload)).toBe(400);
  for (const name of [
    "Events",
    "events",
    "iprep-categories",
    "tag-mine",
    "-a",
    "a".repeat(64),
    "8a55b4b0-8b8e-5b52-9e5a-6f1c0d0c8a11",
  ]) {
    expect((await put(name, { query: "*" })).status, name).toBe(400);
  }
  expect((await ask("/v3/feeds/bad")).status).toBe(404);
  expect((await ask("/v3/feeds", {})).status).toBe(401);
});

test("a disabled feed is gone until it is enabled again", async () => {
  await put("off", { query: "tags:mirai", enabled: false });
  expect((await ask("/v3/feeds/off.txt")).status).toBe(410);
  await put("off", { query: "tags:mirai" });
  expect((await ask("/v3/feeds/off.txt")).body).toBe("45.0.0.1\n45.0.0.2\n");
});

test("a search by the query of a feed finds what the feed lists, and what its guard holds back", async () => {
  const seenOn = (ip: string, days: number) =>
    Array.from({ length: days }, (_, day) => observation(ip, now - day * DAY, { ...IN_CONTACT, tags: ["mirai"] }));
  await world.store([...seenOn("45.3.0.1", 10), ...seenOn("45.3.0.2", 9), ...seenOn("45.3.0.3", 14)]);
  now += 120_000;
  for (const name of ["persistent", "recent", "tag-mirai", "tag-crawler"]) {
    const { query, days } = (await ask(`/v3/feeds/${name}`)).json();
    const listed: string[] = (await ask(`/v3/feeds/${name}.txt`)).body.trim().split("\n");
    const { addresses } = (await ask(`/v3/feeds/${name}/guarded`)).json();
    const search = new URLSearchParams({ query, ...(days > 0 && { days: String(days) }) });
    const { ips } = (await ask(`/v3/gnql/ips?${search}`)).json();
    expect(ips.toSorted(), name).toEqual([...listed, ...addresses.map(({ ip }: { ip: string }) => ip)].sort());
    const first = (await ask(`/v3/feeds/${name}/addresses?limit=1`)).json();
    expect([first.count, first.addresses.map(({ ip }: { ip: string }) => ip)]).toEqual([
      listed.length,
      listed.slice(0, 1),
    ]);
  }
  expect((await ask("/v3/feeds/persistent.txt")).body).toBe("45.3.0.1\n45.3.0.3\n");
});

test("what was deleted is forgotten long after, and never comes back by that", async () => {
  const rowsOf = async (table: string) => {
    const answer = await world.client.query({ query: `SELECT count() AS rows FROM ${table}`, format: "JSONEachRow" });
    return z.array(z.object({ rows: z.int() })).parse(await answer.json())[0]?.rows;
  };
  await put("ended", { query: "tags:mirai" });
  const { token, id } = (
    await ask("/v3/feeds/ended/tokens", { key }, { method: "POST", payload: { label: "" } })
  ).json();
  for (const network of ["45.0.5.0/24", "45.0.6.0/24"]) {
    const guard = (await ask("/v3/guard", { key }, { method: "POST", payload: { network } })).json();
    expect((await ask(`/v3/guard/${guard.id}`, { key }, { method: "DELETE" })).status).toBe(204);
  }
  expect((await ask("/v3/feeds/ended", { key }, { method: "DELETE" })).status).toBe(204);
  const { feeds } = (await ask("/v3/feeds")).json();
  const later = async (days: number) => {
    const at = Math.max(now, Date.now()) + days * 24 * 60 * 60_000;
    const all = [credentials, feedDefinitions, guardNetworks].map((records) => records.forgetDeleted(world.client, at));
    return (await Promise.all(all)).reduce((sum, forgotten) => sum + forgotten);
  };
  expect(await later(30)).toBe(0);
  expect(await later(91)).toBeGreaterThan(0);
  expect(await later(91)).toBe(0);
  // The newest change of a workspace stays, whatever it was.
  expect(await rowsOf("guard_networks WHERE is_deleted")).toBe(1);
  expect(await rowsOf("feeds WHERE is_deleted")).toBe(0);
  expect(await rowsOf(`credentials WHERE id = '${id}' AND is_revoked`)).toBeGreaterThan(0);
  await later(401);
  expect(await rowsOf(`credentials WHERE id = '${id}'`)).toBe(0);
  expect((await ask("/v3/feeds")).json().feeds).toEqual(feeds);
  expect((await ask("/v3/feeds/ended.txt", { key: token })).status).toBe(401);
});
