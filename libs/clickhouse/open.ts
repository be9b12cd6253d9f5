import { setTimeout as sleep } from "node:timers/promises";
import { type ClickHouseConnection, refusal } from "./client.ts";
import { DataDirectoryHeldError, findRunning, startEmbedded } from "./embedded.ts";
import { StoreError } from "./errors.ts";

/** Which ClickHouse to use: the given server, else the one that belongs to the data directory. */
export type ClickHouseChoice = { readonly server?: ClickHouseConnection | undefined; readonly dataDir: string };

export type OpenClickHouse = {
  readonly connection: ClickHouseConnection;
  /** `external` was configured, `running` is another process's for the same data directory, `embedded` is ours. */
  readonly origin: "external" | "running" | "embedded";
  /** Settles if a server of ours ends; never for one that is not ours. */
  readonly ended: Promise<void>;
  /** Ends what this call started, and nothing else. */
  close(): Promise<void>;
};

/**
 * One way to a server for every command: with an external server nothing is embedded; beside a running `noisefloor
 * start` that one's server is used; else one is started for as long as the caller needs it.
 * @throws StoreError when the configured server does not answer or does not take the credentials.
 */
export async function openClickHouse(choice: ClickHouseChoice): Promise<OpenClickHouse> {
  if (choice.server !== undefined) {
    const reason = await refusal(choice.server);
    if (reason === undefined) return notOurs(choice.server, "external");
    throw new StoreError(
      `ClickHouse at ${choice.server.url} cannot be used as user ${choice.server.username}: ${describe(reason)}`,
    );
  }
  const running = await findRunning(choice.dataDir);
  if (running !== undefined) return notOurs(running, "running");
  try {
    const embedded = await startEmbedded(choice.dataDir);
    return { connection: embedded.connection, origin: "embedded", ended: embedded.ended, close: embedded.stop };
  } catch (error) {
    if (!(error instanceof DataDirectoryHeldError)) throw error;
    // Two commands started at the same moment: the other one won, and says where it listens as soon as it is up.
    for (let attempt = 0; attempt < 40; attempt++) {
      const other = await findRunning(choice.dataDir);
      if (other !== undefined) return notOurs(other, "running");
      await sleep(250);
    }
    throw error;
  }
}

function notOurs(connection: ClickHouseConnection, origin: "external" | "running"): OpenClickHouse {
  return { connection, origin, ended: new Promise(() => {}), close: async () => {} };
}

/** A connection that is refused at each of a name's addresses comes as a bundle of errors without a message. */
function describe(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}
