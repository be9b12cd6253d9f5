import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { constants, loadavg, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import getPort from "get-port";
import { eventually } from "../support/eventually.ts";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";
import { environmentOf, residentMiB } from "../support/worlds/ingest-process.ts";
import type { HostileOrder } from "./load/hostile.ts";
import { measure, type Probe } from "./load/probes.ts";
import { ADDRESSES, addressOf, type LoadedStore, loadStore } from "./load/world.ts";
import type { Scenario } from "./scenario.ts";

/** The memory that docker-compose.yml gives the queries' process; here the intake shares it. */
const HEAP_MIB = 512;
const MAX_MEMORY_MIB = 1_024;
const KEYS = { good: randomUUID(), hostile: randomUUID() };

/** Fifty hostile callers attack while well-behaved ones make their usual requests. */
export const load: Scenario = {
  name: "load",
  promise: "beside fifty hostile callers health checks, lookups and the intake stay fast, and memory stays bounded",
  events: { soak: 0, test: 0 },
  async play({ servers }, extent, say) {
    const [observations, seconds] = extent === "soak" ? [1_500_000, 60] : [100_000, 10];
    const store = await loadStore(servers.store.connection, observations);
    say(`${observations} observations are stored; load average ${loadavg().map((one) => one.toFixed(1))}`);
    const commandLine = await openCommandLine();
    try {
      const service = await startService(commandLine, store);
      const quiet = await measureAll(service.port, 5);
      say("without hostile callers:");
      console.table(quiet.rows);
      service.resetSamples();
      const hostile = startHostileCallers({
        port: service.port,
        ...store,
        sensorKey: KEYS.hostile,
        seconds: seconds + 2,
      });
      await sleep(2_000);
      const { rows, broken } = await measureAll(service.port, seconds);
      say("beside fifty hostile callers:");
      console.table(rows);
      say(`hostile callers got ${await hostile}`);
      say(`rejected: ${await service.metrics("noisefloor_http_rejected_total")}`);
      const peak = Math.max(...service.memory);
      const lag = Math.max(...service.lags);
      say(`memory at most ${peak} MiB; event loop blocked for at most ${Math.round(lag * 1_000)} ms`);
      say(`load average ${loadavg().map((one) => one.toFixed(1))}`);
      if (peak > MAX_MEMORY_MIB) broken.push(`the process took ${peak} MiB of ${MAX_MEMORY_MIB}`);
      if (broken.length > 0) throw new Error(broken.join("\n"));
      return `50 hostile callers for ${seconds} s; at most ${peak} MiB`;
    } finally {
      await commandLine.close();
      await store.client.command({
        query: "DROP DATABASE {name:Identifier}",
        query_params: { name: store.connection.database },
      });
      await store.client.close();
    }
  },
};

const PROBES: readonly Probe[] = [
  { name: "GET /healthz", method: "GET", path: () => "/healthz", statuses: [200], everyMs: 50, mostMs: 100 },
  {
    name: "GET /v3/community/{ip}",
    method: "GET",
    path: () => `/v3/community/${addressOf(Math.floor(Math.random() * ADDRESSES))}`,
    // A few of them were never observed.
    statuses: [200, 404],
    everyMs: 50,
    mostMs: 250,
  },
  {
    name: "POST /v1/observations",
    method: "POST",
    path: () => "/v1/observations",
    body: () =>
      JSON.stringify({
        observed_at: new Date().toISOString(),
        sensor_id: "good",
        source_ip: "46.0.0.1",
        tags: ["loud"],
      }),
    headers: { key: KEYS.good },
    statuses: [202],
    everyMs: 100,
    mostMs: 1_000,
  },
];

async function measureAll(port: number, seconds: number) {
  const end = Date.now() + seconds * 1_000;
  const broken: string[] = [];
  const rows = await Promise.all(
    PROBES.map(async (probe) => {
      const { failures, ...times } = await measure(port, probe, () => Date.now() > end);
      if (failures.length > 0) broken.push(`${probe.name}: ${failures.length} failed: ${[...new Set(failures)]}`);
      if (times.worst > probe.mostMs) broken.push(`${probe.name} took ${times.worst} ms, at most ${probe.mostMs}`);
      return { probe: probe.name, ...times, "at most": probe.mostMs, failed: failures.length };
    }),
  );
  return { rows, broken };
}

/** Intake and queries in one process, as `noisefloor start` runs them. */
async function startService(commandLine: CommandLine, { connection }: LoadedStore) {
  const port = await getPort({ host: "127.0.0.1" });
  const { child, finished } = commandLine.run(["start"], {
    ...environmentOf(connection),
    LOG_LEVEL: "error",
    HTTP_PORT: String(port),
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
    SENSOR_KEYS: `${KEYS.good},${KEYS.hostile}`,
    // No plan limits lookups: the other limits have to hold.
    PLANS: JSON.stringify({ unauthenticated: { reach_days: 90 } }),
  });
  const memory: number[] = [];
  const lags: number[] = [];
  let hasEnded = false;
  void finished.then(() => {
    hasEnded = true;
  });
  const linesOf = async (name: string) => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return text.split("\n").filter((line) => line.startsWith(name));
  };
  await eventually(async () => {
    if (!(await fetch(`http://127.0.0.1:${port}/readyz`)).ok) throw new Error("the service is not ready");
  }, 60_000);
  void (async () => {
    for (let round = 0; !hasEnded; round++) {
      const resident = await residentMiB(child.pid ?? 0);
      if (resident !== undefined) memory.push(resident);
      if (round % 10 === 0) {
        const [line = ""] = await linesOf("nodejs_eventloop_lag_max_seconds").catch(() => []);
        lags.push(Number(line.split(" ")[1] ?? 0));
      }
      await sleep(250);
    }
  })();
  /** The memory and lag of the start are not the callers' doing. */
  const resetSamples = () => {
    memory.length = 0;
    lags.length = 0;
  };
  return { port, memory, lags, resetSamples, metrics: async (name: string) => (await linesOf(name)).join(", ") };
}

/**
 * On machines of their own they would use no processor time of the service or of ClickHouse. Linux may schedule each
 * session as one group, in which niceness counts only among the session's own processes.
 * @param pid of a process that leads a session.
 */
function useSpareProcessorTime(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW);
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(constants.priority.PRIORITY_LOW));
  } catch {
    // This system does not schedule by session.
  }
}

/** @returns a summary of their responses, once they are done. */
function startHostileCallers(order: HostileOrder): Promise<string> {
  const script = fileURLToPath(new URL("load/hostile.ts", import.meta.url));
  const { port, tagId, key, sensorKey, seconds } = order;
  const argument = JSON.stringify({ port, tagId, key, sensorKey, seconds } satisfies HostileOrder);
  const child = spawn(process.execPath, ["--import", "tsx/esm", script, argument], {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  useSpareProcessorTime(child.pid ?? 0);
  process.once("exit", () => child.kill("SIGKILL"));
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (data: string) => (text += data));
  return new Promise((settle) => child.once("close", () => settle(text.trim())));
}
