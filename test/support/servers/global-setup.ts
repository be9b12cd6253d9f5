import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import type { TestProject } from "vitest/node";
import { provideClickHouse, provideKafka } from "./providers.ts";

declare module "vitest" {
  interface ProvidedContext {
    clickhouse: ClickHouseConnection;
    kafkaBrokers: string;
    /** The folder with the built pages. */
    explorer: string;
  }
}

const BUILD = fileURLToPath(new URL("../../../infra/build.mjs", import.meta.url));

/** Starts the real servers once for all test files, and ends them after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [build, ...servers] = await Promise.allSettled([
    // Else the first processes that tests start would each build the program.
    promisify(execFile)(process.execPath, [BUILD]),
    provideClickHouse(process.env),
    provideKafka(process.env),
  ]);
  const stop = async () => {
    for (const server of servers) if (server.status === "fulfilled") await server.value.stop();
  };
  const [clickhouse, kafka] = servers;
  if (build.status === "rejected" || clickhouse.status === "rejected" || kafka.status === "rejected") {
    await stop();
    throw [build, clickhouse, kafka].find((one) => one.status === "rejected")?.reason;
  }
  project.provide("explorer", join(dirname(build.value.stdout.trim()), "explorer"));
  project.provide("clickhouse", clickhouse.value.at);
  project.provide("kafkaBrokers", kafka.value.at);
  return stop;
}
