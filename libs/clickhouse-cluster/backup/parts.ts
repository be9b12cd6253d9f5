import { BackupError } from "@noisefloor/clickhouse/backup/errors.ts";
import type { BackupPlace } from "@noisefloor/clickhouse/backup/place.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { connectionsOfShards } from "../client/each-server.ts";
import type { ClusterConnection } from "../client/servers.ts";

/** What one server makes or restores: the whole backup, or that of its shard. */
export type BackupPart = {
  /** To this server by itself. */
  readonly connection: ClickHouseConnection;
  /** To each server of the shard: this one, and its other replicas. */
  readonly replicas: readonly ClickHouseConnection[];
  readonly place: BackupPlace;
  /** Which shard it is, for messages; undefined when the server is the only one. */
  readonly shard?: string;
};

/**
 * The parts of a cluster's backup: one for each shard, whose places have names of their own. The
 * names say how many shards there are, so a backup does not go into a cluster of fewer, where some would be missing.
 * @param place as the user names it.
 */
export async function partsOf(connection: ClusterConnection, place: BackupPlace): Promise<readonly BackupPart[]> {
  const shards = await connectionsOfShards(connection);
  // A cluster of one shard and a single server can have each other's backups.
  if (shards.length === 1) return shards.map(({ complete, all }) => ({ connection: complete, replicas: all, place }));
  return shards.map(({ complete, all }, index) => {
    const number = `${index + 1}of${shards.length}`;
    const name = (text: string) => text.replace(ENDING, (ending) => `-shard${number}${ending}`);
    return {
      connection: complete,
      replicas: all,
      place: place.kind === "s3" ? { ...place, url: name(place.url) } : { ...place, path: name(place.path) },
      shard: `shard ${index + 1} of ${shards.length}, ${new URL(complete.url).host}`,
    };
  });
}

/** An archive's ending, and slashes. */
const ENDING = /(?:\.(?:tar(?:\.\w+)?|tgz|zip))?\/*$/i;

/** A function that rejects with the error of some work on a part, which says of which shard it is. */
export function namingShard({ shard }: Pick<BackupPart, "shard">): (error: unknown) => never {
  return (error) => {
    if (shard === undefined || !(error instanceof BackupError)) throw error;
    throw new BackupError(`${shard}: ${error.message}`, { cause: error });
  };
}
