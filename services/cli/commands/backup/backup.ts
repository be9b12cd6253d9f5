import { chmod, lstat, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { verifyBackup } from "@noisefloor/clickhouse/backup/backup.ts";
import { assertWholeOnDisk, syncFolder } from "@noisefloor/clickhouse/backup/backup-files.ts";
import { BackupError } from "@noisefloor/clickhouse/backup/errors.ts";
import { type MadeBackupRecord, writeBackup } from "@noisefloor/clickhouse/backup/made-backups.ts";
import { formatPlace } from "@noisefloor/clickhouse/backup/place.ts";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { explainLoss, openClickHouse } from "@noisefloor/clickhouse/server/open.ts";
import { backUpPart } from "@noisefloor/clickhouse-cluster/backup/plain-copy.ts";
import { backupPartsOf, connectStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import { type MakePart, makeParts } from "../../backup/backup-parts.ts";
import { readBackupPlace } from "../../backup/backup-place.ts";
import { PLACE_HELP } from "../../backup/backup-place-help.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import type { OutputOptions } from "../../framework/output.ts";
import { fractionBar } from "../../framework/progress.ts";
import { asCommand, assertStoreExists } from "../../store/store.ts";

const BACKUP_HELP = `
Everything that is stored goes into it: observations, tags, lists, workspaces and keys (their hashes), dead letters.
Rollups do not: a restore rebuilds them. Services may go on meanwhile. Ctrl-C cancels it.
On a cluster every server makes the backup of its shard, and -shard1of2, for example, is added to its name.`;

export const define: DefineCommand = (backup, createContext) => {
  backup
    .argument("<place>", "where to")
    .addHelpText("after", PLACE_HELP + BACKUP_HELP)
    .action(async (place: string, options: OutputOptions) => runBackup(place, await createContext(), options));
};

/** `noisefloor backup`. It leaves the schema as it is: people make a backup before an update. */
export async function runBackup(
  destination: string,
  context: CommandContext,
  { json }: Partial<OutputOptions> = {},
): Promise<void> {
  const { settings, signal, print } = context;
  const isOwnServer = settings.clickhouse.server === undefined;
  const place = readBackupPlace(destination, isOwnServer, settings);
  if (isOwnServer) assertVerifiable(destination);
  await assertStoreExists(settings);
  const server = await openClickHouse(settings.clickhouse, asCommand(context, signal));
  const progress = fractionBar("Backing up", settings.logLevel !== "silent");
  try {
    const parts = await backupPartsOf(server.connection, place);
    const isOnThisMachine = server.origin !== "external" && place.kind === "file";
    const made = await makeParts(parts, isOnThisMachine ? makeAside : makeInPlace, signal, progress.show);
    progress.end();
    if (made === undefined) {
      process.exitCode = 130;
      return print(json ? JSON.stringify({ is_complete: false }) : "The backup was cancelled; nothing of it is left.");
    }
    await recordBackup(server.connection, { madeAt: Date.now(), place: destination, bytes: made.bytes }, context);
    if (json) return print(JSON.stringify({ is_complete: true, place: destination, bytes: made.bytes }));
    const [, ...others] = parts;
    const where = others.length === 0 ? [destination] : parts.map((part) => formatPlace(part.place));
    print(`Backed up ${formatBytes(made.bytes)} to ${where.join(" and ")}.`);
  } catch (error) {
    throw await explainLoss(server, error);
  } finally {
    progress.end();
    await server.close();
  }
}

/** For "noisefloor status" and the alert. The backup is good also when this fails, as for a user who may only read. */
async function recordBackup(
  connection: ClickHouseConnection,
  backup: MadeBackupRecord,
  { log }: CommandContext,
): Promise<void> {
  const client = connectStore(connection, "noisefloor-backup");
  try {
    await writeBackup(client, backup);
  } catch (error) {
    log.warn({ err: error }, "the backup is made, but its time could not be recorded in the table backups");
  } finally {
    await client.close();
  }
}

/** In a bare .tar a server does not see a gap that a full disk has left; it does in a compressed one. */
function assertVerifiable(destination: string): void {
  if (!/\.tar$/i.test(destination)) return;
  throw new UserError("a .tar cannot be checked for gaps: name a folder, or a file that ends in .tar.gz or .tar.zst");
}

/** Makes a backup at its final place: on the server's machine, on one of its disks or in a bucket. */
const makeInPlace: MakePart = async (part, client, options) => {
  const { connection, place } = part;
  const made = await backUpPart(part, client, options);
  if (made === undefined) return undefined;
  // Ctrl-C does not cancel the verification: an unverified backup would remain.
  const { signal } = new AbortController();
  await verifyBackup(client, connection.database, place, { signal }).catch((error: unknown) => {
    if (!(error instanceof BackupError)) throw error;
    throw new BackupError(`${error.message} Do not rely on the files at ${formatPlace(place)}`, { cause: error });
  });
  return made;
};

/**
 * Makes a backup in a folder of its own, verifies it, and moves it to its place: what has the final name is a backup.
 * The folder also keeps the server, which removes empty folders beside an archive that failed, from those of the user.
 */
const makeAside: MakePart = async (part, client, options) => {
  const { connection, place: destination } = part;
  const path = formatPlace(destination);
  if (await exists(path)) throw new UserError(`${path} already exists: backups are never overwritten`);
  const aside = `${path}.unfinished`;
  await mkdir(aside, { mode: 0o700 }).catch((error: unknown) => {
    throw explainFolder(error, path, aside);
  });
  try {
    const place = { kind: "file", path: join(aside, basename(path)) } as const;
    const made = await backUpPart({ ...part, place }, client, options);
    if (made === undefined) return undefined;
    await hideFromOthers(place.path).catch(rejectUnwritten);
    await assertWholeOnDisk(place.path, made.storedBytes);
    if (!(await verifyBackup(client, connection.database, place, { signal: options.signal }))) return undefined;
    await rename(place.path, path).catch(rejectUnwritten);
    await syncFolder(dirname(path));
    return made;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
};

function explainFolder(error: unknown, path: string, aside: string): UserError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") {
    return new UserError(`there is no folder ${dirname(path)} for the backup: create it first`);
  }
  if (code !== "EEXIST") return unwritten(error);
  return new UserError(
    `${aside} is there: another backup is running, or one was interrupted; if none is running, delete the folder`,
  );
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** A backup holds what the store holds, hashes of keys among it. */
async function hideFromOthers(path: string): Promise<void> {
  await chmod(path, (await lstat(path)).isDirectory() ? 0o700 : 0o600);
}

function rejectUnwritten(error: unknown): never {
  throw unwritten(error);
}

function unwritten(error: unknown): UserError {
  return new UserError(`the backup cannot be written: ${error instanceof Error ? error.message : String(error)}`);
}
