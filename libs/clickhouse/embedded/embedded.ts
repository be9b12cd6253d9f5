import { createHash } from "node:crypto";
import { access, rm, utimes } from "node:fs/promises";
import { resolve } from "node:path";
import { MEMORY_LIMITS } from "@noisefloor/config/memory.ts";
import getPort from "get-port";
import { answers, type ClickHouseConnection } from "../client/connect.ts";
import { StoreError } from "../client/errors.ts";
import { embeddedConfigXml } from "./embedded-config.ts";
import {
  type EmbeddedCredentials,
  type EmbeddedFiles,
  embeddedFiles,
  findRunning,
  forgetServer,
  heldElsewhere,
  type Purpose,
  readOrMakeCredentials,
  writeServerNote,
} from "./embedded-files.ts";
import { allocatorEnvironment } from "./embedded-memory.ts";
import { locateLibrary, type ServerProcess, startServerProcess } from "./embedded-process.ts";
import { type RestartOptions, supervise } from "./embedded-restart.ts";
import { makeFolder } from "./make-folder.ts";
import { writePrivately } from "./private-file.ts";
import { acquireStartLock } from "./start-lock.ts";

export const DATABASE = "noisefloor";
/** One that fails ends at once; on a busy or slow machine a start takes long. */
const START_TIMEOUT_MS = 60_000;

export type EmbeddedClickHouse = {
  readonly connection: ClickHouseConnection;
  /** For dashboards on this machine: reads their views, and tables of shared data. */
  readonly grafana: ClickHouseConnection;
  readonly tcpPort: number | undefined;
  /** The server process, which is a child of ours; another one after a restart. */
  readonly pid: number;
  readonly logFile: string;
  /** Settles when the server has ended for good, wanted or not, with why. */
  readonly ended: Promise<StoreError>;
  /** Ends the server and waits for it. Safe to call twice. */
  stop(): Promise<void>;
};

export type EmbeddedOptions = {
  /** A free one unless given; a restart takes the same. */
  readonly httpPort?: number;
  /** For ClickHouse's own protocol, by which any local process can end the server: for tests only. */
  readonly tcpPort?: number;
  /** What the server may allocate; a share of what this machine or container has unless given. */
  readonly memoryBytes?: number | undefined;
  readonly startTimeoutMs?: number;
  readonly purpose?: Purpose;
  /** Given, a server that ends unexpectedly is started again. */
  readonly restart?: RestartOptions;
};

/**
 * Starts a real ClickHouse server for this data directory, bound to 127.0.0.1. It ends with this process, also when
 * that is killed; the data stay.
 * @throws DataDirectoryHeldError when another process runs a server there.
 * @throws StoreError when the platform package is missing, the directory cannot be used, or the server
 * does not answer in time; the message says what to do and ends with the server's last output.
 */
export async function startEmbedded(dataDir: string, options: EmbeddedOptions = {}): Promise<EmbeddedClickHouse> {
  locateLibrary();
  const files = embeddedFiles(dataDir);
  await usingDirectory(dataDir, () => makeFolder(files.data));
  await lockStart(dataDir, files);
  try {
    // Checked again under the lock: another process may have started one meanwhile.
    if ((await findRunning(dataDir)) !== undefined) throw await heldElsewhere(dataDir);
    return await startLocked(dataDir, files, options);
  } finally {
    await rm(files.starting, { force: true });
  }
}

async function startLocked(
  dataDir: string,
  files: EmbeddedFiles,
  options: EmbeddedOptions,
): Promise<EmbeddedClickHouse> {
  const memoryBytes = options.memoryBytes ?? MEMORY_LIMITS.clickHouse;
  const credentials = await usingDirectory(dataDir, () => prepareFiles(files, memoryBytes));
  const httpPort = options.httpPort ?? (await getPort({ host: "127.0.0.1" }));
  const connection = {
    url: `http://127.0.0.1:${httpPort}`,
    username: "noisefloor",
    password: credentials.writer,
    database: DATABASE,
  };
  const start = async () => {
    const server = await startProcess(dataDir, files, { ...options, memoryBytes, httpPort }, connection);
    const note = { pid: process.pid, connection, purpose: options.purpose ?? "service" };
    try {
      await usingDirectory(dataDir, () => writeServerNote(files.server, note));
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  };
  let isLocked = false;
  const hold = async () => {
    if (isLocked) await utimes(files.starting, new Date(), new Date());
    else await lockStart(dataDir, files);
    isLocked = true;
  };
  const release = async () => {
    if (isLocked) await rm(files.starting, { force: true });
    isLocked = false;
  };
  const server = supervise(await start(), { hold, start, release }, files.log, options.restart);
  const stop = async () => {
    await server.stop();
    await forgetServer(dataDir);
  };
  return {
    connection,
    grafana: { ...connection, username: "grafana", password: credentials.grafana },
    tcpPort: options.tcpPort,
    get pid() {
      return server.pid;
    },
    logFile: files.log,
    ended: server.ended,
    stop,
  };
}

/** Whether a server was ever started in this data directory. */
export async function holdsStore(dataDir: string): Promise<boolean> {
  return access(embeddedFiles(dataDir).data).then(
    () => true,
    () => false,
  );
}

async function startProcess(
  dataDir: string,
  files: EmbeddedFiles,
  options: EmbeddedOptions & { readonly httpPort: number; readonly memoryBytes: number },
  connection: ClickHouseConnection,
): Promise<ServerProcess> {
  try {
    return await startServerProcess({
      ...files,
      httpPort: options.httpPort,
      tcpPort: options.tcpPort,
      environment: allocatorEnvironment(options.memoryBytes),
      isReady: () => answers(connection),
      timeoutMs: options.startTimeoutMs ?? START_TIMEOUT_MS,
    });
  } catch (error) {
    throw error instanceof Error && error.message.includes("Cannot lock file") ? await heldElsewhere(dataDir) : error;
  }
}

async function lockStart(dataDir: string, files: EmbeddedFiles): Promise<void> {
  const isLocked = await usingDirectory(dataDir, () => acquireStartLock(files.starting));
  if (!isLocked) throw await heldElsewhere(dataDir);
}

/** Turns the system's errors about a data directory (no folder, no right, a full disk) into a sentence, with what to do. */
async function usingDirectory<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    const remedy = "code" in error && error.code === "EACCES" ? rightsRemedy() : "";
    throw new StoreError(`the data directory ${resolve(dataDir)} cannot be used: ${error.message}${remedy}`);
  }
}

/** In a container the folder has another path than on the host, where its owner is changed. */
function rightsRemedy(): string {
  const user = process.getuid?.() ?? "of this process";
  return `: the folder, or what a container has mounted there, must belong to user ${user} ("chown -R ${user} FOLDER" as root)`;
}

/** Writes the server's configuration. @returns its passwords. */
async function prepareFiles(files: EmbeddedFiles, memoryBytes: number): Promise<EmbeddedCredentials> {
  const credentials = await readOrMakeCredentials(files.credentials);
  await writePrivately(
    files.config,
    embeddedConfigXml({
      configFile: files.config,
      logFile: files.log,
      database: DATABASE,
      writerSha256: sha256(credentials.writer),
      grafanaSha256: sha256(credentials.grafana),
      memoryBytes,
    }),
  );
  return credentials;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
