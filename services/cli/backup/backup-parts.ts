import type { MadeBackup } from "@noisefloor/clickhouse/backup/backup.ts";
import type { BackupOptions } from "@noisefloor/clickhouse/backup/operation.ts";
import { formatPlace } from "@noisefloor/clickhouse/backup/place.ts";
import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { type BackupPart, namingShard } from "@noisefloor/clickhouse-cluster/backup/parts.ts";
import { onAllServers, sumProgress } from "@noisefloor/clickhouse-cluster/client/all-servers.ts";
import { UserError } from "../framework/command.ts";

/** Has a server make its part of a backup, and read it back. @returns undefined when it was cancelled. */
export type MakePart = (
  part: BackupPart,
  client: ClickHouseClient,
  options: BackupOptions,
) => Promise<MadeBackup | undefined>;

/**
 * Makes all parts of a backup concurrently. When one fails, the others are cancelled.
 * @returns what they are together; undefined when all were cancelled.
 * @throws UserError when some were finished before another was cancelled or failed, with their places.
 */
export async function makeParts(
  parts: readonly BackupPart[],
  make: MakePart,
  signal: AbortSignal,
  onProgress: (done: number, total: number) => void,
): Promise<Pick<MadeBackup, "bytes"> | undefined> {
  const finished: string[] = [];
  let bytes = 0;
  const progress = sumProgress(parts.length, onProgress);
  const explainRest = (reason: string) => {
    const places = finished.join(" and ");
    return new UserError(`${reason}. Delete ${places}: without the other shards that is no backup`);
  };
  try {
    await onAllServers(parts, signal, async (part, index, stop) => {
      const client = connect({ ...part.connection, database: "default" }, "noisefloor-backup");
      try {
        const options = { signal: stop, onProgress: progress(index) };
        const made = await make(part, client, options).catch(namingShard(part));
        if (made === undefined) return;
        bytes += made.bytes;
        finished.push(formatPlace(part.place));
      } finally {
        await client.close();
      }
    });
  } catch (error) {
    if (finished.length === 0 || !(error instanceof Error)) throw error;
    throw explainRest(error.message);
  }
  if (finished.length === parts.length) return { bytes };
  if (finished.length > 0) throw explainRest("the backup was cancelled");
  return undefined;
}
