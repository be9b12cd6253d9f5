import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { connectStore } from "@noisefloor/clickhouse-cluster/store.ts";
import getPort from "get-port";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { startInfraCluster } from "../support/servers/infra-cluster.ts";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";
import { runInProcess } from "../support/worlds/in-process.ts";

const tagsSchema = z.object({ tags: z.array(z.object({ id: z.string(), slug: z.string() })) });
let commandLine: CommandLine;

beforeEach(async () => {
  commandLine = await openCommandLine();
});
afterEach(() => commandLine.close());

const envOf = ({ url, username, password, cluster = "" }: ClickHouseConnection) => ({
  CLICKHOUSE_URL: url,
  CLICKHOUSE_USER: username,
  CLICKHOUSE_PASSWORD: password,
  CLICKHOUSE_CLUSTER: cluster,
});

/** A service that is ready, as infra/cluster starts it. */
async function start(role: "ingest" | "query", env: Record<string, string>): Promise<string> {
  const port = String(await getPort());
  const { errors } = commandLine.run([role], { ...env, HTTP_PORT: port });
  const url = `http://localhost:${port}`;
  await eventually(async () => expect((await fetch(`${url}/readyz`)).status, errors()).toBe(200), 60_000);
  return url;
}

test("in infra/cluster the intake stores in both shards, on two replicas each, and queries run as a user who can only read", async () => {
  const cluster = await startInfraCluster();
  onTestFinished(() => cluster.stop());
  const writer = envOf(cluster.connectionAs("noisefloor"));
  expect(await runInProcess(["migrate"], writer)).toMatchObject({ code: 0, stderr: "" });
  const [intake, queries] = await Promise.all([
    start("ingest", { ...writer, SENSOR_KEYS: "a-key-of-the-sensors" }),
    start("query", envOf(cluster.connectionAs("noisefloor_reader"))),
  ]);

  const observations = Array.from({ length: 20 }, (_, index) => ({
    observed_at: new Date(Date.now() - 60_000).toISOString(),
    sensor_id: "s",
    source_ip: `45.9.0.${index}`,
    tags: ["ssh-scanner"],
  }));
  const posted = await fetch(`${intake}/v1/observations`, {
    method: "POST",
    headers: { key: "a-key-of-the-sensors", "content-type": "application/json" },
    body: JSON.stringify(observations),
  });
  expect(posted.status).toBe(202);
  const checked = await runInProcess(["cluster", "check", "--json"], writer);
  expect(checked).toMatchObject({ code: 0, stderr: "" });
  // Even addresses are on one shard and odd ones on the other.
  expect(JSON.parse(checked.stdout)).toMatchObject([
    { shard: 1, host: "127.0.0.2", replica: "complete", rows: 10, misplaced_addresses: 0, problem: "" },
    { shard: 1, host: "127.0.0.3", replica: "complete", rows: 10, misplaced_addresses: 0, problem: "" },
    { shard: 2, host: "127.0.0.4", replica: "complete", rows: 10, misplaced_addresses: 0, problem: "" },
    { shard: 2, host: "127.0.0.5", replica: "complete", rows: 10, misplaced_addresses: 0, problem: "" },
  ]);
  await eventually(async () => {
    for (const index of [0, 19]) {
      expect(await (await fetch(`${queries}/v3/community/45.9.0.${index}`)).json()).toMatchObject({ noise: true });
    }
  }, 30_000);
  const { tags } = tagsSchema.parse(await (await fetch(`${queries}/v3/tags?name=ssh`)).json());
  const id = tags.find(({ slug }) => slug === "ssh-scanner")?.id;
  const activity = await fetch(`${queries}/v3/tags/${id}/activity?days=1&granularity=24h`);
  expect(await activity.json()).toMatchObject({ aggregations: { total_ips: 20 } });

  const reader = connectStore(cluster.connectionAs("noisefloor_reader"), "noisefloor-tests");
  onTestFinished(() => reader.close());
  // What sensors sent is counted through the connections from shard to shard.
  const query = "SELECT DISTINCT sensor_id FROM noisefloor_cluster.sensor_activity";
  const sensors = async () => (await reader.query({ query, format: "JSONEachRow" })).json();
  await eventually(async () => expect(await sensors()).toEqual([{ sensor_id: "s" }]), 60_000);
  for (const statement of ["TRUNCATE TABLE observations", "TRUNCATE TABLE noisefloor_cluster.observations"]) {
    await expect(reader.command({ query: statement }), statement).rejects.toThrow(/readonly|privileges/);
  }
  // A shard answers with the rights of the user who asked the first one, whatever the others may do there.
  const users = "SELECT name FROM cluster('noise', view(SELECT name FROM system.users))";
  await expect(reader.query({ query: users })).rejects.toThrow(/noisefloor_reader: Not enough privileges/);
  const across = "INSERT INTO FUNCTION cluster('noise', noisefloor, tags, rand()) SELECT * FROM noisefloor.tags";
  await expect(reader.command({ query: across })).rejects.toThrow(/readonly|privileges/);
}, 120_000);
