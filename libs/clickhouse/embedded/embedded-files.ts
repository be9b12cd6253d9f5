import { randomBytes } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { answers, type ClickHouseConnection } from "../client/connect.ts";
import { StoreError } from "../client/errors.ts";
import { createPrivately, writePrivately } from "./private-file.ts";

/** Why a server was started: for a service, for one command, or for a restore, which runs alone. */
export type Purpose = "service" | "command" | "restore";

/** Another process runs a server in this data directory; use that one. */
export class DataDirectoryHeldError extends StoreError {
  override name = "DataDirectoryHeldError";
}

export async function heldElsewhere(dataDir: string): Promise<DataDirectoryHeldError> {
  const holder = await formatHolder(dataDir);
  return new DataDirectoryHeldError(
    `the data directory ${resolve(dataDir)} is in use by ${holder}: stop it first, or set DATA_DIR to another`,
  );
}

/** The process that runs a server in a data directory, as `pid 7 (a service)`. */
export async function formatHolder(dataDir: string): Promise<string> {
  const note = await readServerNote(dataDir);
  return note === undefined ? "another process" : `pid ${note.pid} (a ${note.purpose})`;
}

/** `nowhere` is the server's working directory, which is removed before the server listens. */
export type EmbeddedFiles = Readonly<
  Record<"root" | "data" | "config" | "credentials" | "starting" | "server" | "log" | "nowhere", string>
>;

export function embeddedFiles(dataDir: string): EmbeddedFiles {
  const root = join(resolve(dataDir), "clickhouse");
  return {
    root,
    data: join(root, "data"),
    config: join(root, "config.xml"),
    credentials: join(root, "credentials.json"),
    starting: join(root, "starting"),
    server: join(root, "server.json"),
    log: join(root, "clickhouse.log"),
    nowhere: join(root, "nowhere"),
  };
}

const credentialsSchema = z.object({ writer: z.string(), grafana: z.string() });
export type EmbeddedCredentials = z.infer<typeof credentialsSchema>;

/** The data directory's passwords, made at the first start. If two processes make them together, one's are kept. */
export async function readOrMakeCredentials(file: string): Promise<EmbeddedCredentials> {
  const fresh = { writer: randomBytes(24).toString("base64url"), grafana: randomBytes(24).toString("base64url") };
  await createPrivately(file, JSON.stringify(fresh));
  const parsed = credentialsSchema.safeParse(parseJson(await readFile(file, "utf8")));
  if (!parsed.success) throw new StoreError(`${file} is damaged: delete it to have a new one made`);
  return parsed.data;
}

const noteSchema = z.object({
  pid: z.int(),
  url: z.string(),
  username: z.string(),
  password: z.string(),
  database: z.string(),
  purpose: z.enum(["service", "command", "restore"]),
});

/** Written by the process that runs the server of a data directory, for other processes to find that server. */
export type ServerNote = {
  readonly pid: number;
  readonly connection: ClickHouseConnection;
  readonly purpose: Purpose;
};

export async function writeServerNote(file: string, { pid, connection, purpose }: ServerNote): Promise<void> {
  await writePrivately(file, JSON.stringify({ pid, ...connection, purpose }));
}

/** The note, whether or not its server answers. */
export async function readServerNote(dataDir: string): Promise<ServerNote | undefined> {
  const text = await readFile(embeddedFiles(dataDir).server, "utf8").catch(() => "");
  const parsed = noteSchema.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { pid, purpose, ...connection } = parsed.data;
  return { pid, connection, purpose };
}

/** The note of the server that another process runs for this data directory, if that server answers. */
export async function findRunning(dataDir: string): Promise<ServerNote | undefined> {
  const note = await readServerNote(dataDir);
  return note !== undefined && (await answers(note.connection)) ? note : undefined;
}

/** Removes the note of our server, unless another process has since written its own. */
export async function forgetServer(dataDir: string): Promise<void> {
  const note = await readServerNote(dataDir);
  if (note?.pid === process.pid) await rm(embeddedFiles(dataDir).server, { force: true });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
