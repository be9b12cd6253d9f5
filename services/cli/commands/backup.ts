import { chmod, lstat, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import {
  BackupError,
  type BackupPlace,
  backUpDatabase,
  type MadeBackup,
  readBack,
} from "@noisefloor/clickhouse/backup.ts";
import { requireWholeOnDisk, syncFolder } from "@noisefloor/clickhouse/backup-files.ts";
import { connect } from "@noisefloor/clickhouse/client.ts";
import { explainLoss, openClickHouse } from "@noisefloor/clickhouse/open.ts";
import { readBackupPlace } from "../backup-place.ts";
import { PLACE_HELP } from "../backup-place-help.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { formatBytes } from "../framework/output.ts";
import { fractionBar } from "../framework/progress.ts";
import { asCommand, assertStoreExists } from "../store.ts";

const BACKUP_HELP = `
Everything that is stored goes into it: observations, rollups, tags, lists, workspaces and keys (their hashes), dead
letters of the table. Services may go on meanwhile. Ctrl-C cancels it.`;

export const define: DefineCommand = (backup, createContext) => {
  backup
    .argument("<place>", "where to")
    .addHelpText("after", PLACE_HELP + BACKUP_HELP)
    .action(async (place: string) => runBackup(place, await createContext()));
};

/** `noisefloor backup`. The schema is left as it is: a backup is what one makes before an update. */
export async function runBackup(destination: string, context: CommandContext): Promise<void> {
  const { settings, signal, print } = context;
  const place = readBackupPlace(destination, settings.clickhouse.server === undefined, settings);
  await assertStoreExists(settings);
  const server = await openClickHouse(settings.clickhouse, asCommand(context, signal));
  const client = connect({ ...server.connection, database: "default" }, "noisefloor-backup");
  const progress = fractionBar("Backing up", settings.logLevel !== "silent");
  try {
    const { database } = server.connection;
    const make = (to: BackupPlace) => backUpDatabase(client, database, to, { signal, onProgress: progress.show });
    const isOurs = server.origin !== "external" && place.kind === "file";
    const made = isOurs
      ? await makeAside(place.path, make, (from) => readBack(client, database, from, { signal }))
      : await make(place);
    if (!isOurs && made !== undefined) {
      // It lies where it is to stay: a look that is cancelled would leave one of which nobody knows whether it is whole.
      const uncancelled = { signal: new AbortController().signal };
      await readBack(client, database, place, uncancelled).catch((error: unknown) => {
        if (!(error instanceof BackupError)) throw error;
        throw new UserError(`${error.message} Do not rely on what lies at ${destination} now`);
      });
    }
    progress.end();
    if (made === undefined) {
      process.exitCode = 130;
      return print("The backup was cancelled; nothing of it is left.");
    }
    print(`Backed up ${formatBytes(made.bytes)} to ${destination}.`);
  } catch (error) {
    throw await explainLoss(server, error);
  } finally {
    progress.end();
    await client.close();
    await server.close();
  }
}

/**
 * Makes a backup in a folder of its own, sees that it can be read back, and moves it to its place: what has the name is a
 * backup. A server that gives up an archive also removes every empty folder beside it, the data directory's among them.
 */
async function makeAside(
  path: string,
  make: (to: BackupPlace) => Promise<MadeBackup | undefined>,
  read: (from: BackupPlace) => Promise<boolean>,
): Promise<MadeBackup | undefined> {
  if (await isThere(path)) throw new UserError(`${path} is there already: a backup is never written over`);
  const aside = `${path}.unfinished`;
  await mkdir(aside, { mode: 0o700 }).catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT")
      throw new UserError(`there is no folder ${dirname(path)} to put the backup into: make it first`);
    if (code === "EEXIST") {
      throw new UserError(
        `${aside} is there: another backup is running, or one was interrupted; if none is running, delete the folder`,
      );
    }
    throw notWritten(error);
  });
  try {
    const place = { kind: "file", path: join(aside, basename(path)) } as const;
    const made = await make(place);
    if (made === undefined) return undefined;
    await hideFromOthers(place.path).catch((error: unknown) => {
      throw notWritten(error);
    });
    await requireWholeOnDisk(place.path, made.storedBytes);
    if (!(await read(place))) return undefined;
    await rename(place.path, path).catch((error: unknown) => {
      throw notWritten(error);
    });
    await syncFolder(dirname(path));
    return made;
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

/** It holds what the store holds, hashes of keys among it. */
async function hideFromOthers(path: string): Promise<void> {
  await chmod(path, (await lstat(path)).isDirectory() ? 0o700 : 0o600);
}

function notWritten(error: unknown): UserError {
  return new UserError(`the backup cannot be written: ${error instanceof Error ? error.message : String(error)}`);
}
