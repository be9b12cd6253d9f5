import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { OBSERVATIONS } from "../client/table-names.ts";

const provenance = defineQuery({
  name: "tag-provenance",
  sql: `
    SELECT toString(tag) AS id, dataset, workspace_id AS workspace, count() AS observations,
      countIf(has(rule_tags, tag)) AS byRule, countIf(NOT has(rule_tags, tag) OR has(shared_tags, tag)) AS bySender,
      arraySort(groupUniqArray(20)(sensor_id)) AS sensors,
      toUnixTimestamp64Milli(min(observed_at)) AS firstSeen, toUnixTimestamp64Milli(max(observed_at)) AS lastSeen
    FROM ${OBSERVATIONS} FINAL
    ARRAY JOIN tags AS tag
    WHERE source_ip = {ip:IPv4} AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY id, dataset, workspace ORDER BY lastSeen DESC, id, dataset, workspace
    SETTINGS do_not_merge_across_partitions_select_final = 1, optimize_move_to_prewhere_if_final = 1`,
  params: z.object({ ip: z.string(), since: z.int() }),
  row: z.object({
    id: z.string(),
    dataset: z.string(),
    workspace: z.string(),
    observations: z.int(),
    byRule: z.int(),
    bySender: z.int(),
    sensors: z.array(z.string()),
    firstSeen: z.int(),
    lastSeen: z.int(),
  }),
});

/** The origin of a tag of an address in one dataset: how many observations got it from a rule, and from the sender. */
export type TagProvenance = z.output<(typeof provenance)["row"]>;

/** The origin of each tag of an address, the tag given last first. Times in milliseconds since 1970 UTC. */
export function readTagProvenance(client: ClickHouseClient, ip: string, since: number): Promise<TagProvenance[]> {
  return run(client, provenance, { ip, since });
}
