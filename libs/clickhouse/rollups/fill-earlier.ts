import { createHash } from "node:crypto";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { isUnknownTable } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { waitForInserts } from "../client/running-inserts.ts";
import { applyDurability, readDurability } from "../schema/durability.ts";
import { sliceObservations } from "./slices.ts";
import { fillRollup, readRollupView } from "./views.ts";

/** A table with the slices that a rollup is to be filled with: it exists until all are done. */
const FILLS = "rollup_fills";

const createFills = `CREATE TABLE IF NOT EXISTS ${FILLS} (rollup String, view String, slice String, is_done Bool)
  ENGINE = ReplacingMergeTree(is_done) ORDER BY (rollup, view, slice)`;

const slicesOfFill = defineQuery({
  name: "slices-of-fill",
  sql: `SELECT slice, is_done FROM ${FILLS} FINAL WHERE rollup = {rollup:String} AND view = {view:String} ORDER BY slice`,
  params: z.object({ rollup: z.string(), view: z.string() }),
  row: z.object({ slice: z.string(), is_done: z.boolean() }),
});

/** Called when `done` of `total` slices of the observations are in a rollup. */
export type OnFill = (rollup: string, done: number, total: number) => void;

/**
 * Fills rollups with the observations that were stored before their views were there, slice by slice. Interrupted, the
 * same call does what is left; several processes may do it simultaneously.
 * @param owner all of whose servers have the views.
 * @param rollups may have rows already: a row that comes twice counts once.
 */
export async function fillEarlier(owner: ClickHouseClient, rollups: readonly string[], onFill: OnFill): Promise<void> {
  const servers = (await owner.servers()).flat();
  const [server] = servers;
  if (server === undefined) throw new RangeError("an owner without servers");
  await waitForInserts(servers);
  await owner.sync(["observations"]);
  // A slice that is on record must not be lost in a power cut, if observations are not.
  if (await readDurability(server)) for (const each of servers) await applyDurability(each, true);
  for (const rollup of rollups) {
    const view = await readRollupView(server, rollup);
    // A view that was changed since an interrupted fill makes other rows.
    const fill = { rollup, view: createHash("sha256").update(view.select).digest("hex") };
    const slices = (await planFill(server, fill).catch(ended)) ?? [];
    let done = slices.filter(({ is_done }) => is_done).length;
    for (const { slice, is_done } of slices) {
      if (is_done) continue;
      await fillRollup(server, { table: rollup, view, where: slice });
      if ((await insertSlices(server, [{ ...fill, slice, is_done: true }]).catch(ended)) === undefined) break;
      onFill(rollup, ++done, slices.length);
    }
  }
  await owner.sync(rollups);
  await server.command({ query: `DROP TABLE IF EXISTS ${FILLS} SYNC` });
}

/** The table is gone when another process has done the same. */
function ended(error: unknown): undefined {
  if (!isUnknownTable(error)) throw error;
}

/** @returns the slices of a fill: those that an interrupted one began with, if there was one. */
async function planFill(server: ClickHouseClient, fill: { readonly rollup: string; readonly view: string }) {
  await server.command({ query: createFills });
  const begun = await run(server, slicesOfFill, fill);
  if (begun.length > 0) return begun;
  const slices = (await sliceObservations(server)).map(({ where }) => ({ slice: where, is_done: false }));
  await insertSlices(
    server,
    slices.map((slice) => ({ ...fill, ...slice })),
  );
  return slices;
}

const insertSlices = (server: ClickHouseClient, values: readonly Record<string, unknown>[]) =>
  server.insert({ table: FILLS, values, format: "JSONEachRow" });
