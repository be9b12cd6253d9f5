import { resolve } from "node:path";
import type { BackupPlace } from "@noisefloor/clickhouse/backup.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { UserError } from "./framework/command.ts";
import { printable } from "./framework/output.ts";

const TAKES = "a path, disk:NAME/PATH, or the https URL of a folder in a bucket";

/**
 * What a user calls a place of a backup. A path is on this machine when the server is the data directory's own, else on
 * the server's machine, below the folder that it allows.
 * @throws UserError when it is none.
 */
export function readBackupPlace(text: string, isOwnServer: boolean, settings: Settings): BackupPlace {
  if (text.trim() === "" || /\p{Cc}/u.test(text))
    throw new UserError(`"${printable(text)}" is no place: give ${TAKES}`);
  const [, disk, below] = /^disk:([A-Za-z0-9_-]+)\/(.+)$/.exec(text) ?? [];
  if (disk !== undefined && below !== undefined) return { kind: "disk", disk, path: below };
  if (/^https?:\/\//i.test(text)) {
    if (isOwnServer) {
      throw new UserError(
        "the embedded ClickHouse cannot reach a bucket: name a path, or set CLICKHOUSE_URL to a server",
      );
    }
    // Not shown in the message: whatever is wrong with it may be a secret.
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
      throw new UserError(
        "the bucket's URL takes a host and a path and nothing else: set BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY",
      );
    }
    return { kind: "s3", url: url.href, credentials: settings.backupS3 };
  }
  if (/^(disk|s3|file|gs|az):/i.test(text)) throw new UserError(`"${printable(text)}" is no place: give ${TAKES}`);
  if (!isOwnServer) return { kind: "file", path: text };
  if (/\.zip$/i.test(text)) {
    throw new UserError(
      "the embedded ClickHouse makes no .zip: name a folder, or a file that ends in .tar or .tar.zst",
    );
  }
  return { kind: "file", path: resolve(text) };
}
