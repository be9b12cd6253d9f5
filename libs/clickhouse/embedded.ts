import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { access, mkdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { lastWordsOf } from "@noisefloor/telemetry/last-words.ts";
import getPort from "get-port";
import { z } from "zod";
import { answers, type ClickHouseConnection } from "./client.ts";
import { embeddedConfigXml } from "./embedded-config.ts";
import { StoreError } from "./errors.ts";
import { createPrivately, writePrivately } from "./private-file.ts";
import { claimStart } from "./start-claim.ts";

/** The release of the platform packages that carries a server which can listen; see the install instructions below. */
export const EMBEDDED_VERSION = "26.7.3-stable.1";
export const DATABASE = "noisefloor";

/** Why somebody runs a server: a service, a command for as long as it works, or a restore, which works alone. */
export type Purpose = "service" | "command" | "restore";

export type EmbeddedClickHouse = {
  readonly connection: ClickHouseConnection;
  /** For dashboards on this machine: may read the tables of the database and nothing else. */
  readonly grafana: ClickHouseConnection;
  readonly tcpPort: number;
  /** The server process, which is a child of ours. */
  readonly pid: number;
  readonly logFile: string;
  /** Settles when the server process has ended, wanted or not. */
  readonly ended: Promise<void>;
  /** Ends the server and waits for it. Safe to call twice. */
  stop(): Promise<void>;
};

export class EmbeddedClickHouseError extends StoreError {
  override name = "EmbeddedClickHouseError";
}

/** Another process runs a server in this data directory; what to do is to use that one. */
export class DataDirectoryHeldError extends EmbeddedClickHouseError {
  override name = "DataDirectoryHeldError";
}

const credentialsSchema = z.object({ writer: z.string(), grafana: z.string() });
const serverFileSchema = z.object({
  pid: z.int(),
  url: z.string(),
  username: z.string(),
  password: z.string(),
  database: z.string(),
  // Without it an earlier version wrote the file.
  purpose: z.enum(["service", "command", "restore"]).default("service"),
});

type Files = Readonly<Record<"root" | "data" | "config" | "credentials" | "starting" | "server" | "log", string>>;

function filesOf(dataDir: string): Files {
  const root = join(resolve(dataDir), "clickhouse");
  return {
    root,
    data: join(root, "data"),
    config: join(root, "config.xml"),
    credentials: join(root, "credentials.json"),
    starting: join(root, "starting"),
    server: join(root, "server.json"),
    log: join(root, "clickhouse.log"),
  };
}

/**
 * Starts a real ClickHouse server for this data directory, bound to 127.0.0.1, on free ports unless told otherwise.
 * It ends with this process, also when that is killed; its data stay.
 * @throws DataDirectoryHeldError when another process runs a server there.
 * @throws EmbeddedClickHouseError when the platform package is missing, the directory cannot be used, or the server does
 * not answer in time; the message says what to do and carries the server's last words.
 */
export async function startEmbedded(
  dataDir: string,
  options: { httpPort?: number; tcpPort?: number; startTimeoutMs?: number; purpose?: Purpose } = {},
): Promise<EmbeddedClickHouse> {
  const library = locateLibrary();
  const files = filesOf(dataDir);
  await usingDirectory(dataDir, () => mkdir(files.data, { recursive: true, mode: 0o700 }));
  const isClaimed = await usingDirectory(dataDir, () => claimStart(files.starting));
  if (!isClaimed) throw heldElsewhere(dataDir);
  try {
    // Looked for once more: another may have started since the caller did.
    if ((await findRunning(dataDir)) !== undefined) throw heldElsewhere(dataDir);
    return await startAlone(library, dataDir, files, options);
  } finally {
    await rm(files.starting, { force: true });
  }
}

async function startAlone(
  library: string,
  dataDir: string,
  files: Files,
  options: NonNullable<Parameters<typeof startEmbedded>[1]>,
): Promise<EmbeddedClickHouse> {
  const credentials = await usingDirectory(dataDir, () => prepareFiles(files));
  const httpPort = options.httpPort ?? (await getPort({ host: "127.0.0.1" }));
  const tcpPort = options.tcpPort ?? (await getPort({ host: "127.0.0.1" }));
  const child = spawnServer(library, files, httpPort, tcpPort);
  const lastWords = lastWordsOf(child);
  const ended = new Promise<void>((settle) => child.once("close", () => settle()));

  const connection = {
    url: `http://127.0.0.1:${httpPort}`,
    username: "noisefloor",
    password: credentials.writer,
    database: DATABASE,
  };
  const stop = async () => {
    child.stdin?.end();
    const killer = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await ended;
    clearTimeout(killer);
    await forgetServer(files.server);
  };
  const note = JSON.stringify({ pid: process.pid, ...connection, purpose: options.purpose ?? "service" });
  try {
    await waitUntilReady(connection, child, lastWords, dataDir, options.startTimeoutMs ?? 20_000);
    await usingDirectory(dataDir, () => writePrivately(files.server, note));
  } catch (error) {
    child.kill("SIGKILL");
    await ended;
    throw error;
  }
  return {
    connection,
    grafana: { ...connection, username: "grafana", password: credentials.grafana },
    tcpPort,
    pid: child.pid ?? 0,
    logFile: files.log,
    ended,
    stop,
  };
}

/** Whether a server was ever started in this data directory. */
export async function holdsStore(dataDir: string): Promise<boolean> {
  return access(filesOf(dataDir).data).then(
    () => true,
    () => false,
  );
}

/** The server that another process runs for this data directory, if one answers, and why it does. */
export async function findRunning(
  dataDir: string,
): Promise<{ readonly connection: ClickHouseConnection; readonly purpose: Purpose } | undefined> {
  let text: string;
  try {
    text = await readFile(filesOf(dataDir).server, "utf8");
  } catch {
    return undefined;
  }
  const parsed = serverFileSchema.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { pid: _pid, purpose, ...connection } = parsed.data;
  return (await answers(connection)) ? { connection, purpose } : undefined;
}

/** The engine that the platform package carries. Throws, with what to do, when it is not installed. */
export function locateLibrary(platform: string = process.platform, arch: string = process.arch): string {
  const suffix = platform === "linux" ? "-gnu" : "";
  const packageName = `@chdb/lib-${platform}-${arch}${suffix}`;
  try {
    return createRequire(import.meta.url).resolve(`${packageName}/libchdb.so`);
  } catch {
    throw new EmbeddedClickHouseError(
      `the embedded ClickHouse for ${platform}-${arch} is not installed: run ` +
        `"npm install --no-save ${packageName}@${EMBEDDED_VERSION}", or set CLICKHOUSE_URL to a ClickHouse server`,
    );
  }
}

function spawnServer(library: string, files: Files, httpPort: number, tcpPort: number): ChildProcess {
  const query = [
    "SYSTEM START LISTEN HTTP",
    "SYSTEM START LISTEN TCP",
    // These two block until standard input closes: the server lives as long as its parent.
    "CREATE TEMPORARY TABLE keepalive (line String) ENGINE = File(LineAsString, stdin)",
    "SELECT count() FROM keepalive",
  ].join("; ");
  const argv = ["clickhouse", "--path", files.data, "--config-file", files.config, "--log-level", "warning"];
  argv.push("--listen_host", "127.0.0.1", "--http_port", String(httpPort), "--tcp_port", String(tcpPort));
  argv.push("--query", query);
  return spawn(process.execPath, [fileURLToPath(new URL("embedded-server.mjs", import.meta.url)), library, ...argv], {
    // A process group of its own: Ctrl-C goes to the whole foreground group and would end the server before its
    // clients had written what they hold.
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    cwd: files.root,
  });
}

async function waitUntilReady(
  connection: ClickHouseConnection,
  child: ChildProcess,
  lastWords: () => string,
  dataDir: string,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) {
      if (lastWords().includes("Cannot lock file")) {
        throw heldElsewhere(dataDir);
      }
      throw new EmbeddedClickHouseError(`the embedded ClickHouse ended while starting:\n${lastWords()}`);
    }
    if (await answers(connection)) return;
    await sleep(50);
  }
  throw new EmbeddedClickHouseError(
    `the embedded ClickHouse did not answer within ${timeoutMs / 1000} s; its last words:\n${lastWords()}`,
  );
}

/** Tells in a sentence what the system has against a data directory: below a file, of somebody else, on a full disk. */
async function usingDirectory<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new EmbeddedClickHouseError(`the data directory ${resolve(dataDir)} cannot be used: ${error.message}`);
  }
}

function heldElsewhere(dataDir: string): DataDirectoryHeldError {
  return new DataDirectoryHeldError(
    `the data directory ${resolve(dataDir)} is held by another process: stop that one, or set DATA_DIR to another`,
  );
}

/** @returns the passwords of the server for which it makes the files. */
async function prepareFiles(files: Files): Promise<z.infer<typeof credentialsSchema>> {
  const credentials = await readOrMakeCredentials(files.credentials);
  await writePrivately(
    files.config,
    embeddedConfigXml({
      configFile: files.config,
      logFile: files.log,
      database: DATABASE,
      writerSha256: sha256(credentials.writer),
      grafanaSha256: sha256(credentials.grafana),
    }),
  );
  return credentials;
}

/** The data directory's passwords, made the first time. Of two processes that make them at once, one's are kept. */
async function readOrMakeCredentials(file: string): Promise<z.infer<typeof credentialsSchema>> {
  const fresh = { writer: randomBytes(24).toString("base64url"), grafana: randomBytes(24).toString("base64url") };
  await createPrivately(file, JSON.stringify(fresh));
  const parsed = credentialsSchema.safeParse(parseJson(await readFile(file, "utf8")));
  if (!parsed.success) throw new EmbeddedClickHouseError(`${file} is damaged: delete it to have a new one made`);
  return parsed.data;
}

/** Removes the note of our server, unless another process has since written its own. */
async function forgetServer(file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => "");
  const parsed = serverFileSchema.safeParse(parseJson(text));
  if (parsed.success && parsed.data.pid === process.pid) await rm(file, { force: true });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
