import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import getPort from "get-port";

/** A ClickHouse that a test can kill, and that comes back at the same address with its data. */
export type RestartableStore = {
  readonly connection: ClickHouseConnection;
  /** Then another server answers while one is killed. */
  readonly hasReplicas?: boolean;
  /** SIGKILL to the server process; resolves when it is gone. */
  kill(): Promise<void>;
  /** Does nothing while it is running. */
  start(): Promise<void>;
  /** Stops it and removes its data. */
  close(): Promise<void>;
};

export async function startRestartableStore(): Promise<RestartableStore> {
  const dataDir = await mkdtemp(join(tmpdir(), "noisefloor-restartable-"));
  const ports = { httpPort: await getPort({ host: "127.0.0.1" }), tcpPort: await getPort({ host: "127.0.0.1" }) };
  let server = await startEmbedded(dataDir, ports);
  let isRunning = true;
  return {
    connection: server.connection,
    async kill() {
      process.kill(server.pid, "SIGKILL");
      await server.ended;
      isRunning = false;
    },
    async start() {
      if (isRunning) return;
      server = await startEmbedded(dataDir, ports);
      isRunning = true;
    },
    async close() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
