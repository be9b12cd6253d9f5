import { type PurgeOptions, runDeadLettersPurge } from "@noisefloor/cli/commands/dead-letters/purge.ts";
import { deadLetterRetries } from "@noisefloor/clickhouse/dead-letters/dead-letter-retries.ts";
import type { REJECTION_REASONS, Rejection } from "@noisefloor/domain/observation/observation.ts";
import { type DeadLetter, toPayload } from "@noisefloor/ingest/dead-letters/dead-letter.ts";
import { deadLetterStore } from "@noisefloor/ingest/dead-letters/store.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { listDeadLetters } from "../../support/commands/dead-letters.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const MINUTE = 60_000;
const REASONS = [
  "not-json",
  "unknown-tag",
  "in-the-future",
] as const satisfies readonly (typeof REJECTION_REASONS)[number][];
const SENSORS = ["cellar", "roof", ""];
const AGES = [1, 10, 60, 3_000, 30_000];

let world: World;
type Known = { origin: string; reason: string; sensor: string; key: string; at: number };
let known: Known[] = [];

beforeAll(async () => {
  world = await createWorld(() => NOW);
  for (const age of AGES) {
    const at = NOW - age * MINUTE;
    const some = REASONS.flatMap((reason) =>
      SENSORS.map(
        (sensor): Known => ({ origin: `r-${age}-${sensor}`, reason, sensor, key: sensor === "roof" ? "k1" : "", at }),
      ),
    );
    // Each twice: a record that comes again is the same dead letter.
    for (let time = 0; time < 2; time++) await deadLetterStore(world.client, { now: () => at })(some.map(toDeadLetter));
    known.push(...some);
  }
  const { dead_letters: stored } = await listDeadLetters(world, { limit: 1_000 });
  const done = stored.filter(({ reason, origin }) => reason === "unknown-tag" && origin.startsWith("r-10-"));
  const again = stored.filter(({ reason, origin }) => reason === "not-json" && origin.startsWith("r-60-"));
  await deadLetterRetries.write(world.client, [
    ...done.map(({ id }) => ({ id, retriedAt: NOW, isDone: true, reason: "", detail: "" })),
    ...again.map(({ id }) => ({ id, retriedAt: NOW, isDone: false, reason: "oversize", detail: "" })),
    // Older than its dead letter: it came again since, so this counts for nothing.
    { id: stored[0]?.id ?? "", retriedAt: NOW - 90 * MINUTE, isDone: true, reason: "", detail: "" },
  ]);
});
afterAll(() => world.close());

function toDeadLetter({ origin, reason, sensor, key }: Known): DeadLetter {
  const sender = { right: "shared-datasets", ...(key !== "" && { keyId: key }) } as const;
  const rejection: Rejection = { reason: REASONS.find((one) => one === reason) ?? "oversize", detail: "" };
  return {
    source: "http",
    origin,
    position: 1,
    rejection,
    sender,
    sensorId: sensor,
    ...toPayload(Buffer.from(reason)),
  };
}

const isDone = ({ reason, origin }: Known) => reason === "unknown-tag" && origin.startsWith("r-10-");
const lastReason = (one: Known) =>
  one.reason === "not-json" && one.origin.startsWith("r-60-") ? "oversize" : one.reason;

/** The counts that a list must have, by brute force. */
function expected(isSelected: (one: Known) => boolean, includeDone = false) {
  const counts = new Map<string, number>();
  for (const one of known.filter((one) => isSelected(one) && (includeDone || !isDone(one)))) {
    const name = `${lastReason(one)} ${isDone(one) ? "done" : "open"}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort();
}

const FILTERS: readonly [string, Parameters<typeof listDeadLetters>[1], (one: Known) => boolean][] = [
  ["all", {}, () => true],
  ["done ones, too", { includeDone: true }, () => true],
  ["a reason", { reason: "unknown-tag" }, (one) => lastReason(one) === "unknown-tag"],
  ["the reason of a retry", { reason: "oversize" }, (one) => lastReason(one) === "oversize"],
  ["a sensor", { sensor: "cellar" }, ({ sensor }) => sensor === "cellar"],
  ["a key", { key: "k1" }, ({ key }) => key === "k1"],
  ["an origin", { origin: "r-10-roof" }, ({ origin }) => origin === "r-10-roof"],
  ["origins that begin so", { origin: "r-3000" }, ({ origin }) => origin.startsWith("r-3000")],
  ["the last five minutes", { since: "5m" }, ({ at }) => at >= NOW - 5 * MINUTE],
  ["before two days ago", { before: "2d" }, ({ at }) => at < NOW - 2 * 1_440 * MINUTE],
];

test.each(FILTERS)("list counts and shows %s exactly", async (_name, options, isSelected) => {
  const all = await listDeadLetters(world, { limit: 1_000, ...options });
  const { counts, dead_letters: shown } = all;
  const found = counts.map(({ reason, state, count }) => [`${reason} ${state}`, count]).sort();
  expect(found).toEqual(expected(isSelected, options?.includeDone));
  expect(shown).toHaveLength(counts.reduce((sum, { count }) => sum + count, 0));
  const few = await listDeadLetters(world, { limit: 2, ...options });
  expect(few.dead_letters).toEqual(shown.slice(0, 2));
  // More of them are looked for by a query of their own.
  const more = await listDeadLetters(world, { limit: 1_001, ...options });
  expect(more).toEqual(all);
});

const purge = async (options: Partial<PurgeOptions>) => {
  const command = commandOver(world);
  await runDeadLettersPurge({ all: false, dryRun: false, yes: true, json: true, ...options }, command);
  return JSON.parse(command.lines.join(""));
};

test("purge deletes exactly what is selected, and a dry run nothing", async () => {
  const count = async () => (await listDeadLetters(world, { includeDone: true, limit: 1_000 })).dead_letters.length;
  expect(await purge({ sensor: "roof", before: "2h", dryRun: true })).toMatchObject({ deleted: 0 });
  expect(await count()).toBe(known.length);
  const steps: [Partial<PurgeOptions>, (one: Known) => boolean][] = [
    [{ sensor: "roof", before: "2h" }, ({ sensor, at }) => sensor === "roof" && at < NOW - 120 * MINUTE],
    [{ reason: "oversize" }, (one) => lastReason(one) === "oversize"],
    [{ origin: "r-10-" }, ({ origin }) => origin.startsWith("r-10-")],
    [{ all: true }, () => true],
  ];
  for (const [options, isSelected] of steps) {
    expect(await purge(options)).toMatchObject({ deleted: known.filter(isSelected).length });
    known = known.filter((one) => !isSelected(one));
    const { counts } = await listDeadLetters(world, { includeDone: true });
    expect(counts.map(({ reason, state, count: of }) => [`${reason} ${state}`, of]).sort()).toEqual(
      expected(() => true, true),
    );
  }
});

test("purge asks, and takes no selection for none", async () => {
  await expect(purge({})).rejects.toThrow("say which dead letters to delete");
  await deadLetterStore(world.client, { now: () => NOW })([
    toDeadLetter({ origin: "last", reason: "not-json", sensor: "", key: "", at: NOW }),
  ]);
  await expect(purge({ all: true, yes: false })).rejects.toThrow(
    /1 dead letters would be deleted for good\. Nothing was/,
  );
});
