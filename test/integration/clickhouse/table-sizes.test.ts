import { randomUUID } from "node:crypto";
import { DERIVED_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { expect, inject, onTestFinished, test } from "vitest";
import { readBytesPerObservation } from "../../bench/bytes-per-observation.ts";
import { fillHistory } from "../../bench/history.ts";
import { takeDatabase } from "../../support/worlds/databases.ts";

/** Bytes in all tables together. A store of other addresses takes another number. */
const CEILING = 62;
const HISTORY = {
  days: 20,
  hoursPerInsert: 480,
  heavyPerHour: 150,
  ordinaryPerHour: 15,
  heavyAddresses: { active: 2_000, later: 300 },
  ordinaryAddresses: { active: 500, later: 100 },
  steadyAddresses: 50,
};

test("an observation, with all that is derived from it, takes no more of the disk than before", async () => {
  const { client, giveBack } = await takeDatabase(inject("clickhouse"));
  onTestFinished(giveBack);
  const tagIds = Array.from({ length: 5 }, () => randomUUID());
  await fillHistory(client, { ...HISTORY, tagIds, seed: 1, end: Date.now() });
  for (const table of ["observations", ...DERIVED_TABLES])
    await client.command({ query: `OPTIMIZE TABLE ${table} FINAL` });
  const { byTable, sum } = await readBytesPerObservation(client);
  // No observation of this history names a host.
  const sizes = [...byTable].flatMap(([table, bytes]) => (table === "callbacks" ? [] : [bytes]));
  expect(Math.min(...sizes)).toBeGreaterThan(0);
  expect(sum, JSON.stringify(Object.fromEntries(byTable))).toBeLessThan(CEILING);
});
