import { INGEST_OPERATIONS } from "@noisefloor/ingest/service.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app.ts";
import { CVE } from "@noisefloor/query/cves/operations.ts";
import { EXAMPLE_TAG } from "@noisefloor/query/tags/wire-tag.ts";
import { z } from "zod";
import { ingestOf } from "../worlds/consuming-world.ts";
import { makeApp } from "../worlds/http.ts";
import { createWorld, makeTag } from "../worlds/world.ts";
import type { Target } from "./typescript.ts";

const SENSOR_KEY = "key-of-the-settings";

/** Intake and query on one port over a real store, in which the description's examples find something. */
export async function openCalledWorld(now: () => number): Promise<Target & { close(): Promise<void> }> {
  const world = await createWorld(now);
  await world.addTags([makeTag(EXAMPLE_TAG.slug, "unknown", { id: EXAMPLE_TAG.id, cves: [CVE.example] })]);
  const observed_at = new Date(now() - 60_000).toISOString();
  await world.store([{ observed_at, sensor_id: "s", source_ip: "192.175.48.6", tags: [EXAMPLE_TAG.slug] }]);
  const ingest = await ingestOf(world, undefined, now, [SENSOR_KEY]);
  const app = await makeApp([...QUERY_OPERATIONS, ...INGEST_OPERATIONS], (made, metrics) => {
    ingest.register(made);
    world.register(made, metrics);
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const key = await world.addCaller("unlimited", ["community_dataset", "sensors"]);
  const body = new FormData();
  body.append("file", new Blob(["192.175.48.6"]));
  const uploaded = await fetch(`${url}/v2/analyze/upload`, { method: "POST", headers: { key }, body });
  const { uuid: analysis } = z.object({ uuid: z.string() }).parse(await uploaded.json());
  return {
    url,
    key,
    analysis,
    sensorKey: SENSOR_KEY,
    async close() {
      await app.close();
      await ingest.stop();
      await world.close();
    },
  };
}
