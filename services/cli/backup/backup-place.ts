import { resolve } from "node:path";
import type { BackupPlace } from "@noisefloor/clickhouse/backup/place.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { UserError } from "../framework/command.ts";
import { printable } from "../framework/output.ts";

const PLACES = "a path, disk:NAME/PATH, or the https URL of a folder in a bucket";

/**
 * Reads the PLACE argument of backup and restore. A path is on this machine when the server is the data directory's
 * own, else on the server's machine, below the folder that it allows.
 * @throws UserError when it names no place.
 */
export function readBackupPlace(text: string, isOwnServer: boolean, settings: Settings): BackupPlace {
  const invalidPlace = () => new UserError(`"${printable(text)}" is no place: give ${PLACES}`);
  if (text.trim() === "" || /\p{Cc}/u.test(text)) throw invalidPlace();
  const [, disk, below] = /^disk:([A-Za-z0-9_-]+)\/(.+)$/.exec(text) ?? [];
  if (disk !== undefined && below !== undefined) return { kind: "disk", disk, path: below };
  if (/^https?:\/\//i.test(text)) return readBucket(text, isOwnServer, settings);
  if (/^(disk|s3|file|gs|az):/i.test(text)) throw invalidPlace();
  if (!isOwnServer) return { kind: "file", path: text };
  if (/\.zip$/i.test(text)) {
    throw new UserError(
      "the embedded ClickHouse makes no .zip: name a folder, or a file that ends in .tar.gz or .tar.zst",
    );
  }
  return { kind: "file", path: resolve(text) };
}

function readBucket(text: string, isOwnServer: boolean, { backupS3 }: Settings): BackupPlace {
  if (isOwnServer) {
    throw new UserError(
      "the embedded ClickHouse cannot reach a bucket: name a path, or set CLICKHOUSE_URL to a server",
    );
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    // The message leaves out the URL: the part that is wrong may be a secret.
    throw new UserError(
      "the bucket's URL takes a host and a path and nothing else: set BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY",
    );
  }
  return { kind: "s3", url: url.href, credentials: backupS3 };
}
