import { TupleParam } from "@clickhouse/client";
import { z } from "zod";
import { type BoundValues, bindValues } from "../client/bound-values.ts";
import type { ClickHouseClient } from "../client/connect.ts";
import { numberColumn } from "../client/native.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { OBSERVATIONS } from "../client/table-names.ts";
import { mutate } from "../mutations/mutate.ts";
import {
  conditionOf,
  countFiltered,
  type FilteredObservations,
  type ObservationFilter,
  sensorConditions,
} from "../observations/observation-filter.ts";
import { type RenewOptions, renewStaleRollups } from "./renew-stale.ts";
import { markAddressesRemoved, markRollupsStale } from "./stale-marker.ts";

const SETTINGS = { log_comment: "remove-observations" } as const;

/**
 * Deletes the observations that a filter finds, and what rollups and feeds' objects know of them. The counts of a
 * sensor that the filter names, and that has no other observation, go as well. Until the rollups are exchanged, their
 * answers are as before. Interrupted, the same call does what is left, and so does {@link renewStaleRollups} once the
 * rows are gone.
 * @param filter with a condition at least.
 * @returns what was deleted; `isComplete` is false when it was aborted.
 */
export async function removeObservations(
  client: ClickHouseClient,
  filter: ObservationFilter,
  options: RenewOptions = {},
): Promise<FilteredObservations & { readonly isComplete: boolean }> {
  const { bind, params } = bindValues();
  const condition = conditionOf(filter, bind);
  if (condition === "") throw new RangeError("a filter without a condition finds everything");
  const found = await countFiltered(client, filter);
  if (found.observations > 0) {
    await markAddressesRemoved(client, await readFilteredAddresses(client, condition, params));
    await markRollupsStale(client, { from: found.first, to: found.last + 1 });
  }
  // Before the observations, which an interrupted call is repeated for.
  await removeCounts(client, filter);
  if (found.observations > 0) {
    const isOfKey = filter.receivedFrom === undefined && filter.formats === undefined;
    if (!isOfKey) await mergeVersions(client, found);
    await mutate(client, { table: "observations", change: `DELETE WHERE ${condition}`, params, settings: SETTINGS });
  }
  return { ...found, isComplete: (await renewStaleRollups(client, options)) !== "aborted" };
}

/** @param condition SQL: of a filter, with `params`. */
async function readFilteredAddresses(client: ClickHouseClient, condition: string, params: BoundValues["params"]) {
  const filteredAddresses = defineQuery({
    name: "filtered-addresses",
    sql: `SELECT groupUniqArray(toUInt32(source_ip)) AS addresses FROM ${OBSERVATIONS} WHERE ${condition}`,
    params: z.looseObject({}),
    row: z.object({ addresses: numberColumn }),
    format: "Native",
  });
  return (await runForOne(client, filteredAddresses, params)).addresses;
}

/** Deletes the counts of the sensors that a filter names and of which it leaves nothing. */
async function removeCounts(client: ClickHouseClient, filter: ObservationFilter): Promise<void> {
  if (filter.sensors === undefined && filter.sensorPrefix === undefined) return;
  const { bind, params } = bindValues();
  const named = sensorConditions(filter, bind).join(" AND ");
  const others = defineQuery({
    name: "other-observations",
    sql: `SELECT DISTINCT sensor_id AS sensor, workspace_id AS workspace FROM ${OBSERVATIONS} FINAL
      WHERE ${named} AND NOT (${conditionOf(filter, bind)})`,
    params: z.looseObject({}),
    row: z.object({ sensor: z.string(), workspace: z.string() }),
  });
  const kept = (await run(client, others, params)).map(({ sensor, workspace }) => new TupleParam([sensor, workspace]));
  const isKept = `(sensor_id, workspace_id) IN ${bind("Array(Tuple(String, String))", kept)}`;
  const change = `DELETE WHERE ${named} AND NOT (${isKept})`;
  await mutate(client, { table: "sensor_activity", change, params, settings: SETTINGS });
}

const unmergedMonths = defineQuery({
  name: "unmerged-months",
  sql: `SELECT partition_id AS id FROM system.parts
    WHERE database = currentDatabase() AND table = 'observations' AND active
      AND toDate(partition) BETWEEN toStartOfMonth(fromUnixTimestamp64Milli({first:Int64}, 'UTC'))
        AND toDate(fromUnixTimestamp64Milli({last:Int64}, 'UTC'))
    GROUP BY id HAVING count() > 1 ORDER BY id`,
  params: z.object({ first: z.int(), last: z.int() }),
  row: z.object({ id: z.string() }),
});

/**
 * Merges the parts of months, so that of an observation that was stored again only the last row is there. Where the key
 * does not decide whether a row goes, to delete the last one would bring the one before back.
 */
async function mergeVersions(client: ClickHouseClient, { first, last }: FilteredObservations): Promise<void> {
  for (const owner of await client.owners()) {
    for (const { id } of await run(owner, unmergedMonths, { first, last })) {
      await owner.command({
        query: `OPTIMIZE TABLE ${OBSERVATIONS} PARTITION ID ${literal(id)} FINAL`,
        clickhouse_settings: { ...SETTINGS, alter_sync: "2", optimize_throw_if_noop: 1 },
      });
    }
  }
}
