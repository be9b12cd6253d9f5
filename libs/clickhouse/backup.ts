import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClickHouseClient, ClickHouseError } from "@clickhouse/client";
import { z } from "zod";
import { isTransient, StoreError } from "./errors.ts";
import { defineQuery, run } from "./query.ts";
import { RESTORE_MARKER } from "./restore-marker.ts";
import { identifier, literal } from "./sql-text.ts";
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

/** How a database is called inside of its backups, so that one can be restored under any name. */
const NAME_INSIDE = "noisefloor";

/** What the views make of the observations. */
const ROLLUPS = ["address_daily", "address_tags", "tag_activity_hourly", "tag_addresses_hourly"];

/**
 * Makes a backup of a database. The server goes on working meanwhile.
 * @returns its size in bytes, or undefined when it was cancelled.
 * @throws BackupError
 */
export async function backUpDatabase(
  client: ClickHouseClient,
  database: string,
  to: BackupPlace,
  terms: BackupTerms,
): Promise<number | undefined> {
  const tables = await readTableNames(client, database);
  if (!tables.has("schema_migrations")) throw new BackupError(`the database ${database} holds nothing of Noisefloor`);
  if (tables.has(RESTORE_MARKER)) {
    throw new BackupError("a restore is under way or has broken off: the database is no whole to make a backup of");
  }
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
    return await operate(client, `BACKUP ${elements.join(", ")} TO`, to, terms);
  } finally {
    await early.drop().catch(() => {});
  }
}

/**
 * Restores tables and views of a backup into a database that holds none of them yet. The same answer and errors.
 * @param terms `parts` says what of them: the definitions first, then the data into what these made.
 */
export async function restoreInto(
  client: ClickHouseClient,
  database: string,
  names: readonly string[],
  from: BackupPlace,
  terms: BackupTerms & { readonly parts: "all" | "definitions" | "data" },
): Promise<number | undefined> {
  const elements = names.map(
    (name) => `TABLE ${NAME_INSIDE}.${identifier(name)} AS ${identifier(database)}.${identifier(name)}`,
  );
  const settings = terms.parts === "definitions" ? { structure_only: "true" } : {};
  return operate(client, `RESTORE ${elements.join(", ")} FROM`, from, { ...terms, settings });
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

async function operate(
  client: ClickHouseClient,
  statement: string,
  place: BackupPlace,
  {
    signal,
    onProgress = () => {},
    settings = {},
  }: BackupTerms & { readonly settings?: Readonly<Record<string, string>> },
): Promise<number | undefined> {
  const id = randomUUID();
  const isRestore = statement.startsWith("RESTORE");
  const asked = Object.entries({ ...settings, id: literal(id) }).map(([name, value]) => `${name} = ${value}`);
  try {
    await client.command({ query: `${statement} ${toSql(place)} SETTINGS ${asked.join(", ")} ASYNC` });
  } catch (error) {
    if (error instanceof ClickHouseError)
      throw new BackupError(tell(`${error.message} (${error.type ?? ""})`, place, isRestore));
    throw error;
  }
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
      if (status === "BACKUP_CREATED" || status === "RESTORED") return total_size;
      if (status.endsWith("_CANCELLED")) return undefined;
      if (status.endsWith("_FAILED")) throw new BackupError(tell(error, place, isRestore));
      onProgress(isRestore ? bytes_read : uncompressed_size, total_size);
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
function tell(error: string, place: BackupPlace, isRestore: boolean): string {
  const [text = ""] = error.replace(/^Code: \d+\. DB::Exception: /, "").split(/,? Stack trace|\(version /);
  const secrets = place.kind === "s3" ? Object.values(place.credentials ?? {}) : [];
  const shown = secrets.reduce((rest, secret) => rest.replaceAll(secret, "[hidden]"), text.trim());
  if (error.includes("BACKUP_NOT_FOUND")) return `there is no backup there: ${shown}`;
  if (error.includes("BACKUP_ALREADY_EXISTS"))
    return `there is a backup already, which is never written over: ${shown}`;
  if (error.includes("backups.allowed_path") || error.includes("backups.allowed_disk")) {
    return `the server does not allow backups there: ${shown} A server that runs since before an update has to be started anew.`;
  }
  return `the backup cannot be ${isRestore ? "restored" : "made"}: ${shown}`;
}
