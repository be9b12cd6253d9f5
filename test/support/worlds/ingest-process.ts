import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import getPort from "get-port";
import type { CommandLine, Finished } from "./command-line.ts";
import { urlsOf } from "./databases.ts";

/** A real `noisefloor ingest`, or another service. */
export type IngestProcess = {
  readonly pid: number;
  /** Its log so far. */
  log(): string;
  /** The sum of the samples whose line in /metrics starts with this text; 0 without any. */
  metric(start: string): Promise<number>;
  /** Memory in MiB, sampled each second from its start. */
  readonly memory: readonly number[];
  /** The error, if it has ended without a signal of ours. */
  unexpectedExit(): string | undefined;
  kill(): Promise<void>;
  /** Sends SIGTERM. @returns the exit code, and the milliseconds until then. */
  terminate(): Promise<{ readonly code: number | null; readonly ms: number }>;
};

/** The environment in which services find these servers. */
export function environmentOf(store: ClickHouseConnection, kafka?: KafkaSettings): Record<string, string> {
  return {
    LOG_LEVEL: "info",
    CLICKHOUSE_URL: urlsOf(store),
    CLICKHOUSE_USER: store.username,
    CLICKHOUSE_PASSWORD: store.password,
    CLICKHOUSE_DATABASE: store.database,
    ...(store.cluster !== undefined && { CLICKHOUSE_CLUSTER: store.cluster }),
    ...(kafka && {
      KAFKA_BROKERS: kafka.connection.brokers.join(","),
      KAFKA_TOPIC: kafka.topic,
      KAFKA_GROUP_ID: kafka.groupId,
      KAFKA_PARTITIONS: String(kafka.partitions),
      KAFKA_SESSION_TIMEOUT_SECONDS: String(kafka.sessionTimeoutMs / 1_000),
    }),
  };
}

export async function startIngest(
  commandLine: CommandLine,
  env: Record<string, string>,
  command: "ingest" | "query" = "ingest",
): Promise<IngestProcess> {
  const port = await getPort({ host: "127.0.0.1" });
  const { child, errors, finished } = commandLine.run([command], { ...env, HTTP_PORT: String(port) });
  const pid = child.pid ?? 0;
  const memory: number[] = [];
  let ended: Finished | undefined;
  let isEndWanted = false;
  void finished.then((how) => {
    ended = how;
  });
  void (async () => {
    for (; ended === undefined; await sleep(1_000)) {
      const resident = await residentMiB(pid);
      if (resident !== undefined) memory.push(resident);
    }
  })();
  return {
    pid,
    memory,
    log: errors,
    async metric(start) {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const lines = text.split("\n").filter((line) => line.startsWith(start));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
    },
    unexpectedExit() {
      if (ended === undefined || isEndWanted) return undefined;
      return `${command} ended by itself with ${ended.code}: ${ended.stderr.slice(-1_500)}`;
    },
    async kill() {
      isEndWanted = true;
      child.kill("SIGKILL");
      await finished;
    },
    async terminate() {
      isEndWanted = true;
      const start = performance.now();
      child.kill("SIGTERM");
      const { code } = await finished;
      return { code, ms: performance.now() - start };
    },
  };
}

/** Undefined once the process has gone. */
export async function residentMiB(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(status);
  return line === null ? undefined : Math.round(Number(line[1]) / 1_024);
}
