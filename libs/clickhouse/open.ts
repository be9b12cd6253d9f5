import { setTimeout as sleep } from "node:timers/promises";
import { type ClickHouseConnection, refusal } from "./client.ts";
import { DataDirectoryHeldError, findRunning, type Purpose, startEmbedded } from "./embedded.ts";
import { missingRight, StoreError } from "./errors.ts";

/** Which ClickHouse to use: the given server, else the one that belongs to the data directory. */
export type ClickHouseChoice = { readonly server?: ClickHouseConnection | undefined; readonly dataDir: string };

export type OpenClickHouse = {
  readonly connection: ClickHouseConnection;
  /** `external` was configured, `running` is another process's for the same data directory, `embedded` is ours. */
  readonly origin: "external" | "running" | "embedded";
  /** Settles if the server of the data directory ends, whoever runs it; never for an external one. */
  readonly ended: Promise<void>;
  /** Ends what this call started, and nothing else. */
  close(): Promise<void>;
};

export type OpenTerms = {
  readonly purpose: Purpose;
  /** Ends the waiting for another command. */
  readonly signal?: AbortSignal;
  /** Hears that another command is waited for. */
  readonly onWait?: () => void;
};

/**
 * One way to a server for every command: with an external server nothing is embedded; beside a running `noisefloor
 * start` that one's server is used; else one is started for as long as the caller needs it. A command's server ends with
 * that command, so a service waits for that end and runs its own.
 * @throws StoreError when the configured server does not answer or does not take the credentials, or when a restore has
 * the data directory for itself.
 */
export async function openClickHouse(choice: ClickHouseChoice, terms: OpenTerms): Promise<OpenClickHouse> {
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
  for (let attempt = 0; ; attempt++) {
    const running = await findRunning(choice.dataDir);
    if (running?.purpose === "restore") {
      throw new StoreError("a restore is under way in this data directory: try again when it has ended");
    }
    if (running?.purpose === "command" && terms.purpose === "service") {
      if (!hasWaited) terms.onWait?.();
      hasWaited = true;
      attempt = 0;
    } else if (running !== undefined) {
      return anothers(running.connection, choice.dataDir);
    } else {
      try {
        const embedded = await startEmbedded(choice.dataDir, { purpose: terms.purpose });
        return { connection: embedded.connection, origin: "embedded", ended: embedded.ended, close: embedded.stop };
      } catch (error) {
        // Two started at the same moment: the other one won, and says where it listens as soon as it is up.
        if (!(error instanceof DataDirectoryHeldError) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
    await sleep(ATTEMPT_MS);
    if (terms.signal?.aborted) throw new StoreError("stopped while another command had the data directory");
  }
}

const ATTEMPT_MS = 250;
const MAX_ATTEMPTS = 20;
const LOOK_INTERVAL_MS = 5_000;

/** Another process's server goes when that process does, and may come back elsewhere: somebody has to look. */
function anothers(connection: ClickHouseConnection, dataDir: string): OpenClickHouse {
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<void>((settle) => {
    timer = setInterval(async () => {
      const found = await findRunning(dataDir).catch(() => undefined);
      if (found?.connection.url !== connection.url) settle();
    }, LOOK_INTERVAL_MS);
    timer.unref();
  });
  return { connection, origin: "running", ended, close: async () => clearInterval(timer) };
}

/** A connection that is refused at each of a name's addresses comes as a bundle of errors without a message. */
function describe(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}
