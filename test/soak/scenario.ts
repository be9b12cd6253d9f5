import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { openStage, type SoakServers, type Stage } from "../support/worlds/soak-stage.ts";

/** All of a scenario, or as much as a test has time for. */
export type Extent = "soak" | "test";

/** A fault while events flow, which must not change what is stored and answered. */
export type Scenario = {
  readonly name: string;
  /** The promise that it checks, in a user's words. */
  readonly promise: string;
  readonly events: Readonly<Record<Extent, number>>;
  /** Rejects when the promise is broken. @returns a summary of the faults. */
  play(stage: Stage, extent: Extent, say: (text: string) => void): Promise<string>;
};

export type Outcome = { readonly summary: string; readonly seconds: number };

/** Runs a scenario on a stage of its own. */
export async function runScenario(
  servers: SoakServers,
  scenario: Scenario,
  options: {
    readonly extent: Extent;
    readonly seed: number;
    readonly events: number;
    readonly say: (text: string) => void;
  },
): Promise<Outcome> {
  const { extent, seed, events } = options;
  const stage = await openStage(servers, { seed, events, days: 99, addressesAsked: extent === "soak" ? 10 : 3 });
  try {
    const start = performance.now();
    const summary = await scenario.play(stage, options.extent, options.say);
    return { summary, seconds: (performance.now() - start) / 1_000 };
  } finally {
    // A failed scenario may have left ClickHouse killed, and the next one needs it.
    await servers.store.start();
    await stage.close();
  }
}

const insertedRows = defineQuery({
  name: "test-inserted-rows",
  sql: `SELECT count() AS rows FROM ${OBSERVATIONS}`,
  params: z.object({}),
  row: z.object({ rows: z.int() }),
});

/** All inserted rows, also those that replace each other. */
export async function countInserted(stage: Stage): Promise<number> {
  const [row] = await run(stage.client, insertedRows, {});
  return row?.rows ?? 0;
}

const insertedBlocks = defineQuery({
  name: "test-inserted-blocks",
  // A merge reduces the rows, but not the largest block number.
  sql: `SELECT sum(newest) AS blocks FROM (
    SELECT max(max_block_number) AS newest FROM system.parts
    WHERE database = currentDatabase() AND table = 'observations' GROUP BY partition_id)`,
  params: z.object({}),
  row: z.object({ blocks: z.int() }),
});

/** Call it before events are published. @returns a function that waits until rows were inserted since this call. */
export async function waitForInserts(stage: Stage): Promise<() => Promise<void>> {
  const count = async () => (await run(stage.client, insertedBlocks, {}))[0]?.blocks ?? 0;
  const before = await count();
  const check = async () => {
    if ((await count()) <= before) throw new Error("no row was inserted for a minute");
  };
  return () => eventually(check, 60_000);
}
