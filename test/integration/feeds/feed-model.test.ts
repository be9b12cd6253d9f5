import { deleteKnownHost, writeKnownHost } from "@noisefloor/clickhouse/callbacks/known-hosts.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { FEED_REFRESHES } from "@noisefloor/clickhouse/client/table-names.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { observation } from "../../support/builders/observation.ts";
import { type Random, seeded } from "../../support/builders/random.ts";
import { atVolume } from "../../support/volume.ts";
import { type FeedProcess, startFeedProcess } from "../../support/worlds/feed-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const WORKSPACE = "workspace-model";
const STEPS = atVolume(12, 400);
const TIMEOUT_MS = 600_000;

type Seen = {
  readonly ip: string;
  readonly at: number;
  readonly tag: string;
  /** Named over a connection, unless the packet may be forged. */
  readonly host?: string;
  readonly isForgeable: boolean;
};
type Definition = {
  readonly of: "visitors" | "callbacks";
  readonly query: string;
  readonly limit: number;
  readonly guard: boolean;
};

type Known = { readonly tags: Set<string>; readonly last: number; readonly isInContact: boolean };

/** Queries, and which addresses they find by the latest time of each address, its tags, and whether it was in contact. */
const QUERIES: Readonly<Record<string, (one: Known, now: number) => boolean>> = {
  "tags:worm": ({ tags }) => tags.has("worm"),
  "tags:worm last_seen:1d": ({ tags, last }, now) => tags.has("worm") && last >= now - DAY,
  "tags:worm OR tags:probe last_seen:6h": ({ tags, last }, now) =>
    tags.has("worm") || (tags.has("probe") && last >= now - 6 * HOUR),
  "NOT tags:worm": ({ tags }) => !tags.has("worm"),
  "spoofable:false": ({ isInContact }) => isInContact,
  "tags:probe spoofable:true": ({ tags, isInContact }) => tags.has("probe") && !isInContact,
};
const NETWORKS = ["45.0.0.0/30", "45.0.0.8/29", "45.0.0.17/32"];

let now = Date.now() - 4 * DAY;
let world: World;
let key: string;
beforeAll(async () => {
  world = await createWorld(() => now);
  await world.addTags([makeTag("worm", "malicious"), makeTag("probe", "suspicious")]);
  key = await world.addCaller("unlimited", undefined, WORKSPACE);
});
afterAll(() => world.close());

const parentsOfSeveral = defineQuery({
  name: "parents-of-several",
  sql: `SELECT count() AS parents FROM (
    SELECT parent FROM ${FEED_REFRESHES} WHERE parent != revision GROUP BY parent HAVING uniqExact(revision) > 1)`,
  params: z.object({}),
  row: z.object({ parents: z.int() }),
});

const numberOf = (ip: string) => Number(ip.split(".")[3]);
const isIn = (network: string, ip: string) => {
  const [first = "", bits = "32"] = network.split("/");
  const start = numberOf(first);
  return numberOf(ip) >= start && numberOf(ip) < start + 2 ** (32 - Number(bits));
};

const isAddress = (host: string) => host.startsWith("45.");
/** Addresses in numeric order, then names. */
const inOrder = (hosts: readonly string[]) => [
  ...hosts.filter(isAddress).sort((host, other) => numberOf(host) - numberOf(other)),
  ...hosts.filter((host) => !isAddress(host)).sort(),
];

type Never = { readonly guards: readonly string[]; readonly knownNames: ReadonlySet<string> };

/** The list by a search through all observations. */
function expectedList(seen: readonly Seen[], { of, query, limit, guard }: Definition, never: Never): string[] {
  const known = new Map<string, Known>();
  for (const { ip, at, tag, host, isForgeable } of seen) {
    const one = known.get(ip) ?? { tags: new Set<string>(), last: 0, isInContact: false };
    const isInContact = one.isInContact || (host !== undefined && !isForgeable);
    known.set(ip, { tags: one.tags.add(tag), last: Math.max(one.last, at), isInContact });
  }
  const isGuarded = (ip: string) => guard && never.guards.some((network) => isIn(network, ip));
  const found = new Map([...known].filter(([, one]) => QUERIES[query]?.(one, now)));
  if (of === "visitors") {
    const newest = [...found]
      .filter(([ip]) => !isGuarded(ip))
      .sort(([ip, one], [otherIp, other]) => other.last - one.last || numberOf(ip) - numberOf(otherIp));
    return inOrder(newest.slice(0, limit).map(([ip]) => ip));
  }
  const named = new Map<string, number>();
  for (const { ip, at, host, isForgeable } of seen) {
    if (host === undefined || isForgeable || !found.has(ip)) continue;
    named.set(host, Math.max(at, named.get(host) ?? 0));
  }
  const newest = [...named]
    .filter(([host]) => (isAddress(host) ? !isGuarded(host) : !never.knownNames.has(host)))
    .sort(([host, last], [other, otherLast]) => otherLast - last || (host < other ? -1 : 1));
  return inOrder(newest.slice(0, limit).map(([host]) => host));
}

const KNOWN = ["raw.githubusercontent.com", "h1.example.org", "h2.example.org"];
/** A host that a command names: an address, or a name that may be a known one. */
const anyHost = (random: Random) =>
  random.chance(0.5) ? `45.0.0.${random.int(0, 40)}` : random.pick([...KNOWN, `h${random.int(1, 30)}.example.org`]);

type Consumer = { list: Set<string>; cursor: string };
const linesOf = (body: string) => body.split("\n").filter((line) => line !== "");

async function read(process: FeedProcess, parameters: string) {
  const response = await process.app.inject({ url: `/v3/feeds/model.txt${parameters}`, headers: { key } });
  expect([response.statusCode, response.body.slice(0, 200)]).toEqual([200, expect.any(String)]);
  return { lines: linesOf(response.body), cursor: String(response.headers["feed-cursor"]) };
}

/** Applies the difference to what the consumer has; every line must change something. */
async function follow(process: FeedProcess, consumer: Consumer): Promise<void> {
  const { lines, cursor } = await read(process, `?since=${consumer.cursor}`);
  for (const line of lines) {
    const ip = line.slice(1);
    expect([line, consumer.list.has(ip)]).toEqual([line, line.startsWith("-")]);
    if (line.startsWith("+")) consumer.list.add(ip);
    else consumer.list.delete(ip);
  }
  consumer.cursor = cursor;
}

async function change(process: FeedProcess, method: "PUT" | "POST" | "DELETE", url: string, payload?: object) {
  const response = await process.app.inject({ method, url, headers: { key }, ...(payload && { payload }) });
  expect([url, response.statusCode]).toEqual([url, expect.toSatisfy((status: number) => status < 300)]);
  return response.body === "" ? undefined : response.json();
}

const randomDefinition = (random: Random): Definition => ({
  of: random.pick(["visitors", "callbacks"]),
  query: random.pick(Object.keys(QUERIES)),
  limit: random.pick([5, 1_000]),
  guard: random.chance(0.8),
});

test(
  "whatever changes, in whichever process, a consumer that follows cursors has the list that a new one gets",
  async () => {
    const random = seeded(62);
    const seen: Seen[] = [];
    const guards = new Map<string, string>();
    const knownNames = new Set(["raw.githubusercontent.com"]);
    const processes = [await startFeedProcess(world, () => now), await startFeedProcess(world, () => now)];
    const any = () => random.pick(processes);
    const lookAll = () => Promise.all(processes.map((process) => process.look()));
    let definition = randomDefinition(random);
    await change(any(), "PUT", "/v3/feeds/model", definition);
    await lookAll();
    const first = await read(any(), "");
    const everyTime: Consumer = { list: new Set(first.lines), cursor: first.cursor };
    const sometimes: Consumer = { list: new Set(first.lines), cursor: first.cursor };

    const parents = async () => (await run(world.client, parentsOfSeveral, {}))[0]?.parents ?? 0;
    // Whether two processes store a revision at the same moment is chance: the steps go on until it happened.
    for (let step = 0; step < STEPS || (step < 10 * STEPS && (await parents()) === 0); step++) {
      const kind = random.int(0, 9);
      if (kind < 5) {
        const found = Array.from({ length: random.int(1, 6) }, () => ({
          ip: `45.0.0.${random.int(0, 40)}`,
          at: now - random.int(0, 12) * HOUR - step,
          tag: random.pick(["worm", "probe", "probe"]),
          isForgeable: random.chance(0.2),
          ...(random.chance(0.6) && { host: anyHost(random) }),
        }));
        seen.push(...found);
        const { rejected } = await world.store(
          found.map(({ ip, at, tag, host, isForgeable }) => {
            const urls = host === undefined ? [] : [`http://${host}/bins.sh`];
            return observation(ip, at, { tags: [tag], urls, transport: isForgeable ? "udp" : "tcp" });
          }),
        );
        expect(rejected).toEqual([]);
      } else if (kind === 5) {
        definition = randomDefinition(random);
        await change(any(), "PUT", "/v3/feeds/model", definition);
      } else if (kind === 6) {
        const network = random.pick(NETWORKS);
        const id = guards.get(network);
        // A list that a process has just read may lack what another one has just written.
        await lookAll();
        if (id === undefined) {
          guards.set(network, (await change(any(), "POST", "/v3/guard", { network })).id);
        } else {
          await change(any(), "DELETE", `/v3/guard/${id}`);
          guards.delete(network);
        }
      } else if (kind === 8) {
        const known = { workspaceId: WORKSPACE, host: random.pick(KNOWN.slice(1)), note: "", createdAt: now };
        const isKnown = knownNames.delete(known.host);
        if (!isKnown) knownNames.add(known.host);
        await (isKnown ? deleteKnownHost : writeKnownHost)(world.client, known, now);
      } else if (kind === 7) {
        const index = random.int(0, 1);
        await processes[index]?.stop();
        processes[index] = await startFeedProcess(world, () => now);
      }
      now += random.pick([1_000, 100_000, 3 * HOUR]);
      if (random.chance(0.3)) {
        // Both refresh at the same time: one of the two revisions is the newest, and both can be followed.
        const [one, other] = await Promise.all(processes.map((process) => read(process, "")));
        if (one !== undefined && other !== undefined && random.chance(0.5)) {
          const taken = random.pick([one, other]);
          Object.assign(sometimes, { list: new Set(taken.lines), cursor: taken.cursor });
        }
      }
      await lookAll();
      now += 100_000;
      const process = any();
      await follow(process, everyTime);
      const fresh = await read(process, "");
      const expected = expectedList(seen, definition, { guards: [...guards.keys()], knownNames });
      expect([step, fresh.lines]).toEqual([step, expected]);
      expect([step, [...everyTime.list].sort()]).toEqual([step, expected.toSorted()]);
      if (random.chance(0.2)) {
        await follow(any(), sometimes);
        await follow(process, sometimes);
        expect([step, [...sometimes.list].sort()]).toEqual([step, expected.toSorted()]);
      }
    }
    await Promise.all(processes.map((process) => process.stop()));
    expect(await parents(), "two processes made revisions of the same one").toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
