import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { SPREAD_TABLES, TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { syncReplicas } from "@noisefloor/clickhouse-cluster/replicas/tables.ts";
import { expect } from "vitest";
import { contentOf } from "./store-contents.ts";

/** Each server notes the time of its own migrations; the log of observations is deleted within minutes. */
const COMPARED = Object.keys(TABLES).filter((name) => !["schema_migrations", "observation_changes"].includes(name));

/** That the servers of each shard hold the same, once each has fetched what the others have. */
export async function expectSameOnReplicas(client: ClickHouseClient): Promise<void> {
  for (const replicas of await client.servers()) {
    await syncReplicas(replicas, SPREAD_TABLES);
    const [first, ...others] = replicas;
    if (first === undefined) throw new RangeError("a shard has a server");
    for (const table of COMPARED) {
      const content = await contentOf(first, table);
      for (const other of others) expect(await contentOf(other, table), table).toEqual(content);
    }
  }
}
