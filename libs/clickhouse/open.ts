import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseConnection } from "./client.ts";
import { DataDirectoryHeldError, findRunning, startEmbedded } from "./embedded.ts";

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
 */
export async function openClickHouse(choice: ClickHouseChoice): Promise<OpenClickHouse> {
  if (choice.server !== undefined) return notOurs(choice.server, "external");
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
