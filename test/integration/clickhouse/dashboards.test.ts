import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { migrateStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { readText } from "../../docs/documents.ts";
import { networkList } from "../../support/builders/network-list.ts";
import { seeded } from "../../support/builders/random.ts";
import { readDashboards, sqlOf } from "../../support/grafana/dashboards.ts";
import { expandQuery } from "../../support/grafana/expand.ts";
import {
  expectedFleet,
  expectedPanels,
  type PanelsAsked,
  type SeenByDashboards,
  type Sent,
} from "../../support/grafana/expected-panels.ts";
import { readableColumns } from "../../support/grafana/readable-columns.ts";
import { startInfraCluster } from "../../support/servers/infra-cluster.ts";
import { atVolume } from "../../support/volume.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";
import { createWorld, makeTag } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
/** A whole second, as ranges of dashboards are. */
const NOW = Math.floor(Date.now() / 1_000) * 1_000;
const TAGS = Array.from({ length: 12 }, (_, index) =>
  makeTag(index === 0 ? "mirai" : `tag-${index}`, INTENTIONS[index % INTENTIONS.length] ?? "unknown"),
);
const IPS = Array.from({ length: 70 }, (_, index) => `45.${index % 4}.0.${index}`);
const isActor = (ip: string) => ip.startsWith("45.3.");
const SHOWN = "shown";
const SCOPES = [["global"], ["global"], ["community"], ["personal", SHOWN], ["personal", "other"]] as const;

const random = seeded(7);
const seen: readonly SeenByDashboards[] = Array.from({ length: 1_200 }, (_, index) => {
  const [dataset, workspaceId] = random.pick(SCOPES);
  const asn = random.pick([0, 64_500, 64_501, 64_502]);
  return {
    id: `o-${String(index).padStart(4, "0")}`,
    ip: random.pick(IPS),
    at: NOW - random.int(0, 16 * 24 * HOUR),
    dataset,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    tagIds: random.chance(0.3) ? [] : [...new Set([random.pick(TAGS).id, random.pick(TAGS).id])],
    asn,
    organization: asn === 0 ? "" : random.pick([`Net ${asn}`, `Net ${asn} Ltd`]),
    country: random.pick(["", "DE", "VN", "BR"]),
    port: random.pick([22, 80, 443]),
    path: `/${random.int(0, 9)}`,
  };
});

/** Two processes each, so that their counts add up. */
const sent: readonly Sent[] = Array.from({ length: 150 }, (_, index) => ({
  hour: Math.floor(NOW / HOUR) * HOUR - Math.floor(index / 5) * 9 * HOUR,
  sensorId: index % 5 < 3 ? `sensor-${index % 5}` : "",
  keyId: index % 2 === 0 ? "key" : "",
  isRest: index % 5 === 4,
  outcome: ["accepted", "ignored", "invalid-observation", "not-permitted"][index % 4] ?? "",
  records: 1 + random.int(0, 100),
}));
const PROCESSES = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
const sentTwice = sent.flatMap((one) => PROCESSES.map((process) => ({ ...one, process })));

const dashboards = await readDashboards();
/** The reason of each dead letter. */
const deadReasons: string[] = [];

/** A server or a cluster, as its writer and as the user for dashboards. */
type Users = {
  readonly connection: ClickHouseConnection;
  readonly grafana: ClickHouseConnection;
  stop(): Promise<void>;
};
let server: Users;

async function startServer(kind: "single" | "cluster"): Promise<Users> {
  if (kind === "cluster") {
    const cluster = await startInfraCluster();
    // With the tables of all shards.
    const grafana = { ...cluster.connectionAs("grafana"), database: "noisefloor_cluster" };
    return { connection: cluster.connectionAs("noisefloor"), grafana, stop: cluster.stop };
  }
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-dashboards-"));
  const embedded = await startEmbedded(folder);
  const stop = async () => {
    await embedded.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { connection: embedded.connection, grafana: { ...embedded.grafana, database: "noisefloor" }, stop };
}

const answerSchema = z.object({ data: z.array(z.array(z.string())) });

/** Queries as the data source does, over HTTP with settings in the URL. */
async function ask(user: ClickHouseConnection, sql: string): Promise<string[][]> {
  const settings = { database: user.database, max_execution_time: "65" };
  const response = await fetch(`${user.url}/?${new URLSearchParams(settings)}`, {
    method: "POST",
    body: `${sql}\nFORMAT JSONCompactStrings`,
    headers: { authorization: `Basic ${btoa(`${user.username}:${user.password}`)}` },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${text}\n${sql}`);
  return answerSchema.parse(JSON.parse(text)).data;
}

const ALL = { tagIds: [], from: NOW - 17 * 24 * HOUR, to: NOW, ip: "45.1.0.5" };
const cases: readonly [name: string, asked: PanelsAsked][] = [
  ["a week by hours", { ...ALL, datasets: ["global"], width: "1 HOUR", from: NOW - 7 * 24 * HOUR }],
  [
    "two tags in a part of the time",
    {
      ...ALL,
      datasets: ["global", "community"],
      tagIds: TAGS.slice(4, 6).map(({ id }) => id),
      width: "6 HOUR",
      from: NOW - 8 * 24 * HOUR,
      to: NOW - 9 * HOUR,
    },
  ],
  ["days of everything that may be shown", { ...ALL, datasets: ["global", "community", "personal"], width: "1 DAY" }],
  ["weeks of personal data", { ...ALL, datasets: ["personal"], width: "1 WEEK" }],
];

/** The servers of infra/cluster in the full tests alone, as four of them take their time to start. */
const KINDS = atVolume<readonly ("single" | "cluster")[]>(["single"], ["single", "cluster"]);

describe.each(KINDS)("on a %s server", (kind) => {
  /** Fills the store by the ordinary pipeline, and the database that dashboards may read with the same rows. */
  beforeAll(async () => {
    server = await startServer(kind);
    await migrateStore(server.connection, MIGRATIONS, { dashboardWorkspaces: [SHOWN] });
    deadReasons.length = 0;
    const world = await createWorld(() => NOW, { server: server.connection });
    await world.addTags(TAGS);
    await world.replaceNetworks("actor", [networkList("census", ["45.3.0.0/16"])]);
    const wire = seen.map(({ id, ip, at, dataset, workspaceId, tagIds, asn, organization, country, port, path }) => ({
      observation_id: id,
      observed_at: new Date(at).toISOString(),
      sensor_id: "s",
      source_ip: ip,
      destination_port: port,
      transport: "tcp",
      application: "http",
      dataset,
      ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
      tags: tagIds,
      ...(asn === 0 ? {} : { asn, organization }),
      ...(country === "" ? {} : { country }),
      http: { method: "GET", path, user_agent: "zgrab" },
    }));
    // Some twice: what is sent again counts once.
    for (const batch of [wire, wire.slice(0, 200)]) expect((await world.store(batch)).rejected).toEqual([]);
    const sensorRows = (workspaces: readonly string[], named: Partial<Sent> = {}) =>
      sentTwice.map((one, index) => {
        const workspaceId = workspaces[index % workspaces.length] ?? "";
        return { ...one, ...named, workspaceId, source: "http", format: "", lastAt: one.hour };
      });
    const rows = sensorRows(["", SHOWN]);
    // Counts grow, and the largest of a process is its count.
    await writeSensorCounts(
      world.client,
      rows.map((row) => ({ ...row, records: 1 })),
    );
    await writeSensorCounts(world.client, [...rows, ...sensorRows(["other"], { keyId: "key-of-other" })]);
    const bad = Array.from({ length: 3 }, () => ({ ...wire[0], source_ip: "10.0.0.1" }));
    const { rejected } = await world.store([...bad, { ...wire[0], observed_at: "yesterday" }]);
    for (const { rejection } of rejected) deadReasons.push(rejection.reason);
    for (const table of [
      "dead_letters",
      "sensor_activity",
      "tags",
      "network_ranges",
      "network_generations",
      "observations",
    ]) {
      await world.client.command({ query: `INSERT INTO noisefloor.${table} SELECT * FROM ${table}` });
    }
    await world.close();
  });
  afterAll(() => server.stop());
  // The panels' SQL is the same on a cluster: few cases show that it reads every shard.
  const askedHere = kind === "single" ? cases : atVolume(cases.slice(1, 3), cases);
  test.each(askedHere)("every panel shows what the oracle counts: %s", async (_, asked) => {
    const visible = seen.filter(({ workspaceId }) => workspaceId !== "other");
    const reasons = [...new Set(deadReasons)].map((reason) => [
      reason,
      String(deadReasons.filter((one) => one === reason).length),
    ]);
    const expected: Readonly<Record<string, readonly (readonly string[])[]>> = {
      ...expectedPanels(visible, TAGS, isActor, asked),
      ...expectedFleet(sentTwice, asked),
      "fleet/Dead letters": asked.to < NOW ? [] : reasons,
    };
    const panels = dashboards.flatMap(({ name, panels: all }) =>
      all.flatMap(({ title, targets }) => (targets[0]?.rawSql === undefined ? [] : [{ name, title }])),
    );
    expect(panels.map(({ name, title }) => `${name}/${title}`).sort()).toEqual(Object.keys(expected).sort());
    const variables = {
      scope: asked.datasets,
      tag: asked.tagIds.length === 0 ? ["$__all"] : asked.tagIds,
      width: asked.width,
      ip: asked.ip,
    };
    for (const { name, title } of panels) {
      const sql = expandQuery(sqlOf(dashboards, name, title), { ...asked, interval: HOUR, variables });
      const rows = await ask(server.grafana, sql);
      const wanted = expected[`${name}/${title}`] ?? [];
      expect([...rows].sort(), `${name}/${title}`).toEqual(wanted.map((row) => [...row]).sort());
      if (title !== "Dead letters") expect(wanted.length, `${name}/${title} is empty`).toBeGreaterThan(0);
    }
  });

  test("every example of docs/grafana.md shows something, and counts what the oracle counts", async () => {
    const text = await readText("docs/grafana.md");
    const examples = [...text.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = ""]) => sql);
    expect(examples.length).toBe(11);
    // Whole days, for one of the examples counts by day.
    const [from, to] = [Math.floor((NOW - 10 * 24 * HOUR) / (24 * HOUR)) * 24 * HOUR, NOW];
    const answers: string[][][] = [];
    for (const sql of examples) {
      answers.push(await ask(server.grafana, expandQuery(sql, { from, to, interval: HOUR, variables: {} })));
    }
    for (const [index, rows] of answers.entries()) expect(rows.length, examples[index]).toBeGreaterThan(0);
    const panels = (asked: Partial<PanelsAsked>) =>
      expectedPanels(seen, TAGS, isActor, { ...ALL, datasets: ["global"], width: "1 HOUR", from, to, ...asked });
    const [hours, ofTag, weeks, days, , doing, classes] = answers;
    expect(hours).toEqual(panels({})["activity/Addresses over time"]);
    const mirai = panels({ tagIds: TAGS.slice(0, 1).map(({ id }) => id) })["activity/Tags over time"];
    expect(ofTag).toEqual(mirai?.map(([time, , count]) => [time, count]));
    expect(weeks).toEqual(
      panels({ datasets: ["global", "community"], width: "1 WEEK" })["activity/Addresses over time"],
    );
    const byDay = panels({ width: "1 DAY" })["activity/Addresses over time"];
    expect(days).toEqual(byDay?.map(([time = "", count]) => [time.slice(0, 10), count]));
    const tags = panels({ ip: "45.1.0.5" })["address/Tags"];
    expect(doing).toEqual(tags?.map(([tag, , ...rest]) => [tag, ...rest]).sort());
    expect(classes).toEqual([...(panels({})["activity/Classification"] ?? [])].sort());
  });

  test("the variable for tags offers each tag of the catalogue by its slug", async () => {
    const queries = dashboards.flatMap(({ templating }) => templating.list).filter(({ type }) => type === "query");
    expect(queries.map(({ name }) => name)).toEqual(["tag"]);
    const offered = await ask(server.grafana, queries[0]?.query ?? "");
    expect(offered).toEqual(TAGS.map(({ id, slug }) => [id, slug]).sort(([, a = ""], [, b = ""]) => (a < b ? -1 : 1)));
  });

  test("dashboards may select no column of a table whose rows belong to workspaces, keys or sensors", async () => {
    const readable = await readableColumns(server.connection, (sql) =>
      ask(server.grafana, sql).then(
        () => "answered",
        (error: Error) => error.message,
      ),
    );
    expect(readable.tables).toEqual(expect.arrayContaining(["noisefloor.observations", "noisefloor.dead_letters"]));
    expect(readable.columns).toEqual([]);
  });

  const OF_TAG = "tag_id = (SELECT tag_id FROM tag_catalogue WHERE tag = 'mirai')";
  const OF_ADDRESS = "source_ip = toIPv4('45.1.0.5')";

  // A plan of the cluster has none of what its servers do.
  if (kind === "cluster") return;
  test.each([
    ["activity_hourly", `${OF_TAG} AND dataset = 'global' AND hour > now() - 86400`, ["tag_id", "dataset", "hour"]],
    ["activity_states", `${OF_TAG} AND dataset = 'global' AND hour > now() - 86400`, ["tag_id", "dataset", "hour"]],
    ["addresses_hourly", "dataset = 'global' AND hour > now() - 86400", ["tag_id", "dataset", "hour"]],
    ["addresses_daily", "dataset = 'global' AND day > today() - 2", ["tag_id", "dataset", "hour"]],
    ["addresses_seen", `${OF_ADDRESS} AND dataset = 'global'`, ["source_ip", "dataset"]],
    ["address_tags_seen", `${OF_ADDRESS} AND dataset = 'global'`, ["source_ip", "dataset"]],
    ["networks_seen", "dataset = 'global' AND asn = 64500", ["dataset", "field"]],
    ["facet_states", "dataset = 'global' AND field = 'country' AND value = 'br'", ["dataset", "field", "value"]],
    ["observations_seen", `${OF_ADDRESS} AND dataset = 'global'`, ["source_ip", "dataset"]],
    ["sensors_hourly", "hour > now() - 86400", ["hour"]],
  ])("a filter on the view %s reaches the key of its table: %s", async (view, filter, columns) => {
    const plan = await ask(server.grafana, `EXPLAIN indexes = 1 SELECT * FROM ${view} WHERE ${filter}`);
    const lines = plan.flat().join("\n");
    const [, keys = ""] = /PrimaryKey\n[^\n]*Keys:([\s\S]*?)Condition:/.exec(lines) ?? [];
    const [, condition = ""] = /PrimaryKey\n[\s\S]*?Condition: (.*)/.exec(lines) ?? [];
    for (const column of columns) {
      expect(keys, lines).toMatch(new RegExp(`\\b${column}\\b`));
      const used =
        column === "dataset" ? /dataset in (?:\['global', 'global'\]|1-element set)/ : new RegExp(`\\b${column}\\b`);
      expect(condition.replaceAll("\\", ""), lines).toMatch(used);
    }
  });
});
