import { chmod, lstat, mkdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { type BackupPlace, backUpDatabase } from "@noisefloor/clickhouse/backup.ts";
import { connect } from "@noisefloor/clickhouse/client.ts";
import { openClickHouse } from "@noisefloor/clickhouse/open.ts";
import { readBackupPlace } from "../backup-place.ts";
import { fractionBar } from "../progress.ts";
import { type CommandContext, UserError } from "./command.ts";
import { formatBytes } from "./output.ts";

/** `noisefloor backup`. The schema is left as it is: a backup is what one makes before an update. */
export async function runBackup(destination: string, context: CommandContext): Promise<void> {
  const { settings, signal, print } = context;
  const place = readBackupPlace(destination, settings.clickhouse.server === undefined, settings);
  const server = await openClickHouse(settings.clickhouse, { purpose: "command" });
  const client = connect({ ...server.connection, database: "default" }, "noisefloor-backup");
  const progress = fractionBar("Backing up", settings.logLevel !== "silent");
  try {
    const make = (to: BackupPlace) =>
      backUpDatabase(client, server.connection.database, to, { signal, onProgress: progress.show });
    const isOurs = server.origin !== "external" && place.kind === "file";
    const bytes = isOurs ? await makeAside(place.path, make) : await make(place);
    progress.end();
    if (bytes === undefined) {
      process.exitCode = 130;
      return print("The backup was cancelled; nothing of it is left.");
    }
    print(`Backed up ${formatBytes(bytes)} to ${destination}.`);
  } finally {
    progress.end();
    await client.close();
    await server.close();
  }
}

type Make = (to: BackupPlace) => ReturnType<typeof backUpDatabase>;

/**
 * Makes a backup in a folder of its own and moves it to its place when it is whole: what has the name is a backup. A
 * server that gives up an archive also removes every empty folder beside it, the data directory's among them.
 */
async function makeAside(path: string, make: Make): Promise<number | undefined> {
  if (await isThere(path)) throw new UserError(`${path} is there already: a backup is never written over`);
  const aside = `${path}.unfinished`;
  await mkdir(aside, { mode: 0o700 }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason.startsWith("EEXIST")) {
      throw new UserError(
        `${aside} is of a backup that is under way or was broken off: remove it if it was the latter`,
      );
    }
    throw new UserError(`the backup cannot be written: ${reason}`);
  });
  try {
    const made = join(aside, basename(path));
    const bytes = await make({ kind: "file", path: made });
    if (bytes === undefined) return undefined;
    // It holds what the store holds, hashes of keys among it.
    await chmod(made, (await lstat(made)).isDirectory() ? 0o700 : 0o600);
    await rename(made, path);
    return bytes;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
