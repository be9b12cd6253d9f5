import type { ClickHouseClient } from "../client/connect.ts";
import { type ReplaceOptions, replaceRollups } from "./replace.ts";
import { readStaleRollups, unmarkStaleRollups } from "./stale-marker.ts";

export type RenewOptions = Pick<ReplaceOptions, "signal" | "onProgress">;

/**
 * Makes the rollups of times that are marked stale anew. One process at a time may do that: it holds the lock for
 * exchanging tables.
 */
export async function renewStaleRollups(
  client: ClickHouseClient,
  options: RenewOptions = {},
): Promise<"current" | "replaced" | "aborted"> {
  const found = await readStaleRollups(client);
  if (found === undefined) return "current";
  if (!(await replaceRollups(client, { ...options, stale: found.stale }))) return "aborted";
  await unmarkStaleRollups(client, found.marks);
  return "replaced";
}
