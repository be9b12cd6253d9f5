import { runBackup } from "@noisefloor/cli/commands/backup.ts";
import { runRestore } from "@noisefloor/cli/commands/restore.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/query.ts";
import { z } from "zod";
import { commandOver } from "./commands.ts";
import type { World } from "./world.ts";

/** Runs `noisefloor backup` over a world; the answer is what it printed. */
export async function backUpWorld(of: World, place: string): Promise<string> {
  const command = commandOver(of);
  await runBackup(place, command);
  return command.lines.join("\n");
}

/** Runs `noisefloor restore` over a world; the answer is what it printed. */
export async function restoreWorld(into: World, place: string, replace = true): Promise<string> {
  const command = commandOver(into);
  await runRestore(place, { replace }, command);
  return command.lines.join("\n");
}

const contents = defineQuery({
  name: "test-contents",
  sql: `SELECT 'observations' AS name, count() AS rows, toString(sum(cityHash64(toString(tuple(*))))) AS hash FROM observations FINAL
    UNION ALL SELECT 'activity', count(), toString(sum(cityHash64(tag_id, dataset, workspace_id, hour, finalizeAggregation(addresses)))) FROM tag_activity_hourly FINAL
    UNION ALL SELECT 'addresses', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM tag_addresses_hourly FINAL
    UNION ALL SELECT 'daily', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM address_daily FINAL
    UNION ALL SELECT 'tagged', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM address_tags FINAL
    UNION ALL SELECT 'letters', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM dead_letters FINAL
    UNION ALL SELECT 'ranges', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM network_ranges FINAL
    UNION ALL SELECT 'keys', count(), toString(sum(cityHash64(toString(tuple(*))))) FROM api_keys FINAL`,
  params: z.object({}),
  row: z.object({ name: z.string(), rows: z.int(), hash: z.string() }),
});
/** What a world's tables hold, whatever parts it lies in. */
export const contentsOf = async (of: World) =>
  (await run(of.client, contents, {})).sort((one, another) => (one.name < another.name ? -1 : 1));

const workingDatabases = defineQuery({
  name: "test-working-databases",
  sql: "SELECT name FROM system.databases WHERE name LIKE '%restoring%' OR name LIKE '%backing_up%'",
  params: z.object({}),
  row: z.object({ name: z.string() }),
});

/** The databases that commands have made beside the stores of a world's server. */
export async function readWorkingDatabases(of: World): Promise<string[]> {
  return (await run(of.client, workingDatabases, {})).map(({ name }) => name);
}
