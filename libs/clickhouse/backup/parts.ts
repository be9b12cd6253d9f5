import type { ClickHouseConnection } from "../client/connect.ts";
import { connectionsOfShards } from "../cluster/each-server.ts";
import { BackupError } from "./errors.ts";
import type { BackupPlace } from "./place.ts";

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
 * The parts of a store's backup: one, or one for each shard of its cluster, whose places have names of their own. The
 * names say how many shards there are, so a backup does not go into a cluster of fewer, where some would be missing.
 * @param place as the user names it.
 */
export async function partsOf(connection: ClickHouseConnection, place: BackupPlace): Promise<readonly BackupPart[]> {
  if (connection.cluster === undefined) return [{ connection, replicas: [connection], place }];
  const shards = await connectionsOfShards(connection, connection.cluster);
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
