import { type RemoveOptions, runObservationsRemove } from "@noisefloor/cli/commands/observations/remove.ts";
import { checkObservations } from "@noisefloor/cli/diagnosis/checks/check-observations.ts";
import { createCloseStack } from "@noisefloor/cli/framework/close-stack.ts";
import { renewRollups } from "@noisefloor/cli/process/renew-rollups.ts";
import { openPreparedStore } from "@noisefloor/cli/store/store.ts";
import { holdStoreLock } from "@noisefloor/clickhouse/backup/server-lock.ts";
import { CONTACT_TAG } from "@noisefloor/clickhouse/client/contact-sql.ts";
import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { readStaleRollups } from "@noisefloor/clickhouse/rollups/stale-marker.ts";
import { DERIVED_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { type ActivityRow, writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { readSensorSummaries } from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import { serverOf } from "@noisefloor/clickhouse-cluster/store.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { type KnownEvent, makeEvents, toWire } from "../../support/builders/known-events.ts";
import { observation } from "../../support/builders/observation.ts";
import { seeded } from "../../support/builders/random.ts";
import { eventually } from "../../support/eventually.ts";
import { assertAnswers } from "../../support/oracle/check-answers.ts";
import { atVolume } from "../../support/volume.ts";
import { startIndex } from "../../support/worlds/address-index.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { silent } from "../../support/worlds/http.ts";
import { createServedWorld, type ServedWorld } from "../../support/worlds/served-world.ts";
import { contentOf } from "../../support/worlds/store-contents.ts";
import { factsOf } from "../../support/worlds/store-facts.ts";
import { makeTag, RETENTION_DAYS } from "../../support/worlds/world.ts";

const NOW = Date.now();
const DAY = 86_400_000;
const TAGS = (["malicious", "suspicious", "unknown", "benign"] as const).map((intention, index) =>
  makeTag(`removing-${index}`, intention),
);

/** The store that observations are removed from, and one that never had them. */
let world: ServedWorld;
let expected: ServedWorld;
let key: string;
beforeEach(async () => {
  [world, expected] = await Promise.all([createServedWorld(() => NOW), createServedWorld(() => NOW)]);
  for (const one of [world, expected]) await one.addTags(TAGS);
  key = await world.addCaller("unlimited", ["community_dataset"]);
});
afterEach(async () => {
  await Promise.all([world.close(), expected.close()]);
});

const COUNT = atVolume(80, 4_000);
/** Each month is a partition of its own. */
const DAYS = atVolume(30, 60);
const eventsOf = (seed: number) => makeEvents(seeded(seed), { count: COUNT, tags: TAGS, days: DAYS }, NOW);

async function storeIn(to: ServedWorld, events: readonly KnownEvent[]) {
  // Several parts, of which the server merges some meanwhile.
  for (let at = 0; at < events.length; at += COUNT / 4) {
    const { rejected } = await to.store(
      events.slice(at, at + COUNT / 4).map((one) => ({ observation_id: `e-${one.number}`, ...toWire(one) })),
    );
    expect(rejected).toEqual([]);
  }
}

const PATHS = ["classifications", "countries", "networks", "observations", "hours"].map(
  (what) => `/v3/stats/${what}?days=60&workspace_labels=global,community`,
);

/** Whether the store is one that never had any other observations than these. */
async function expectOnly(events: readonly KnownEvent[]) {
  await storeIn(expected, events);
  for (const table of DERIVED_TABLES) {
    expect(await contentOf(world.client, table), table).toEqual(await contentOf(expected.client, table));
  }
  for (const path of [...PATHS, "/v3/summary/tags"]) {
    expect(await world.get(path), path).toEqual(await expected.get(path));
  }
  const known = events.map((one) => ({ ...one, observationId: `e-${one.number}` }));
  await assertAnswers({ url: world.url, key }, { events: known, tags: TAGS }, seeded(1), atVolume(3, 25));
  const tables = await world.client.query({ query: "SHOW TABLES", format: "JSONEachRow" });
  expect(await tables.text()).not.toMatch(/replacing|stale/);
}

const OPTIONS: RemoveOptions = { dryRun: false, yes: true, json: true };
const summarySchema = z
  .object({ dry_run: z.boolean(), is_complete: z.boolean(), observations: z.int(), addresses: z.int(), hours: z.int() })
  .loose();

async function remove(options: Partial<RemoveOptions>, command = commandOver(world)) {
  await runObservationsRemove({ ...OPTIONS, ...options }, command);
  return summarySchema.parse(JSON.parse(command.lines.join("\n")));
}

const refusal = (options: Partial<RemoveOptions>) =>
  remove(options).then(
    () => "accepted",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );

const rfc = (time: number) => new Date(time).toISOString();
const hourOf = ({ at }: KnownEvent) => Math.floor(at / 3_600_000);

type Case = readonly [
  what: string,
  options: (events: readonly KnownEvent[]) => Partial<RemoveOptions>,
  isMeant: (event: KnownEvent, events: readonly KnownEvent[]) => boolean,
];
const commonest = (events: readonly KnownEvent[]) => {
  const counts = new Map<string, number>();
  for (const { ip } of events) counts.set(ip, (counts.get(ip) ?? 0) + 1);
  return [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, 2)
    .map(([ip]) => ip);
};
const CASES: readonly Case[] = [
  ["two sensors", () => ({ sensor: ["sensor-3", "sensor-4"] }), ({ sensorId }) => /^sensor-[34]$/.test(sensorId)],
  [
    "wrong dates",
    () => ({ since: rfc(NOW - (DAYS * DAY) / 2), until: rfc(NOW - 10 * DAY) }),
    ({ at }) => at >= NOW - (DAYS * DAY) / 2 && at < NOW - 10 * DAY,
  ],
  ["addresses", (events) => ({ address: commonest(events) }), ({ ip }, events) => commonest(events).includes(ip)],
  [
    "networks of a sensor in a dataset",
    () => ({
      network: ["45.0.0.0/23", "45.0.4.0/24"],
      sensor: ["sensor-1", "sensor-2", "sensor-5"],
      dataset: ["community"],
    }),
    ({ ip, sensorId, dataset }) =>
      /^45\.0\.[014]\./.test(ip) && /^sensor-[125]$/.test(sensorId) && dataset === "community",
  ],
];

test.each(atVolume(CASES.slice(1, 2), CASES))(
  "after removing %s every answer is that of a store that never had them",
  async (_what, options, isMeant) => {
    const events = eventsOf(7);
    await storeIn(world, events);
    const gone = events.filter((one) => isMeant(one, events));
    expect(gone.length).toBeGreaterThan(1);
    const wanted = {
      is_complete: true,
      observations: gone.length,
      addresses: new Set(gone.map(({ ip }) => ip)).size,
      hours: new Set(gone.map(hourOf)).size,
      first_seen: rfc(Math.min(...gone.map(({ at }) => at))).replace(/\.\d+Z/, "Z"),
      last_seen: rfc(Math.max(...gone.map(({ at }) => at))).replace(/\.\d+Z/, "Z"),
    };
    const before = await contentOf(world.client, "observations");
    expect(await remove({ ...options(events), dryRun: true })).toEqual({ dry_run: true, ...wanted });
    expect(await refusal({ ...options(events), yes: false })).toMatch(
      new RegExp(
        `^${gone.length} observations of ${wanted.addresses} addresses, .* deleted for good\\. Nothing was changed: pass --yes`,
      ),
    );
    expect(await contentOf(world.client, "observations")).toEqual(before);
    expect(await remove(options(events))).toEqual({ dry_run: false, ...wanted });
    await expectOnly(events.filter((one) => !gone.includes(one)));
    await world.client.command({ query: "OPTIMIZE TABLE observations FINAL" });
    expect(await contentOf(world.client, "observations")).toMatchObject({ rows: events.length - gone.length });
  },
);

test("a running service forgets removed addresses without a restart, also those of a moment ago", async () => {
  const index = await startIndex(world, {
    limit: 1_000,
    retentionDays: () => RETENTION_DAYS,
    now: () => NOW,
    intervalMs: 100,
  });
  world.beforeClose(index.stop);
  const severityOf = (ip: string) => index.find(ipv4ToNumber(ip))?.severity;
  await world.store([
    observation("45.0.0.1", NOW - DAY, { sensor_id: "wrong", tags: ["removing-0"] }),
    observation("45.0.0.2", NOW - DAY, { sensor_id: "wrong", tags: ["removing-0"] }),
    observation("45.0.0.2", NOW - DAY, { sensor_id: "right", tags: ["removing-1"] }),
  ]);
  await eventually(async () => {
    expect(index.isCurrent()).toBe(true);
    expect([severityOf("45.0.0.1"), severityOf("45.0.0.2")]).toEqual([4, 4]);
  });
  await remove({ sensor: ["wrong"] });
  await eventually(async () => {
    expect(index.isCurrent()).toBe(true);
    expect([severityOf("45.0.0.1"), severityOf("45.0.0.2")]).toEqual([undefined, 3]);
  });
  await world.store([observation("45.0.0.3", NOW - DAY, { tags: ["removing-0"] })]);
  await eventually(async () => {
    expect(index.isCurrent()).toBe(true);
    expect([severityOf("45.0.0.1"), severityOf("45.0.0.3")]).toEqual([undefined, 4]);
  });
});

test("stopped or killed at any step, the same call does what is left", async () => {
  const events = eventsOf(8);
  await storeIn(world, events);
  const options = { sensor: ["sensor-6"] };
  const abort = new AbortController();
  abort.abort();
  const stopped = commandOver(world, undefined, abort.signal);
  try {
    await runObservationsRemove({ ...OPTIONS, ...options }, stopped);
    expect(process.exitCode).toBe(130);
  } finally {
    process.exitCode = undefined;
  }
  expect(JSON.parse(stopped.lines.join(""))).toMatchObject({ is_complete: false });
  expect(await readStaleRollups(world.client)).toBeDefined();
  // The sensor has no observation any more, and is not called unknown.
  expect(await remove(options)).toMatchObject({ is_complete: true, observations: 0 });
  await expectOnly(events.filter(({ sensorId }) => sensorId !== "sensor-6"));
});

test("what the intake stores meanwhile is counted exactly", async () => {
  const events = eventsOf(9);
  await storeIn(world, events);
  const later = eventsOf(10).map((one) => ({ ...one, number: one.number + COUNT, sensorId: "other" }));
  let stored = 0;
  let isOver = false;
  const intake = async () => {
    for (; !isOver && stored < later.length; stored += 20) {
      await world.store(
        later.slice(stored, stored + 20).map((one) => ({ observation_id: `e-${one.number}`, ...toWire(one) })),
      );
    }
  };
  const running = intake();
  await removeObservations(world.client, { to: NOW - 5 * DAY, sensorPrefix: "sensor-1" }).finally(() => {
    isOver = true;
  });
  await running;
  const kept = events.filter(({ at, sensorId }) => at >= NOW - 5 * DAY || !sensorId.startsWith("sensor-1"));
  await expectOnly([...kept, ...later.slice(0, stored)]);
});

test("of an observation that was sent again, removing by time of receipt brings no earlier row back", async () => {
  const sent = [1, 2].map((last) => observation(`45.0.0.${last}`, NOW - DAY, { observation_id: `o-${last}` }));
  await world.client.command({ query: "SYSTEM STOP MERGES observations" });
  await world.store(sent);
  const [first, second] = sent;
  const stored = Date.now();
  await eventually(async () => expect(Date.now()).toBeGreaterThan(stored));
  const since = rfc(Date.now());
  await world.store([second ?? {}]);
  await world.client.command({ query: "SYSTEM START MERGES observations" });
  expect(await remove({ receivedSince: since })).toMatchObject({ observations: 1 });
  const rows = await world.client.query({
    query: "SELECT toString(source_ip) AS ip FROM observations",
    format: "JSONEachRow",
  });
  expect(await rows.json()).toEqual([{ ip: first?.source_ip }]);
});

test("proof of contact goes with the observations that gave it", async () => {
  const login = { transport: "tcp", login_attempts: 1 };
  await world.store([
    observation("45.0.0.1", NOW - DAY, { sensor_id: "wrong", ...login }),
    observation("45.0.0.1", NOW - DAY, { sensor_id: "right", ...login, established: false }),
    observation("45.0.0.2", NOW - DAY, { sensor_id: "wrong", ...login }),
    observation("45.0.0.2", NOW - DAY, { sensor_id: "right", ...login }),
  ]);
  const proven = async (table: string, condition: string) => {
    const query = `SELECT DISTINCT toString(source_ip) AS ip FROM ${table} WHERE ${condition} ORDER BY ip`;
    return (await world.client.query({ query, format: "JSONEachRow" })).json();
  };
  const everywhere = () =>
    Promise.all([
      proven("observations", "established"),
      proven("address_tags", `tag_id = ${CONTACT_TAG}`),
      proven("address_facets", "field = 'contact'"),
    ]);
  const both = [{ ip: "45.0.0.1" }, { ip: "45.0.0.2" }];
  expect(await everywhere()).toEqual([both, both, both]);
  await remove({ sensor: ["wrong"] });
  expect(await everywhere()).toEqual([both.slice(1), both.slice(1), both.slice(1)]);
});

test("the counts of a wrong sensor name go with its observations, those of other sensors stay", async () => {
  const hour = Math.floor(NOW / 3_600_000) * 3_600_000;
  const counts = (sensorId: string): ActivityRow => ({
    ...{ hour, source: "file", keyId: "", workspaceId: "", sensorId, isRest: false, format: "cowrie" },
    ...{ outcome: "accepted", process: "11111111-1111-4111-8111-111111111111", records: 1, lastAt: NOW },
  });
  await writeSensorCounts(world.client, ["wrong", "right"].map(counts));
  await world.store(["wrong", "right"].map((sensor_id) => observation("45.0.0.1", NOW - DAY, { sensor_id })));
  await world.store([observation("45.0.0.1", NOW - 9 * DAY, { sensor_id: "right" })]);
  const named = async () => (await readSensorSummaries(world.client, NOW)).map(({ sensorId }) => sensorId).toSorted();
  await remove({ sensor: ["wrong", "right"], since: "5d" });
  expect(await named()).toEqual(["right"]);
  await remove({ address: ["45.0.0.1"] });
  expect(await named(), "an address says nothing about its sensor").toEqual(["right"]);
});

test("a mistake in the conditions changes nothing, and says what there is", async () => {
  await world.store([observation("45.0.0.1", NOW - DAY, { sensor_id: "cellar" })]);
  expect(await refusal({})).toMatch(
    /^say which observations to remove: by --sensor, --address, --network, .* and --received-since$/,
  );
  expect(await refusal({ sensor: ["celler"] })).toBe('no stored observation has the sensor "celler"; there are cellar');
  expect(await refusal({ workspace: ["acme"] })).toBe('no stored observation has the workspace "acme"; none names one');
  expect(await refusal({ dataset: ["globl"] })).toBe(
    'no stored observation has the dataset "globl"; there are global, community, personal',
  );
  expect(await refusal({ address: ["45.0.0"] })).toBe('--address takes an IPv4 address, not "45.0.0"');
  expect(await refusal({ network: ["45.0.0.1/8"] })).toBe(
    '--network "45.0.0.1/8": address has bits set beyond its /8 prefix',
  );
  expect(await refusal({ since: "1d", until: "2d" })).toBe("--since is not before --until");
  expect(await remove({ address: ["45.0.0.9"] })).toMatchObject({ observations: 0, first_seen: null });
  const store = await openPreparedStore(commandOver(world).settings);
  const release = await holdStoreLock(serverOf(store.server.connection), "restore");
  expect(await refusal({ sensor: ["cellar"] })).toMatch(/^a restore, a removal of observations or a reapplying/);
  await release();
  await store.close();
  expect(await contentOf(world.client, "observations")).toMatchObject({ rows: 1 });
});

test("an interrupted removal ends by itself when the intake starts again", async () => {
  await world.store(
    ["wrong", "right"].map((sensor_id, index) => observation(`45.0.0.${index}`, NOW - DAY, { sensor_id })),
  );
  const abort = new AbortController();
  abort.abort();
  await removeObservations(world.client, { sensors: ["wrong"] }, { signal: abort.signal });
  const { settings } = commandOver(world);
  const store = await openPreparedStore(settings);
  const closeStack = createCloseStack();
  try {
    expect(checkObservations(await factsOf(settings))).toContainEqual(
      expect.objectContaining({ check: "rollups", severity: "warning" }),
    );
    renewRollups({ store, log: silent, closeStack });
    await eventually(async () => expect(await readStaleRollups(world.client)).toBeUndefined());
    expect(await contentOf(world.client, "address_tags")).toMatchObject({ rows: 1 });
  } finally {
    await closeStack.closeAll();
    await store.close();
  }
});
