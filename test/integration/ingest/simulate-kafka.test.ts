import { DEFAULTS, runSimulate, type SimulateOptions } from "@noisefloor/cli/commands/simulate.ts";
import { openRows } from "@noisefloor/cli/rows/row-options.ts";
import { tagIdFromSlug } from "@noisefloor/domain/tags/tag.ts";
import type { Ingest } from "@noisefloor/ingest/service/service.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { testInFull } from "../../support/test-in-full.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { freshKafka, ingestOf } from "../../support/worlds/consuming-world.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const OPTIONS = { ...DEFAULTS, seed: 5, sources: 300, days: 1, perDay: 400, until: new Date(NOW).toISOString() };

const kafka = await freshKafka();
let world: World;
let ingest: Ingest;
let stopRows: () => void;
beforeAll(async () => {
  world = await createWorld(() => NOW);
  // The one tag that simulated sensors name themselves.
  await world.addTags([makeTag("zmap-client-scanner", "unknown", { id: tagIdFromSlug("zmap-client-scanner") })]);
  const { rows, stop } = await openRows(commandOver(world), world.client, world.catalogue);
  stopRows = stop;
  ingest = await ingestOf(world, kafka, Date.now, [], createMetrics(), () => 100, { rows });
  await ingest.start();
});
afterAll(async () => {
  await ingest.stop();
  stopRows();
  await world.close();
});

const phase = z.object({ simulated: z.int(), accepted: z.int(), left_out: z.int(), seconds: z.number() });
const summary = z.object({ is_complete: z.boolean(), back_fill: phase.nullable(), live: phase.nullable() });

async function simulateTo(to: string, more: Partial<SimulateOptions> = {}, signal?: AbortSignal) {
  const command = commandOver(world, kafka, signal);
  await runSimulate({ ...OPTIONS, json: true, to, ...more }, command);
  return summary.parse(JSON.parse(command.lines.join("\n")));
}

/** Every stored row, with all that it says of its observation. */
async function readRows(): Promise<unknown[]> {
  const result = await world.client.query({
    query: "SELECT * EXCEPT (received_at, session_parts) FROM observations FINAL ORDER BY observation_id",
    format: "JSONEachRow",
  });
  return z.array(z.unknown()).parse(await result.json());
}

testInFull("through Kafka the same rows are stored as straight into the store, in every column", async () => {
  const { back_fill: sent } = await simulateTo("kafka");
  expect(sent).toEqual({ ...sent, accepted: sent?.simulated, left_out: 0 });
  await eventually(async () => expect(await readRows()).toHaveLength(sent?.simulated ?? -1));
  const consumed = await readRows();
  await world.client.command({ query: "TRUNCATE TABLE observations" });
  expect((await simulateTo("store")).back_fill).toMatchObject({ accepted: sent?.simulated });
  expect(await readRows()).toEqual(consumed);
});

test("--rate publishes as they happen, no faster, until it is stopped; what was published is stored", async () => {
  const before = (await readRows()).length;
  const stop = new AbortController();
  const startedAt = Date.now();
  const running = simulateTo("kafka", { rate: 200, days: undefined }, stop.signal);
  await eventually(async () => expect((await readRows()).length).toBeGreaterThan(before + 100)).finally(() =>
    stop.abort(),
  );
  const { is_complete, back_fill, live } = await running;
  const seconds = (Date.now() - startedAt) / 1_000;
  expect({ is_complete, back_fill }).toEqual({ is_complete: true, back_fill: null });
  // By day there are up to a fifth more.
  expect(live?.simulated).toBeLessThan(200 * 1.3 * (seconds + 1));
  expect(live?.accepted).toBe(live?.simulated);
  await eventually(async () => expect(await readRows()).toHaveLength(before + (live?.simulated ?? -1)));
});
