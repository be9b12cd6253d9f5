import { type ObservationRow, toRow } from "@noisefloor/ingest/rows/observation-row.ts";
import { insertObservations } from "@noisefloor/ingest/store/insert.ts";
import type { Insert } from "@noisefloor/ingest/store/insert-queue.ts";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { addressOf, observation } from "../../support/builders/observation.ts";
import { type CuttingProxy, startCuttingProxy } from "../../support/servers/cutting-proxy.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let proxy: CuttingProxy;
let world: World;
beforeAll(async () => {
  const server = inject("clickhouse");
  proxy = await startCuttingProxy(server.url);
  world = await createWorld(() => NOW, { server: { ...server, url: proxy.url } });
});
afterAll(async () => {
  await world.close();
  await proxy.close();
});

/** @returns two settings of an insert of this size. Large queries pause for the priority 1. */
async function settingsOf(insert: Insert<ObservationRow>, rows: number) {
  const before = proxy.requests.length;
  const sent = Array.from({ length: rows }, (_, number) => {
    const seen = { ...observation(addressOf(number), NOW), dataset: "global" as const, workspace_id: "", tags: [] };
    return toRow(
      { observation: seen, observedAt: NOW, isFilledIn: false },
      { observationId: `${before}-${number}`, tagIds: [] },
    );
  });
  await insert(sent, `${before}`);
  const inserts = proxy.requests.slice(before).filter((request) => request.has("insert_deduplication_token"));
  expect(inserts).toHaveLength(1);
  return ["priority", "parallel_view_processing"].map((name) => inserts[0]?.get(name));
}

test("large queries pause for every small insert, and not for a large one", async () => {
  const insert = insertObservations(world.client);
  expect(await settingsOf(insert, 1)).toEqual(["1", "1"]);
  expect(await settingsOf(insert, 1_000)).toEqual(["1", "1"]);
  expect(await settingsOf(insert, 1_001)).toEqual([null, null]);
});
