import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { answers, type ClickHouseConnection, connectionError } from "../client/connect.ts";
import { explainMissingRight, isTransient, StoreError } from "../client/errors.ts";
import { startEmbedded } from "../embedded/embedded.ts";
import {
  DataDirectoryHeldError,
  embeddedFiles,
  findRunning,
  type Purpose,
  readServerNote,
} from "../embedded/embedded-files.ts";
import type { RestartEvents } from "../embedded/embedded-restart.ts";
import { isAlive } from "../embedded/start-lock.ts";

/** Which ClickHouse to use: the given server, else the one that belongs to the data directory. */
export type ClickHouseChoice = {
  readonly server?: ClickHouseConnection | undefined;
  readonly dataDir: string;
  /** What an embedded server may allocate; a share of what this machine or container has unless given. */
  readonly memoryBytes?: number | undefined;
};

export type OpenClickHouse = {
  readonly connection: ClickHouseConnection;
  /** `external` was configured, `running` is another process's for the same data directory, `embedded` is ours. */
  readonly origin: "external" | "running" | "embedded";
  /** Settles, with the reason, when the server of the data directory ends for good; never for an external one. */
  readonly ended: Promise<StoreError>;
  /** Ends what this call started, and nothing else. */
  close(): Promise<void>;
};

export type OpenOptions = {
  /** A `look` only reads and can be repeated: it may use the server of a command, which ends with that command. */
  readonly purpose: Purpose | "look";
  /** Aborts the wait for another command. */
  readonly signal?: AbortSignal;
  /** Called once when it has to wait for another command. */
  readonly onWait?: () => void;
  /** Called with the path of the log of a server that this call starts. @returns what to call when that restarts. */
  readonly onRestart?: (logFile: string) => RestartEvents;
};

/**
 * Opens the configured server; else the one that another process runs for the same data directory, such as `noisefloor
 * start`; else an embedded one for as long as the caller needs it. A command's server ends with that command, so
 * services and other commands wait for its end; a `look` waits a moment, but not for a replay of hours.
 * @throws StoreError when the configured server does not answer or does not take the credentials, or when a restore has
 * the data directory to itself.
 */
export async function openClickHouse(choice: ClickHouseChoice, options: OpenOptions): Promise<OpenClickHouse> {
  if (choice.server !== undefined) {
    const connection = await firstUsable(choice.server);
    return { connection, origin: "external", ended: new Promise(() => {}), close: async () => {} };
  }
  let hasWaited = false;
  const isLook = options.purpose === "look";
  const waitUntil = isLook ? Date.now() + LOOK_WAIT_MS : options.purpose === "restore" ? 0 : Infinity;
  let startUntil = Date.now() + START_WAIT_MS;
  for (;;) {
    const running = await findRunning(choice.dataDir);
    if (running?.purpose === "restore") {
      throw new StoreError(
        `a restore is running in the data directory ${resolve(choice.dataDir)}: try again when it has ended`,
      );
    }
    if (running?.purpose === "command" && Date.now() < waitUntil) {
      if (!hasWaited) options.onWait?.();
      hasWaited = true;
      startUntil = Date.now() + START_WAIT_MS;
    } else if (running !== undefined) {
      return useRunning(running.connection, choice.dataDir);
    } else {
      try {
        const events = options.onRestart?.(embeddedFiles(choice.dataDir).log) ?? {};
        const purpose = isLook ? "command" : options.purpose;
        const embedded = await startEmbedded(choice.dataDir, {
          purpose,
          memoryBytes: choice.memoryBytes,
          restart: events,
        });
        return { connection: embedded.connection, origin: "embedded", ended: embedded.ended, close: embedded.stop };
      } catch (error) {
        // Another process was faster. It writes down where its server listens as soon as that is up.
        if (!(error instanceof DataDirectoryHeldError) || Date.now() > startUntil) throw error;
      }
    }
    await sleep(ATTEMPT_MS);
    if (options.signal?.aborted) {
      throw new StoreError(
        `stopped while waiting for a command that uses the data directory ${resolve(choice.dataDir)}`,
      );
    }
  }
}

/** The connection, by the first of its addresses at which a server answers. @throws StoreError when none does. */
async function firstUsable(connection: ClickHouseConnection): Promise<ClickHouseConnection> {
  const { url, otherUrls = [] } = connection;
  const reason = await connectionError(connection);
  if (reason === undefined) return connection;
  const [next, ...rest] = otherUrls;
  if (next === undefined) throw new StoreError(explainUnusable(connection, reason));
  const found = await firstUsable({ ...connection, url: next, otherUrls: rest }).catch(() => undefined);
  if (found === undefined) throw new StoreError(explainUnusable(connection, reason));
  return { ...found, otherUrls: [...(found.otherUrls ?? []), url] };
}

const ATTEMPT_MS = 250;
/** Longer than another process may take to start its server. */
const START_WAIT_MS = 30_000;
/** As long as most commands take. */
const LOOK_WAIT_MS = 3_000;
const POLL_MS = 5_000;
const LOSS_ATTEMPTS = 4;

/**
 * Another process's server ends with that process and may come back at another address, so it is polled. A server that
 * ends alone comes back at its address, because its process restarts it.
 */
function useRunning(connection: ClickHouseConnection, dataDir: string): OpenClickHouse {
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<StoreError>((settle) => {
    const poll = async () => {
      const note = await readServerNote(dataDir);
      const isSame = note?.connection.url === connection.url && note.connection.password === connection.password;
      if (isSame && (isAlive(note.pid) || (await answers(connection)))) return;
      settle(new StoreError("the process whose ClickHouse was used has ended"));
    };
    timer = setInterval(poll, POLL_MS);
    timer.unref();
  });
  return { connection, origin: "running", ended, close: async () => clearInterval(timer) };
}

/** @returns the error, or one that says that the process which ran the server has ended, if that is the cause. */
export async function explainLoss(server: OpenClickHouse, error: unknown): Promise<unknown> {
  if (server.origin !== "running" || !(isTransient(error) || (error instanceof Error && isTransient(error.cause)))) {
    return error;
  }
  // A server that is shutting down may answer for another moment.
  for (let attempt = 0; attempt < LOSS_ATTEMPTS; attempt++) {
    if (!(await answers(server.connection))) {
      return new StoreError("the process whose ClickHouse was used has ended: run it again", { cause: error });
    }
    await sleep(ATTEMPT_MS);
  }
  return error;
}

/** Why a configured server cannot be used, and what to do. */
export function explainUnusable({ url, username, cluster }: ClickHouseConnection, error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const code = first instanceof Error && "code" in first && typeof first.code === "string" ? first.code : "";
  const known = CONNECTION_ERRORS[code];
  // Another server of the cluster than the configured one may be away, and only the error says which.
  const host = cluster !== undefined && first instanceof Error && "address" in first ? first.address : undefined;
  const at = typeof host === "string" ? Object.assign(new URL(url), { hostname: host }).origin : url;
  if (known !== undefined) return `cannot connect to ClickHouse at ${at}: ${known}`;
  return `ClickHouse at ${url} cannot be used as user ${username}: ${formatReason(explainMissingRight(error) ?? error)}`;
}

const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused. Is it running?",
  ENOTFOUND: "there is no such host. Check CLICKHOUSE_URL",
  EAI_AGAIN: "the name server does not answer. Check CLICKHOUSE_URL and the network",
  ETIMEDOUT: "no answer. Check CLICKHOUSE_URL, the network and the firewall",
  EHOSTUNREACH: "there is no way to that host. Check CLICKHOUSE_URL and the network",
};

/** A connection that fails at each of a name's addresses gives an AggregateError without a message. */
function formatReason(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}
