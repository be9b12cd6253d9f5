import type { ClickHouseClient } from "../client/connect.ts";
import { eraseObjects } from "../feeds/erase-objects.ts";
import { type ReplaceOptions, replaceRollups } from "./replace.ts";
import { countStaleAddresses, readStaleRollups, STALE_ADDRESSES, unmarkStaleRollups } from "./stale-marker.ts";

export type RenewOptions = Pick<ReplaceOptions, "signal" | "onProgress">;

/**
 * Makes the rollups of times that are marked stale anew, and erases what feeds have told about marked addresses. One
 * process at a time may do that: it holds the lock for exchanging tables.
 */
export async function renewStaleRollups(
  client: ClickHouseClient,
  options: RenewOptions = {},
): Promise<"current" | "replaced" | "aborted"> {
  const found = await readStaleRollups(client);
  if (found === undefined) return "current";
  if (!(await replaceRollups(client, { ...options, stale: found.stale }))) return "aborted";
  // After the rollups, since feeds describe what they still list by these.
  if ((await countStaleAddresses(client)) > 0) {
    await eraseObjects(client, `SELECT arrayJoin(addresses) FROM ${STALE_ADDRESSES}`);
  }
  await unmarkStaleRollups(client, found.marks);
  return "replaced";
}
