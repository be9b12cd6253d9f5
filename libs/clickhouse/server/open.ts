import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { answers, type ClickHouseConnection, refusal } from "../client/connect.ts";
import { isTransient, missingRight, StoreError } from "../client/errors.ts";
import { startEmbedded } from "./embedded.ts";
import { DataDirectoryHeldError, embeddedFiles, findRunning, type Purpose, readServerNote } from "./embedded-files.ts";
import type { RestartEvents } from "./embedded-restart.ts";
import { isAlive } from "./start-lock.ts";

/** Which ClickHouse to use: the given server, else the one that belongs to the data directory. */
export type ClickHouseChoice = { readonly server?: ClickHouseConnection | undefined; readonly dataDir: string };

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
  /** A `look` changes nothing and can be had again: it may lose the server of a command that ends. */
  readonly purpose: Purpose | "look";
  /** Ends the waiting for another command. */
  readonly signal?: AbortSignal;
  /** Hears that another command is waited for. */
  readonly onWait?: () => void;
  /** Called when a server of ours ends unasked and is started again, with where its log is. */
  readonly onRestart?: (logFile: string) => RestartEvents;
};

/**
 * One way to a server for every command: with an external server nothing is embedded; beside a running `noisefloor
 * start` that one's server is used; else one is started for as long as the caller needs it. A command's server ends with
 * that command, so services and other commands wait for that end and run their own; who only looks waits a moment, but
 * not for a replay of hours.
 * @throws StoreError when the configured server does not answer or does not take the credentials, or when a restore has
 * the data directory for itself.
 */
export async function openClickHouse(choice: ClickHouseChoice, options: OpenOptions): Promise<OpenClickHouse> {
  if (choice.server !== undefined) {
    const reason = await refusal(choice.server);
    if (reason === undefined) {
      return { connection: choice.server, origin: "external", ended: new Promise(() => {}), close: async () => {} };
    }
    throw new StoreError(
      `ClickHouse at ${choice.server.url} cannot be used as user ${choice.server.username}: ${describe(missingRight(reason) ?? reason)}`,
    );
  }
  let hasWaited = false;
  const isLook = options.purpose === "look";
  const patientUntil = isLook ? Date.now() + LOOK_PATIENCE_MS : options.purpose === "restore" ? 0 : Infinity;
  let startUntil = Date.now() + START_PATIENCE_MS;
  for (;;) {
    const running = await findRunning(choice.dataDir);
    if (running?.purpose === "restore") {
      throw new StoreError(
        `a restore is under way in the data directory ${resolve(choice.dataDir)}: try again when it has ended`,
      );
    }
    if (running?.purpose === "command" && Date.now() < patientUntil) {
      if (!hasWaited) options.onWait?.();
      hasWaited = true;
      startUntil = Date.now() + START_PATIENCE_MS;
    } else if (running !== undefined) {
      return anothers(running.connection, choice.dataDir);
    } else {
      try {
        const events = options.onRestart?.(embeddedFiles(choice.dataDir).log) ?? {};
        const purpose = isLook ? "command" : options.purpose;
        const embedded = await startEmbedded(choice.dataDir, { purpose, restart: events });
        return { connection: embedded.connection, origin: "embedded", ended: embedded.ended, close: embedded.stop };
      } catch (error) {
        // Two started at the same moment: the other one won, and says where it listens as soon as it is up.
        if (!(error instanceof DataDirectoryHeldError) || Date.now() > startUntil) throw error;
      }
    }
    await sleep(ATTEMPT_MS);
    if (options.signal?.aborted) {
      throw new StoreError(`stopped while another command had the data directory ${resolve(choice.dataDir)}`);
    }
  }
}

const ATTEMPT_MS = 250;
/** Longer than another process may take to start its server. */
const START_PATIENCE_MS = 30_000;
/** As long as most commands take. */
const LOOK_PATIENCE_MS = 3_000;
const LOOK_INTERVAL_MS = 5_000;
const LOOKS_AT_LOSS = 4;

/**
 * Another process's server goes when that process does, and may come back elsewhere: somebody has to look. One that ended
 * alone comes back where it was, for its process starts it again.
 */
function anothers(connection: ClickHouseConnection, dataDir: string): OpenClickHouse {
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<StoreError>((settle) => {
    const look = async () => {
      const note = await readServerNote(dataDir);
      const isSame = note?.connection.url === connection.url && note.connection.password === connection.password;
      if (isSame && (isAlive(note.pid) || (await answers(connection)))) return;
      settle(new StoreError("the process whose ClickHouse was used has ended"));
    };
    timer = setInterval(look, LOOK_INTERVAL_MS);
    timer.unref();
  });
  return { connection, origin: "running", ended, close: async () => clearInterval(timer) };
}

/** @returns what to tell of an error: that a server went with the process that ran it is no fault of that server. */
export async function explainLoss(server: OpenClickHouse, error: unknown): Promise<unknown> {
  if (server.origin !== "running" || !(isTransient(error) || (error instanceof Error && isTransient(error.cause)))) {
    return error;
  }
  // A server that is ending may take another moment to be gone.
  for (let look = 0; look < LOOKS_AT_LOSS; look++) {
    if (!(await answers(server.connection))) {
      return new StoreError("the process whose ClickHouse was used has ended: run it again", { cause: error });
    }
    await sleep(ATTEMPT_MS);
  }
  return error;
}

/** A connection that is refused at each of a name's addresses comes as a bundle of errors without a message. */
function describe(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}
