import { NO_BLOCKS } from "@noisefloor/clickhouse/changes/observation-changes.ts";
import { askServers } from "@noisefloor/clickhouse/client/ask-servers.ts";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { readSightingsAfter } from "@noisefloor/clickhouse/tags/address-tags.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { INTENTIONS, type Intention } from "@noisefloor/domain/tags/classification.ts";
import { CONTACT } from "@noisefloor/domain/tags/contact.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { cacheBenignNetworks } from "@noisefloor/query/address/benign-networks.ts";
import { findInMemory, lookUpInMemory } from "@noisefloor/query/address/memory-lookup.ts";
import type { LookUpAddress } from "@noisefloor/query/address/records.ts";
import type { SightingsCacheOptions } from "@noisefloor/query/address-index/sightings-cache.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  ACTOR_NETWORK,
  type Marked,
  makeMarked,
  makeScopes,
  onlyIn,
  SERVICE_NETWORK,
  SHARED_ADDRESSES,
  toWire,
} from "../../support/builders/marked-observations.ts";
import { networkList } from "../../support/builders/network-list.ts";
import { seeded } from "../../support/builders/random.ts";
import { eventually } from "../../support/eventually.ts";
import { expectedCode, expectedCommunity, expectedQuick, type Known } from "../../support/oracle/address-oracle.ts";
import { rfc3339 } from "../../support/oracle/oracle.ts";
import { atVolume } from "../../support/volume.ts";
import { startIndex } from "../../support/worlds/address-index.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { createWorld, makeTag, RETENTION_DAYS, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const DAY = 24 * 3_600_000;
const SCOPES = makeScopes(["acme"]);
/** By slug, which observations refer to. */
const makeTags = () => [
  ...INTENTIONS.map((intention, index) => makeTag(`everywhere-${index}`, intention)),
  ...SCOPES.map((scope) => makeTag(onlyIn(scope), "suspicious")),
];
const SERVICE = {
  category: "public_dns",
  name: "Some DNS",
  description: "Resolvers.",
  explanation: "They resolve.",
  last_updated: rfc3339(NOW),
  reference: "https://example.org",
  trust_level: "2",
};

let world: World;
let now = NOW;
let key: string;
beforeAll(async () => {
  world = await createWorld(() => now);
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

const inStore = (): LookUpAddress => async () => {
  throw new Error("ClickHouse was asked");
};

/** The query interface over an index of its own that polls often. */
async function openIndexed(more: Partial<SightingsCacheOptions> = {}, store: LookUpAddress = inStore()) {
  const sightings = await startIndex(world, {
    limit: 1_000_000,
    retentionDays: () => RETENTION_DAYS,
    now: () => now,
    intervalMs: 200,
    ...more,
  });
  const networks = await cacheBenignNetworks(world.client, { intervalMs: 200 });
  const app = await makeApp([], (made, metrics) => world.register(made, metrics, { index: sightings, networks }));
  return {
    sightings,
    networks,
    lookUp: lookUpInMemory(findInMemory(sightings, { networks }), store),
    async community(ip: string) {
      const response = await app.inject({ url: `/v3/community/${ip}`, headers: { key } });
      return { status: response.statusCode, body: response.json() };
    },
    /** The answers of the operations for many addresses. */
    async many(ips: readonly string[]) {
      const post = async (url: string) => {
        const response = await app.inject({ method: "POST", url, headers: { key }, payload: { ips } });
        expect(response.statusCode).toBe(200);
        return response.json();
      };
      return { quick: await post("/v3/ip?quick=true"), codes: await post("/v2/noise/multi/quick") };
    },
    /** Waits until everything stored before this call shows. */
    async catchUp() {
      const start = performance.now();
      await eventually(async () => {
        expect(sightings.isCurrent()).toBe(true);
        expect(sightings.ageSeconds()).toBeLessThan((performance.now() - start) / 1_000);
        await networks.refresh();
      });
    },
    async close() {
      await sightings.stop();
      networks.stop();
      await app.close();
    },
  };
}

function intend(tag: Tag, intention: Intention): Tag {
  return { ...tag, intention };
}

test.each(atVolume([1], [1, 2, 3]))(
  "lookups from memory equal the oracle's, whatever was stored, changed or expired meanwhile (seed %i)",
  async (seed) => {
    const random = seeded(seed);
    now = NOW;
    const carried = makeTags();
    let tags = carried.map((tag) => ({ ...tag, slug: `${tag.slug}-of-${seed}` }));
    await world.addTags(tags);
    const shift = (ip: string) => ip.replace(/^4(\d)\./, `${seed + 4}$1.`);
    const seen: Marked[] = [];
    let lists: Pick<Known, "serviceOf" | "actorOf"> = { serviceOf: () => undefined, actorOf: () => undefined };
    const store = async (count: number) => {
      const more = makeMarked(random, { scopes: SCOPES, tags: carried, count, now: NOW }).map((one, index) => ({
        ...one,
        ip: shift(one.ip),
        observationId: `${seed}-${seen.length + index}`,
      }));
      await world.store(more.map(toWire));
      seen.push(...more);
    };
    await store(150);
    const indexed = await openIndexed();
    const addresses = [...SHARED_ADDRESSES.map(shift), shift("45.9.0.1"), "46.1.0.0"];
    const assertAnswers = async (what: string) => {
      await indexed.catchUp();
      const known: Known = {
        seen: seen.filter(({ dataset, at }) => dataset === "global" && at >= now - RETENTION_DAYS * DAY),
        tags,
        ...lists,
      };
      for (const ip of addresses)
        expect(await indexed.community(ip), `${what}: ${ip}`).toEqual(expectedCommunity(ip, known));
      const { quick, codes } = await indexed.many(addresses);
      const isFound = (ip: string) => expectedCommunity(ip, known).status === 200;
      expect(quick.data, what).toEqual(addresses.filter(isFound).map((ip) => expectedQuick(ip, known)));
      expect(quick.request_metadata.ips_not_found, what).toEqual(addresses.filter((ip) => !isFound(ip)));
      expect(codes, what).toEqual(addresses.map((ip) => expectedCode(ip, known)));
    };
    try {
      await assertAnswers("loaded");
      await store(60);
      await assertAnswers("after more observations, of old times too");
      tags = tags.map((tag) => intend(tag, random.pick(INTENTIONS)));
      await tagRecords.write(world.client, tags, Date.now());
      await assertAnswers("after tags have changed their intention");
      const service = shift(SERVICE_NETWORK);
      const actor = shift(ACTOR_NETWORK);
      const { last_updated: _, trust_level: trustLevel, ...described } = SERVICE;
      await world.replaceNetworks("service", [networkList("dns", [service], { ...described, trustLevel })]);
      await world.replaceNetworks("actor", [networkList("census", [actor], { name: "Census" })]);
      lists = {
        serviceOf: (ip) => (ip.startsWith(shift("45.1.0.")) ? SERVICE : undefined),
        actorOf: (ip) => (ip.startsWith(shift("45.2.0.")) ? "Census" : undefined),
      };
      await assertAnswers("after networks were imported");
      for (const days of [20, 60, 105]) {
        now = NOW + days * DAY + random.int(0, DAY);
        await assertAnswers(`${days} days later`);
      }
    } finally {
      await indexed.close();
    }
  },
);

test("rows that this process has stored show immediately, before the next poll", async () => {
  now = NOW;
  const indexed = await openIndexed({ intervalMs: 60_000, maxAgeMs: 60_000 });
  try {
    await eventually(async () => expect(indexed.sightings.isCurrent()).toBe(true));
    const ip = "49.0.0.1";
    expect((await indexed.community(ip)).status).toBe(404);
    indexed.sightings.record(ipv4ToNumber(ip), 4, NOW);
    expect(await indexed.community(ip)).toMatchObject({ status: 200, body: { classification: "malicious" } });
    // The store does not have it.
    const { quick, codes } = await indexed.many([ip]);
    expect([quick.data.length, codes[0].code]).toEqual([1, "0x02"]);
    indexed.sightings.record(ipv4ToNumber(ip), CONTACT, NOW);
    expect((await indexed.many([ip])).codes[0].code).toBe("0x01");
  } finally {
    await indexed.close();
  }
});

test("lookups query ClickHouse while the addresses are loaded, beyond the limit, and when the index is stale", async () => {
  now = NOW;
  const asked: string[] = [];
  const store: LookUpAddress = async (ip) => {
    asked.push(ip);
    return {};
  };
  const tooMany = await openIndexed({ limit: 3 }, store);
  const old = await openIndexed({ intervalMs: 60_000, maxAgeMs: 1 }, store);
  try {
    await tooMany.lookUp("45.0.0.1");
    expect(asked).toEqual(["45.0.0.1"]);
    await eventually(async () => expect(tooMany.sightings.state()).toBe("too-large"));
    expect([tooMany.sightings.size(), tooMany.sightings.bytes(), tooMany.sightings.ageSeconds()]).toEqual([0, 0, 0]);
    await tooMany.lookUp("45.0.0.2");
    await eventually(async () => expect(old.sightings.state()).toBe("loaded"));
    await eventually(async () => expect(old.sightings.isCurrent()).toBe(false));
    await old.lookUp("45.0.0.3");
    expect(asked).toEqual(["45.0.0.1", "45.0.0.2", "45.0.0.3"]);
  } finally {
    await tooMany.close();
    await old.close();
  }
});

/** The numbers of blocks belong to a server: of a cluster, this is the first. */
const openServer = (url = world.connection.url) =>
  connect({ ...world.connection, url, cluster: undefined }, "noisefloor-tests");

test("no change is missed by reading on from the last block while many inserts end together", async () => {
  const [writers, inserts, base] = [6, atVolume(6, 25), ipv4ToNumber("52.0.0.0")];
  const server = openServer();
  const seen = new Set<number>();
  let { blocks } = await readSightingsAfter(server, NO_BLOCKS);
  const readOn = async () => {
    const changes = await readSightingsAfter(server, blocks);
    for (const address of changes.addresses) seen.add(address);
    blocks = changes.blocks;
  };
  const write = async (writer: number) => {
    for (let insert = 0; insert < inserts; insert++) {
      await server.command({
        query: `INSERT INTO observations (observation_id, observed_at, dataset, sensor_id, source_ip, transport)
          VALUES ('${writer}-${insert}', now64(3), 'global', 's', toIPv4(toUInt32({address:UInt32})), 'tcp')`,
        query_params: { address: base + writer * inserts + insert },
      });
    }
  };
  let isWriting = true;
  const reading = (async () => {
    while (isWriting) await readOn();
  })();
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  isWriting = false;
  await reading;
  await readOn();
  await server.close();
  expect([...seen].sort()).toEqual(Array.from({ length: writers * inserts }, (_, index) => base + index).sort());
});

test("reading on from the last block does not read the blocks before it, of other datasets too, which it does not show", async () => {
  const server = openServer();
  // A partition of its own: where a replicated table was truncated, a number is missing for good, and what follows it
  // is read until the partition ends.
  const storedAt = Math.floor(Date.now() / 1_000) - 600;
  const insert = (dataset: string, first: string, addresses: number) =>
    server.command({
      query: `INSERT INTO observation_changes (source_ip, dataset, observed_at, stored_at)
        SELECT toIPv4(toUInt32(toIPv4({first:String})) + number), {dataset:String}, now64(3), {storedAt:DateTime}
        FROM numbers({addresses:UInt32})`,
      query_params: { first, addresses, dataset, storedAt },
    });
  // A replica would fetch what another one has merged.
  const everywhere = (query: string) => askServers(world.client, (each) => each.command({ query }));
  await everywhere("SYSTEM STOP MERGES observation_changes");
  const url = new URL(world.connection.url);
  url.searchParams.set("ch_max_rows_to_read", "50000");
  const limited = openServer(url.href);
  try {
    await insert("personal", "53.0.0.0", 100_000);
    await expect(readSightingsAfter(limited, NO_BLOCKS)).rejects.toThrow(/rows/);
    const { blocks, addresses: global } = await readSightingsAfter(server, NO_BLOCKS);
    expect(global).not.toContain(ipv4ToNumber("53.0.0.0"));
    await insert("global", "54.0.0.0", 1);
    const { addresses } = await readSightingsAfter(limited, blocks);
    expect([...addresses]).toEqual([ipv4ToNumber("54.0.0.0")]);
  } finally {
    await limited.close();
    await everywhere("SYSTEM START MERGES observation_changes");
    await server.close();
  }
});

test("a longer retention loads the addresses again", async () => {
  now = NOW;
  const ip = "49.0.0.2";
  await world.store([
    { observed_at: new Date(NOW - 50 * DAY).toISOString(), sensor_id: "s", source_ip: ip, dataset: "global", tags: [] },
  ]);
  let days = 30;
  const indexed = await openIndexed({ retentionDays: () => days });
  try {
    await indexed.catchUp();
    expect(indexed.sightings.find(ipv4ToNumber(ip))).toBeUndefined();
    days = 60;
    await eventually(async () =>
      expect(indexed.sightings.find(ipv4ToNumber(ip))).toMatchObject({ lastSeen: NOW - 50 * DAY }),
    );
  } finally {
    await indexed.close();
  }
});
