import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClickHouseClient, ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import { isTransient, missingRight, StoreError } from "../client/errors.ts";
import { defineQuery, run } from "../client/query.ts";
import { identifier, literal } from "../client/sql-text.ts";
import { RESTORE_MARKER } from "./restore-marker.ts";
import { openWorkingDatabase } from "./working-database.ts";

/** Where a backup lies, as the server sees it. */
export type BackupPlace =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "disk"; readonly disk: string; readonly path: string }
  | {
      readonly kind: "s3";
      readonly url: string;
      /** Without them the server uses its own. */
      readonly credentials?: { readonly accessKey: string; readonly secretKey: string } | undefined;
    };

/** A backup cannot be made or restored; the message says why, and never holds a secret. */
export class BackupError extends StoreError {
  override name = "BackupError";
}

export type BackupTerms = {
  /** Asks the server to cancel. */
  readonly signal: AbortSignal;
  /** Bytes done and bytes in all, as far as is known yet. */
  readonly onProgress?: (done: number, total: number) => void;
};

/** What a server says that it has made. */
export type MadeBackup = {
  readonly bytes: number;
  /** Of all files in it, or of all entries of an archive before they are compressed. */
  readonly storedBytes: number;
};

/** How a database is called inside of its backups, so that one can be restored under any name. */
const NAME_INSIDE = "noisefloor";

/** What the views make of the observations. */
const ROLLUPS = ["address_daily", "address_tags", "tag_activity_hourly", "tag_addresses_hourly"];

/**
 * Makes a backup of a database. The server goes on working meanwhile. It calls a backup made also when its writes failed,
 * as on a full disk: only what `readBack` has read is one.
 * @returns undefined when it was cancelled.
 * @throws BackupError
 */
export async function backUpDatabase(
  client: ClickHouseClient,
  database: string,
  to: BackupPlace,
  terms: BackupTerms,
): Promise<MadeBackup | undefined> {
  const tables = await readTableNames(client, database);
  if (!tables.has("schema_migrations")) throw new BackupError(`the database ${database} holds nothing of Noisefloor`);
  if (tables.has(RESTORE_MARKER)) {
    throw new BackupError("a restore is under way or has broken off: the database is no whole to make a backup of");
  }
  return telling("made", to, () => make(client, database, tables, to, terms));
}

async function make(
  client: ClickHouseClient,
  database: string,
  tables: ReadonlySet<string>,
  to: BackupPlace,
  terms: BackupTerms,
): Promise<MadeBackup | undefined> {
  // A server takes tables in an order of its own. Were a rollup taken after the observations it could count what came in
  // between, whose observations the backup lacks; taken before them it only lacks what a restore can make good.
  const early = await openWorkingDatabase(client, database, "backing_up");
  try {
    const rollups = ROLLUPS.filter((table) => tables.has(table));
    for (const table of rollups) {
      await client.command({
        query: `CREATE TABLE ${identifier(early.name)}.${table} CLONE AS ${identifier(database)}.${table}`,
      });
    }
    const whole = `DATABASE ${identifier(database)} AS ${NAME_INSIDE}`;
    const except = rollups.map((table) => `${identifier(database)}.${table}`).join(", ");
    const elements = [
      ...rollups.map((table) => `TABLE ${identifier(early.name)}.${table} AS ${NAME_INSIDE}.${table}`),
      except === "" ? whole : `${whole} EXCEPT TABLES ${except}`,
    ];
    const ended = await carryOut(client, `BACKUP ${elements.join(", ")} TO`, to, { ...terms, verb: "made" });
    return ended && { bytes: ended.total_size, storedBytes: ended.uncompressed_size };
  } finally {
    await early.drop().catch(() => {});
  }
}

/**
 * Has the server read a backup's listing, which stands at its end, and make one of its tables of it. That finds what is
 * cut off, in a compressed archive also every gap; not a file of a folder, or an entry of a bare .tar, that is too short.
 * @returns whether it was read; false when that was cancelled.
 * @throws BackupError
 */
export async function readBack(
  client: ClickHouseClient,
  database: string,
  from: BackupPlace,
  terms: BackupTerms,
): Promise<boolean> {
  return telling("read back", from, async () => {
    const beside = await openWorkingDatabase(client, database, "backing_up");
    try {
      // One table, for the others may be somebody's own, which ask for what is not there.
      const statement = restoring(["schema_migrations"], beside.name);
      return (
        (await carryOut(client, statement, from, { ...terms, verb: "read back", isOnlyStructure: true })) !== undefined
      );
    } finally {
      await beside.drop().catch(() => {});
    }
  });
}

/**
 * Restores tables and views of a backup into a database that holds none of them yet.
 * @param terms `parts` says what of them: the definitions first, then the data into what these made.
 * @returns whether it was done; false when it was cancelled.
 * @throws BackupError
 */
export async function restoreInto(
  client: ClickHouseClient,
  database: string,
  names: readonly string[],
  from: BackupPlace,
  { parts, ...terms }: BackupTerms & { readonly parts: "all" | "definitions" | "data" },
): Promise<boolean> {
  const isOnlyStructure = parts === "definitions";
  return telling("restored", from, async () => {
    const work = { ...terms, verb: "restored", isOnlyStructure } as const;
    return (await carryOut(client, restoring(names, database), from, work)) !== undefined;
  });
}

function restoring(names: readonly string[], database: string): string {
  const elements = names.map(
    (name) => `TABLE ${NAME_INSIDE}.${identifier(name)} AS ${identifier(database)}.${identifier(name)}`,
  );
  return `RESTORE ${elements.join(", ")} FROM`;
}

const tableNames = defineQuery({
  name: "table-names",
  sql: "SELECT name FROM system.tables WHERE database = {database:String}",
  params: z.object({ database: z.string() }),
  row: z.object({ name: z.string() }),
});

export async function readTableNames(client: ClickHouseClient, database: string): Promise<ReadonlySet<string>> {
  return new Set((await run(client, tableNames, { database })).map(({ name }) => name));
}

const operationState = defineQuery({
  name: "backup-state",
  sql: `SELECT status, error, query_id, total_size, uncompressed_size, bytes_read FROM system.backups
    WHERE id = {id:String}`,
  params: z.object({ id: z.string() }),
  row: z.object({
    status: z.string(),
    error: z.string(),
    query_id: z.string(),
    total_size: z.int(),
    uncompressed_size: z.int(),
    bytes_read: z.int(),
  }),
});

const LOOK_MS = 250;
/** So many looks in a row may fail before the server counts as gone. */
const FAILED_LOOKS = 20;

type Verb = "made" | "restored" | "read back";

/** Tells what a server has against it in a sentence; which right its user lacks is told for every command alike. */
async function telling<T>(verb: Verb, place: BackupPlace, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ClickHouseError) || missingRight(error) !== undefined) throw error;
    throw new BackupError(tell(`${error.message} (${error.type ?? ""})`, place, verb));
  }
}

type WorkTerms = BackupTerms & { readonly verb: Verb; readonly isOnlyStructure?: boolean };

/** @returns what the server says of it at its end; undefined when it was cancelled. */
async function carryOut(
  client: ClickHouseClient,
  statement: string,
  place: BackupPlace,
  { signal, onProgress = () => {}, verb, isOnlyStructure = false }: WorkTerms,
): Promise<z.infer<typeof operationState.row> | undefined> {
  const id = randomUUID();
  const settings = isOnlyStructure ? ", structure_only = true" : "";
  await client.command({ query: `${statement} ${toSql(place)} SETTINGS id = ${literal(id)}${settings} ASYNC` });
  let isCancelling = false;
  let failedLooks = 0;
  for (;;) {
    const states = await run(client, operationState, { id }).catch((error: unknown) => {
      failedLooks++;
      if (!isTransient(error) || failedLooks > FAILED_LOOKS) throw error;
      return undefined;
    });
    const state = states?.[0];
    if (states !== undefined) {
      failedLooks = 0;
      // The list is in the server's memory alone.
      if (state === undefined) throw new BackupError("the server was started anew meanwhile: it must be done again");
      const { status, error, total_size, uncompressed_size, bytes_read } = state;
      if (status === "BACKUP_CREATED" || status === "RESTORED") return state;
      if (status.endsWith("_CANCELLED")) return undefined;
      if (status.endsWith("_FAILED")) throw new BackupError(tell(error, place, verb));
      onProgress(verb === "made" ? uncompressed_size : bytes_read, total_size);
      if (signal.aborted && !isCancelling) {
        isCancelling = true;
        await client.command({
          query: "KILL QUERY WHERE query_id = {query_id:String} ASYNC",
          query_params: { query_id: state.query_id },
        });
      }
    }
    await sleep(LOOK_MS);
  }
}

function toSql(place: BackupPlace): string {
  if (place.kind === "file") return `File(${literal(place.path)})`;
  if (place.kind === "disk") return `Disk(${literal(place.disk)}, ${literal(place.path)})`;
  const { url, credentials } = place;
  const parts = credentials === undefined ? [url] : [url, credentials.accessKey, credentials.secretKey];
  return `S3(${parts.map(literal).join(", ")})`;
}

/** A server's error as a sentence: without its stack and its version, and without what must not be shown. */
function tell(error: string, place: BackupPlace, verb: Verb): string {
  const [text = ""] = error.split(/,? Stack trace|\s*\(version |\s*Cannot print extra info/);
  const sentence = text
    .replace(/^Code: \d+\. DB::\w*Exception: /, "")
    // What the system or a library of the server has thrown is headed by the kind of it.
    .replace(/^\w+::[eE]xception\. Code: \d+, (?:type: .*?, )?e\.\w+\(\) = (?:-?\d+, )?/, "")
    .replace(/^filesystem error: in \w+: /, "")
    .replace(/[:,\s]*, errno: \d+, strerror: /, ": ")
    .replace(/[.\s]*\([A-Z_\d]*\)\s*$/, "");
  const secrets = place.kind === "s3" ? Object.values(place.credentials ?? {}) : [];
  const shown = secrets.reduce((rest, secret) => rest.replaceAll(secret, "[hidden]"), sentence.trim());
  // Damage as a server describes it names its effect alone; what it may not do is no damage.
  if (verb === "read back") return notReadBack(shown, error.includes("ACCESS_DENIED"));
  if (error.includes("BACKUP_NOT_FOUND")) return `there is no backup there: ${shown}`;
  if (error.includes("BACKUP_ALREADY_EXISTS"))
    return `there is a backup already, which is never written over: ${shown}`;
  if (error.includes("backups.allowed_path") || error.includes("backups.allowed_disk")) {
    return `the server does not allow backups there: ${shown}. A server that runs since before an update has to be started anew.`;
  }
  return `the backup cannot be ${verb}: ${shown}`;
}

/** What to say of a backup that is none. */
export function notReadBack(reason: string, isRefused = false): string {
  return `the backup cannot be read back: ${reason}${isRefused ? "" : ". Is the disk full?"}`;
}
