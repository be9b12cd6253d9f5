import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ClickHouseClient, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import { findRunning } from "@noisefloor/clickhouse/embedded/embedded-files.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import getPort from "get-port";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { makeTag } from "../../support/worlds/world.ts";
import { against } from "../line.ts";
import { type MemoryGroup, openMemoryGroup } from "../memory-group.ts";
import type { Part, Run } from "../part.ts";
import { makeEvents, messagesOf } from "../peers/events.ts";

const MEBIBYTE = 1024 * 1024;
const [SMALL_MIB, LARGE_MIB] = [512, 1_024];
const PER_POST = 25_000;
const MOST_POSTS = 60;
const SHARE_OF_SIZE = 1 / 200_000;
const HOUR_MS = 3_600_000;
const MOST_LISTED = 1_000;
const START_TIMEOUT_MS = 300_000;
const ANSWER_TIMEOUT_MS = 120_000;
const TAG = makeTag("bench-memory", "malicious");
/** Not the temporary files' folder, which may lie in memory: what is there counts against the limit. */
const ON_DISK = "/var/tmp";
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SKIPPED = "Skipped: no cgroup that limits memory can be made here; on Linux that takes root.";

export const memory: Part = {
  name: "memory",
  what: `npm start with a demo of 30 days and large posts in ${SMALL_MIB} MiB of memory, against ${LARGE_MIB} MiB`,
  usesWorld: false,
  async measure(run) {
    const small = await measureLimit(run, SMALL_MIB);
    const large = small && (await measureLimit(run, LARGE_MIB));
    if (small === undefined || large === undefined) return { lines: [], notes: [SKIPPED] };
    const peer = `the same in ${LARGE_MIB} MiB`;
    const name = `Posts of ${PER_POST} observations in ${SMALL_MIB} MiB`;
    return {
      lines: [
        against(
          { name, peer, unit: "per second", target: 0.7, fault: small.fault ?? large.fault },
          [small.perSecond],
          [large.perSecond],
        ),
        against(
          { name: `90 d by 1 h with addresses, in ${SMALL_MIB} MiB`, peer, unit: "ms" },
          [small.answerMs],
          [large.answerMs],
        ),
      ],
      notes: [small.note, large.note],
    };
  },
};

type MeasuredLimit = {
  readonly perSecond: number;
  readonly answerMs: number;
  readonly note: string;
  readonly fault: string | undefined;
};

/** @returns undefined where no cgroup can be made. */
async function measureLimit(run: Run, mebibytes: number): Promise<MeasuredLimit | undefined> {
  const group = await openMemoryGroup(`noisefloor-bench-${mebibytes}`, mebibytes * MEBIBYTE);
  if (group === undefined) return undefined;
  run.say(`${mebibytes} MiB`);
  const dataDir = await mkdtemp(join(ON_DISK, "noisefloor-bench-"));
  try {
    const url = await startWithDemo(group, dataDir);
    return await measureService(run, group, { url, dataDir, mebibytes });
  } finally {
    await group.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function startWithDemo(group: MemoryGroup, dataDir: string): Promise<string> {
  const port = String(await getPort());
  const { PATH, HOME } = process.env;
  const child = group.spawn("npm start -- --demo", {
    cwd: ROOT,
    env: { PATH, HOME, DATA_DIR: dataDir, HTTP_PORT: port },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  await eventually(async () => {
    if (child.exitCode !== null) return;
    if (!/^seconds /m.test(output)) throw new Error("the demo is not stored yet");
  }, START_TIMEOUT_MS);
  if (child.exitCode !== null) throw new Error(`npm start ended: ${output.slice(-500)}`);
  return `http://127.0.0.1:${port}`;
}

type Service = { readonly url: string; readonly dataDir: string; readonly mebibytes: number };

async function measureService(run: Run, group: MemoryGroup, service: Service): Promise<MeasuredLimit> {
  const posts = Math.min(MOST_POSTS, Math.max(2, Math.round(run.size * SHARE_OF_SIZE)));
  const key = await readKey(service.dataDir);
  const get = (path: string) =>
    fetch(`${service.url}${path}`, { headers: { key }, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
  await usingStore(service.dataDir, (client) => tagRecords.write(client, [TAG], Date.now()));
  await eventually(async () => {
    if (!(await (await get(`/v3/tags?name=${TAG.slug}`)).text()).includes(TAG.id))
      throw new Error("the tag is not known");
  });
  const oracle = new Map<number, Set<string>>();
  let [accepted, milliseconds, failed] = [0, 0, 0];
  for (const body of messagesOf(counted(makeEvents(run.seed, posts * PER_POST, [TAG], Date.now()), oracle), PER_POST)) {
    const start = performance.now();
    const response = await fetch(`${service.url}/v1/observations`, { method: "POST", body });
    const answer: unknown = await response.json();
    milliseconds += performance.now() - start;
    if (response.ok) accepted += acceptedSchema.parse(answer).accepted;
    else failed++;
  }
  const start = performance.now();
  const response = await get(
    `/v3/tags/${TAG.id}/activity?days=90&granularity=1h&include_ips=true&workspace_labels=global`,
  );
  const answer: unknown = await response.json();
  const answerMs = performance.now() - start;
  const faults = [
    ...(failed > 0 ? [`${failed} posts failed`] : []),
    ...(response.ok ? differences(answer, oracle) : [`the question was answered with ${response.status}`]),
    ...((await usingStore(service.dataDir, (client) => runForOne(client, stored, {}))).rows === posts * PER_POST
      ? []
      : ["not every observation was stored once"]),
  ];
  const killed = await group.killed();
  if (killed > 0) faults.push(`${killed} processes were killed`);
  const peak = Math.round((await group.peak()) / MEBIBYTE);
  return {
    perSecond: (accepted / milliseconds) * 1_000,
    answerMs,
    note: `${service.mebibytes} MiB: ${posts} posts, ${killed} processes killed, at most ${peak} MiB used, cached files included.`,
    fault: faults.length === 0 ? undefined : `in ${service.mebibytes} MiB ${faults.join(", ")}`,
  };
}

const acceptedSchema = z.object({ accepted: z.int() });
const activitySchema = z.object({
  activity: z.record(
    z.string(),
    z.array(z.object({ start: z.string(), active_ips: z.int(), ips: z.array(z.string()) })),
  ),
  aggregations: z.object({ total_ips: z.int() }),
});

/** Passes observations on and notes their addresses by hour. */
function* counted(events: ReturnType<typeof makeEvents>, oracle: Map<number, Set<string>>) {
  for (const event of events) {
    const hour = Math.floor(Date.parse(event.observed_at) / HOUR_MS);
    const addresses = oracle.get(hour) ?? new Set();
    oracle.set(hour, addresses.add(event.source_ip));
    yield event;
  }
}

function differences(answer: unknown, oracle: ReadonlyMap<number, ReadonlySet<string>>): string[] {
  const { activity, aggregations } = activitySchema.parse(answer);
  const total = new Set([...oracle.values()].flatMap((addresses) => [...addresses])).size;
  const buckets = Object.values(activity)[0] ?? [];
  const areRight = buckets.every(({ start, active_ips, ips }) => {
    const addresses = oracle.get(Math.floor(Date.parse(start) / HOUR_MS)) ?? new Set();
    const isListed = ips.every((ip) => addresses.has(ip)) && ips.length === Math.min(MOST_LISTED, addresses.size);
    return active_ips === addresses.size && isListed;
  });
  return areRight && aggregations.total_ips === total ? [] : ["counts differ from the oracle's"];
}

const stored = defineQuery({
  name: "bench-posted",
  // On disk: the server has less memory than the ids of all observations take.
  sql: `SELECT count() AS rows FROM (
      SELECT observation_id FROM observations WHERE startsWith(observation_id, 'event-') GROUP BY observation_id
    ) SETTINGS max_bytes_before_external_group_by = 33554432, max_bytes_ratio_before_external_group_by = 0`,
  params: z.object({}),
  row: z.object({ rows: z.int() }),
});

/** Asks the embedded server itself. */
async function usingStore<T>(dataDir: string, ask: (client: ClickHouseClient) => Promise<T>): Promise<T> {
  const running = await findRunning(dataDir);
  if (running === undefined) throw new Error("the embedded ClickHouse is not running");
  const client = connect(running.connection, "noisefloor-bench");
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}

async function readKey(dataDir: string): Promise<string> {
  const file = (await readdir(dataDir)).find((name) => name.startsWith("first-key-"));
  if (file === undefined) throw new Error("npm start made no first key");
  return (await readFile(join(dataDir, file), "utf8")).trim();
}
