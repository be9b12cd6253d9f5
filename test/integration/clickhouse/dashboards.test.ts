import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { type EmbeddedClickHouse, startEmbedded } from "@noisefloor/clickhouse/server/embedded.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { networkList } from "../../support/builders/network-list.ts";
import { seeded } from "../../support/builders/random.ts";
import { readDashboards, sqlOf } from "../../support/grafana/dashboards.ts";
import { expandQuery } from "../../support/grafana/expand.ts";
import { expectedPanels, type PanelsAsked, type SeenByDashboards } from "../../support/grafana/expected-panels.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";
import { createWorld, makeTag } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
/** A whole second, as ranges of dashboards are. */
const NOW = Math.floor(Date.now() / 1_000) * 1_000;
const TAGS = Array.from({ length: 12 }, (_, index) =>
  makeTag(`tag-${index}`, INTENTIONS[index % INTENTIONS.length] ?? "unknown"),
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

const dashboards = await readDashboards();
let folder: string;
let server: EmbeddedClickHouse;

/** Fills the store by the ordinary pipeline, and the database that dashboards may read with the same rows. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "noisefloor-dashboards-"));
  server = await startEmbedded(folder, { grafanaWorkspaces: [SHOWN] });
  await migrate(server.connection, MIGRATIONS);
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
  for (const table of ["tags", "network_ranges", "network_generations", "observations"]) {
    await world.client.command({ query: `INSERT INTO noisefloor.${table} SELECT * FROM ${table}` });
  }
  await world.close();
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const answerSchema = z.object({ data: z.array(z.array(z.string())) });

/** Queries as the data source does, over HTTP with settings in the URL. */
async function ask(user: ClickHouseConnection, sql: string): Promise<string[][]> {
  const settings = { database: "noisefloor", max_execution_time: "65" };
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

test.each(cases)("every panel shows what the oracle counts: %s", async (_, asked) => {
  const visible = seen.filter(({ workspaceId }) => workspaceId !== "other");
  const expected = expectedPanels(visible, TAGS, isActor, asked);
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
    expect(wanted.length, `${name}/${title} would show nothing`).toBeGreaterThan(0);
  }
});
