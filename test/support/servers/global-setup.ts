import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import type { TestProject } from "vitest/node";
import { z } from "zod";
import type { OnDemand } from "./on-demand.ts";
import { provideClickHouse, provideKafka, type Running } from "./providers.ts";

declare module "vitest" {
  interface ProvidedContext {
    clickhouse: ClickHouseConnection;
    /** The URL at which a worker asks for what is started on demand. */
    onDemand: string;
  }
}

const BUILD = fileURLToPath(new URL("../../../infra/build.mjs", import.meta.url));

/** Else the first processes that tests start would each build the program. */
async function build(): Promise<Running<string>> {
  const { stdout } = await promisify(execFile)(process.execPath, [BUILD]);
  return { at: dirname(stdout.trim()), stop: async () => {} };
}

/** Starts the real servers once for all test files, Kafka when the first asks for it, and ends them after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const clickhouse = await provideClickHouse(process.env);
  const starts: Readonly<Record<OnDemand, () => Promise<Running<string>>>> = {
    kafka: () => provideKafka(process.env),
    build,
  };
  const started = new Map<OnDemand, Promise<Running<string>>>();
  const start = (name: OnDemand) => {
    const running = started.get(name) ?? starts[name]();
    started.set(name, running);
    return running;
  };
  const server = createServer((request, response) => {
    const name = request.url === "/kafka" ? "kafka" : "build";
    start(name).then(
      ({ at }) => response.end(at),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = z.object({ port: z.int() }).parse(server.address());
  project.provide("clickhouse", clickhouse.at);
  project.provide("onDemand", `http://127.0.0.1:${port}`);
  return async () => {
    server.close();
    for (const running of started.values()) await running.then(({ stop }) => stop()).catch(() => {});
    await clickhouse.stop();
  };
}
