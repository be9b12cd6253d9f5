import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import { z } from "zod";
import type { World } from "../worlds/world.ts";

const storedObservations = defineQuery({
  name: "test-stored",
  sql: `SELECT observation_id AS id, toString(source_ip) AS ip, concat(dataset, '/', workspace_id) AS scope
    FROM ${OBSERVATIONS} FINAL ORDER BY source_ip, observation_id`,
  params: z.object({}),
  row: z.object({ id: z.string(), ip: z.string(), scope: z.string() }),
});

/** Every observation of a world, once: its id, its address and its scope as "dataset/workspace". */
export function readStored({ client }: World) {
  return run(client, storedObservations, {});
}
