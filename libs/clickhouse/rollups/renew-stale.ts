import type { ClickHouseClient } from "../client/connect.ts";
import { type ReplaceOptions, replaceRollups } from "./replace.ts";
import { readStaleRollups, unmarkStaleRollups } from "./stale-marker.ts";

export type RenewOptions = Pick<ReplaceOptions, "signal" | "onProgress">;

/**
 * Makes the rollups anew of the times that are marked stale. One process at a time may do that: it holds the lock for
 * exchanging tables.
 */
export async function renewStaleRollups(
  client: ClickHouseClient,
  options: RenewOptions = {},
): Promise<"current" | "replaced" | "aborted"> {
  const stale = await readStaleRollups(client);
  if (stale === undefined) return "current";
  if (!(await replaceRollups(client, { ...options, stale }))) return "aborted";
  await unmarkStaleRollups(client);
  return "replaced";
}
