import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { openStage, type SoakServers, type Stage } from "../support/worlds/soak-stage.ts";

/** How much of a scenario: all of it, or as much as a test has time for. */
export type Extent = "soak" | "test";

/** Something that goes wrong while events flow, and must change nothing about what is stored and answered. */
export type Scenario = {
  readonly name: string;
  /** What it shows, as a user would say it. */
  readonly promise: string;
  readonly events: Readonly<Record<Extent, number>>;
  /** Rejects when the promise is broken. @returns the faults that it made, and what else is worth telling. */
  play(stage: Stage, extent: Extent, say: (text: string) => void): Promise<string>;
};

export type Outcome = { readonly told: string; readonly seconds: number };

/** Plays a scenario on a stage of its own. */
export async function playOn(
  servers: SoakServers,
  scenario: Scenario,
  terms: {
    readonly extent: Extent;
    readonly seed: number;
    readonly events: number;
    readonly say: (text: string) => void;
  },
): Promise<Outcome> {
  const stage = await openStage(servers, terms.seed, terms.events, terms.extent === "soak" ? 10 : 3);
  try {
    const start = performance.now();
    const told = await scenario.play(stage, terms.extent, terms.say);
    return { told, seconds: (performance.now() - start) / 1_000 };
  } finally {
    // A scenario that failed may have left it killed, which is no fault of the next one.
    await servers.store.start();
    await stage.close();
  }
}

const insertedRows = defineQuery({
  name: "test-inserted-rows",
  sql: "SELECT count() AS rows FROM observations",
  params: z.object({}),
  row: z.object({ rows: z.int() }),
});

/** Rows as they were inserted, those included that will be replaced by themselves. */
export async function countInserted(stage: Stage): Promise<number> {
  const [row] = await run(stage.client, insertedRows, {});
  return row?.rows ?? 0;
}

const insertedBlocks = defineQuery({
  name: "test-inserted-blocks",
  // A merge makes rows fewer, but no block's number smaller.
  sql: `SELECT sum(newest) AS blocks FROM (
    SELECT max(max_block_number) AS newest FROM system.parts
    WHERE database = currentDatabase() AND table = 'observations' GROUP BY partition_id)`,
  params: z.object({}),
  row: z.object({ blocks: z.int() }),
});

/** @returns what resolves once rows were inserted since this call: the flow flows. To be called before it begins. */
export async function watchFlow(stage: Stage): Promise<() => Promise<void>> {
  const count = async () => (await run(stage.client, insertedBlocks, {}))[0]?.blocks ?? 0;
  const before = await count();
  const check = async () => {
    if ((await count()) <= before) throw new Error("nothing was stored for a minute");
  };
  return () => eventually(check, 60_000);
}
