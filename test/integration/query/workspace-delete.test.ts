import { randomUUID } from "node:crypto";
import { runWorkspacesDelete } from "@noisefloor/cli/access/delete-workspace.ts";
import { runWorkspacesWrite } from "@noisefloor/cli/commands/access/workspaces.ts";
import { credentials, makeCredential, writeFeedTokens } from "@noisefloor/clickhouse/access/credentials.ts";
import { deleteWorkspace } from "@noisefloor/clickhouse/access/workspace-data.ts";
import { workspaces } from "@noisefloor/clickhouse/access/workspaces.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { DEAD_LETTERS, rowsOf } from "@noisefloor/clickhouse/client/table-names.ts";
import { feedDefinitions } from "@noisefloor/clickhouse/feeds/definitions.ts";
import { writeKnownHost } from "@noisefloor/clickhouse/callbacks/known-hosts.ts";
import { writeGuardNetwork } from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import { SPREAD_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { writeSensorCounts } from "@noisefloor/clickhouse/sensors/sensor-counts.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { appendLook, readEvents } from "@noisefloor/clickhouse/watches/log.ts";
import { feedIdOf } from "@noisefloor/domain/feeds/feed-definition.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { openSensorKeyWorld, type SensorKeyWorld, TEAM_A, TEAM_B } from "../../support/intake/sensor-key-world.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { makeWatch } from "../../support/worlds/watching-process.ts";
import { makeTag } from "../../support/worlds/world.ts";

let keys: SensorKeyWorld;
beforeAll(async () => {
  keys = await openSensorKeyWorld(Date.now);
});
afterAll(() => keys.close());

const workspacesOf = (table: string) =>
  defineQuery({
    name: "test-rows-of",
    sql: `SELECT workspace_id AS workspace, count() > 0 AS isThere FROM ${SPREAD_TABLES.includes(table) ? rowsOf(table) : table} WHERE workspace_id != '' GROUP BY workspace_id`,
    params: z.object({}),
    row: z.object({ workspace: z.string(), isThere: z.literal(1) }),
  });
const deadLetterRights = defineQuery({
  name: "test-rights",
  sql: `SELECT DISTINCT publish_right AS publishRight FROM ${DEAD_LETTERS}`,
  params: z.object({}),
  row: z.object({ publishRight: z.string() }),
});

const workspacesIn = async (table: string) =>
  (await run(keys.world.client, workspacesOf(table), {})).map(({ workspace }) => workspace).sort();

test("a workspace is deleted with its keys and personal data, and no other's", async () => {
  const { client } = keys.world;
  await keys.world.addTags([makeTag("ssh-scanner", "malicious")]);
  for (const { workspaceId } of [TEAM_A, TEAM_B]) {
    await runWorkspacesWrite(workspaceId, { isNew: true }, commandOver(keys.world));
    await keys.world.addCaller("community", [], workspaceId);
  }
  for (const scope of [TEAM_A, TEAM_B]) {
    const key = await keys.addKey(scope);
    await keys.post(
      [
        keys.observation({ destination_port: 22 }),
        keys.observation({ tags: ["ssh-scanner"] }),
        keys.observation({ tags: ["no"] }),
      ],
      key,
    );
  }
  const sent = { source: "kafka", keyId: "", sensorId: "tap", isRest: false, format: "", outcome: "accepted" };
  const counted = { ...sent, process: "11111111-1111-4111-8111-111111111111", records: 1 };
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  await writeSensorCounts(
    client,
    [TEAM_A, TEAM_B].map(({ workspaceId }) => ({ ...counted, hour, workspaceId, lastAt: hour })),
  );
  const createdAt = Date.now();
  const watches: Watch[] = [];
  for (const { workspaceId } of [TEAM_A, TEAM_B]) {
    const id = feedIdOf(workspaceId, "own");
    const definition = {
      query: "*",
      days: 0,
      description: "",
      limit: 1,
      ttlHours: 1,
      isGuarded: true,
      keepsFallen: false,
    };
    const feed = { ...definition, id, workspaceId, name: "own", isEnabled: true, createdAt };
    await feedDefinitions.write(client, [feed], createdAt);
    const { credential } = makeCredential("feed", { workspaceId, subject: id }, createdAt);
    await writeFeedTokens(client, [credential], createdAt);
    const guard = { id, workspaceId, network: "45.0.0.0/8", note: "", createdAt };
    await writeGuardNetwork(client, guard, createdAt);
    await writeKnownHost(client, { workspaceId, host: "example.org", note: "", createdAt }, createdAt);
    const watch = makeWatch(workspaceId, { type: "network_seen", networks: ["45.0.0.0/8"] });
    await watchDefinitions.write(client, [watch], createdAt);
    watches.push(watch);
  }
  const events = watches.map(({ id, workspaceId }) => ({
    ...{ id: randomUUID(), workspaceId, watchId: id, body: workspaceId, subjects: [1], times: [1] },
  }));
  await appendLook(client, { holder: "test", position: "", events }, undefined);
  const tables = [
    "watches",
    "(SELECT arrayJoin(workspace_ids) AS workspace_id FROM watch_log) AS events",
    "observations",
    "address_tags",
    "tag_activity_hourly",
    "tag_addresses",
    "address_facets",
    "observation_changes",
    "sensor_activity",
    "feeds",
    "(SELECT * FROM credentials WHERE kind = 'feed') AS tokens",
    "guard_networks",
    "known_callback_hosts",
  ];
  const before = await Promise.all(tables.map(workspacesIn));
  for (const [index, workspaces] of before.entries()) expect(workspaces, tables[index]).toEqual(["team-a", "team-b"]);

  const command = commandOver(keys.world);
  const options = { json: true, yes: false };
  await expect(runWorkspacesDelete("team-a", options, command)).rejects.toThrow(/Nothing was changed: pass --yes/);
  await expect(runWorkspacesDelete("nobody", options, command)).rejects.toThrow('there is no workspace "nobody"');
  await runWorkspacesDelete("team-a", { ...options, yes: true }, command);
  expect((await workspaces.read(client)).map(({ workspaceId }) => workspaceId)).not.toContain("team-a");
  for (const [index, table] of tables.entries()) {
    expect(await workspacesIn(table), table).toEqual(before[index]?.filter((id) => id !== "team-a"));
  }
  expect((await run(client, deadLetterRights, {})).map(({ publishRight }) => publishRight)).toEqual([
    "personal/team-b",
  ]);
  expect(await readEvents(client, { limit: 10 })).toMatchObject([{ watchId: events[1]?.watchId, body: "team-b" }]);
  const valid = (await credentials.read(client)).filter(({ isRevoked }) => !isRevoked);
  expect(valid.map(({ workspaceId }) => workspaceId)).not.toContain("team-a");
  expect(valid.map(({ workspaceId }) => workspaceId)).toContain("team-b");
});

test("when the last feed goes with its workspace, others make feeds, and its token reads nothing, also when its id is taken again", async () => {
  const { world } = keys;
  const { client, app } = world;
  await deleteWorkspace(client, "team-b");
  const make = async (key: string) =>
    (await app.inject({ method: "PUT", url: "/v3/feeds/own", headers: { key }, payload: { query: "*" } })).statusCode;
  const key = await world.addCaller("community", [], "short-lived");
  expect(await make(key)).toBe(201);
  const made = await app.inject({
    method: "POST",
    url: "/v3/feeds/own/tokens",
    headers: { key },
    payload: { label: "edge" },
  });
  const read = async () =>
    (await app.inject({ url: "/v3/feeds/own.txt", headers: { key: made.json().token } })).statusCode;
  expect(await read()).toBe(200);
  await deleteWorkspace(client, "short-lived");
  expect(await make(await world.addCaller("community"))).toBe(201);
  expect(await read()).toBe(401);
  expect(await make(await world.addCaller("community", [], "short-lived"))).toBe(201);
  expect(await read()).toBe(401);
});
