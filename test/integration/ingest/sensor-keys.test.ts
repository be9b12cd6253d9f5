import { runSensorsCreate, runSensorsList } from "@noisefloor/cli/commands/access/sensors.ts";
import { credentials, readCredentials, revokeCredential } from "@noisefloor/clickhouse/access/credentials.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import {
  COMMUNITY,
  GLOBAL,
  openSensorKeyWorld,
  type SensorKeyWorld,
  SHARED_KEY,
  TEAM_A,
  TEAM_B,
} from "../../support/intake/sensor-key-world.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { ingestOf } from "../../support/worlds/consuming-world.ts";
import { makeApp } from "../../support/worlds/http.ts";

const NOW = Date.now();
const now = () => NOW;
let keys: SensorKeyWorld;

beforeEach(async () => {
  keys = await openSensorKeyWorld(now);
});
afterEach(() => keys.close());

const UNAUTHORIZED = {
  status: 401,
  body: { message: 'Unauthorized: send a valid sensor key (nfs_...) in the header "key"' },
};

const deadLetters = defineQuery({
  name: "test-dead-letters",
  sql: "SELECT reason, payload FROM dead_letters FINAL WHERE source = 'http' ORDER BY position",
  params: z.object({}),
  row: z.object({ reason: z.string(), payload: z.string() }),
});

/** What an observation may state about its scope. */
const STATED = {
  nothing: {},
  global: { dataset: "global" },
  community: { dataset: "community" },
  personal: { dataset: "personal" },
  "personal of a": { dataset: "personal", workspace_id: "team-a" },
  "personal of b": { dataset: "personal", workspace_id: "team-b" },
  "workspace a": { workspace_id: "team-a" },
  "global of a": { dataset: "global", workspace_id: "team-a" },
};
type Statement = keyof typeof STATED;

/** What each right accepts, with the scope in which that is stored; everything else is rejected. */
const RIGHTS: [name: string, scope: Scope | undefined, accepted: Partial<Record<Statement, string>>][] = [
  ["the settings", undefined, { nothing: "global/", global: "global/", community: "community/" }],
  ["the global dataset", GLOBAL, { nothing: "global/", global: "global/" }],
  ["the community dataset", COMMUNITY, { nothing: "community/", community: "community/" }],
  [
    "workspace a",
    TEAM_A,
    {
      nothing: "personal/team-a",
      personal: "personal/team-a",
      "personal of a": "personal/team-a",
      "workspace a": "personal/team-a",
    },
  ],
  [
    "workspace b",
    TEAM_B,
    { nothing: "personal/team-b", personal: "personal/team-b", "personal of b": "personal/team-b" },
  ],
];

test.each(RIGHTS)(
  "a key of %s writes there and nowhere else; the rest is kept as dead letters",
  async (_, scope, accepted) => {
    const key = scope === undefined ? SHARED_KEY : await keys.addKey(scope);
    const sent = Object.entries(STATED).map(([name, members]) => ({ name, sent: keys.observation(members) }));
    const { status, body } = await keys.post(
      sent.map((each) => each.sent),
      key,
      keys.guarded,
    );
    expect(status).toBe(202);
    expect(body.accepted).toBe(Object.keys(accepted).length);

    const scopes = new Map((await keys.readScopes()).map((row) => [row.ip, row.scope]));
    expect(
      Object.fromEntries(
        sent.flatMap((each) => (scopes.has(each.sent.source_ip) ? [[each.name, scopes.get(each.sent.source_ip)]] : [])),
      ),
    ).toEqual(accepted);
    expect(scopes.size).toBe(Object.keys(accepted).length);

    const rejected = sent.filter(({ name }) => !(name in accepted));
    // A shared dataset with a workspace is invalid; a key bound to a scope rejects it as not permitted before that.
    const isContradiction = (name: string) => scope === undefined && ["workspace a", "global of a"].includes(name);
    expect(await run(keys.world.client, deadLetters, {})).toEqual(
      rejected.map((each) => ({
        reason: isContradiction(each.name) ? "invalid-observation" : "not-permitted",
        payload: JSON.stringify(each.sent),
      })),
    );
  },
);

test("without any key the shared datasets are open, and personal data is rejected with what it needs", async () => {
  const { status, body } = await keys.post([
    keys.observation(),
    keys.observation({ dataset: "community" }),
    keys.observation({ dataset: "personal", workspace_id: "team-a" }),
  ]);
  expect({ status, body }).toMatchObject({
    status: 202,
    body: {
      accepted: 2,
      reasons: { "not-permitted": 1 },
      rejections: [
        { position: 3, reason: "not-permitted", detail: expect.stringContaining("global and community only") },
      ],
    },
  });
});

test("observations of a workspace's sensor are read by that workspace and no other", async () => {
  const sent = keys.observation();
  expect(await keys.post([sent], await keys.addKey(TEAM_A))).toMatchObject({ status: 202, body: { accepted: 1 } });
  const [ofTeamA, ofTeamB] = [
    await keys.world.addCaller("unlimited", ["community_dataset"], TEAM_A.workspaceId),
    await keys.world.addCaller("unlimited", ["community_dataset"], TEAM_B.workspaceId),
  ];
  const found = async (key: string, scopes: string) => {
    const { body } = await keys.world.get(`/v3/ip/${sent.source_ip}?workspace_labels=${scopes}`, { key });
    return z.object({ internet_scanner_intelligence: z.object({ found: z.boolean() }) }).parse(body)
      .internet_scanner_intelligence.found;
  };
  expect(await found(ofTeamA, "personal")).toBe(true);
  expect(await found(ofTeamA, "global,community")).toBe(false);
  expect(await found(ofTeamB, "global,community,personal")).toBe(false);
  expect((await keys.world.get(`/v3/community/${sent.source_ip}`, { key: ofTeamA })).status).toBe(404);
});

test("the first key closes the intake to those without one, and revoking the last does not open it again", async () => {
  expect((await keys.post([keys.observation()])).status).toBe(202);
  const key = await keys.makeKey(TEAM_A);
  expect((await keys.post([keys.observation()], key)).status, "at once").toBe(202);
  expect(await keys.post([keys.observation()])).toEqual(UNAUTHORIZED);
  await keys.revoke(key);
  await eventually(async () => expect(await keys.post([keys.observation()], key)).toEqual(UNAUTHORIZED), 5_000);
  expect(await keys.post([keys.observation()])).toEqual(UNAUTHORIZED);
  await credentials.forgetDeleted(keys.world.client, now() + 1_000 * 86_400_000);
  await keys.world.accessCache.refresh();
  expect(await keys.post([keys.observation()]), "years later").toEqual(UNAUTHORIZED);
});

test("an unknown key is rejected even while no key is required: its data would land in another scope", async () => {
  expect(await keys.post([keys.observation()], "not-known")).toEqual(UNAUTHORIZED);
  expect(await keys.post([keys.observation()], "not-known", keys.guarded)).toEqual(UNAUTHORIZED);
  expect((await keys.post([keys.observation()], "")).status).toBe(202);
});

test("keys of the settings and of the store work side by side, and revoking one affects no other", async () => {
  const [first, second] = [await keys.addKey(TEAM_A), await keys.addKey(TEAM_A)];
  for (const key of [SHARED_KEY, first, second])
    expect((await keys.post([keys.observation()], key, keys.guarded)).status).toBe(202);
  await keys.revoke(first);
  await eventually(
    async () => expect(await keys.post([keys.observation()], first, keys.guarded)).toEqual(UNAUTHORIZED),
    5_000,
  );
  for (const key of [SHARED_KEY, second])
    expect((await keys.post([keys.observation()], key, keys.guarded)).status).toBe(202);
  expect(await keys.post([keys.observation()], undefined, keys.guarded)).toEqual(UNAUTHORIZED);
});

test("a key that the store and the settings both know writes to its own scope, the narrower right", async () => {
  const key = await keys.addKey(TEAM_A);
  const both = await makeApp(INGEST_OPERATIONS, (await ingestOf(keys.world, undefined, now, [key])).register);
  expect(await keys.post([keys.observation({ dataset: "global" })], key, both)).toMatchObject({
    body: { rejected: 1 },
  });
  await both.close();
});

test("a revocation counts even if the clock of the revoking machine is behind", async () => {
  const key = await keys.addKey(TEAM_A);
  const stored = await keys.findKey(key);
  await revokeCredential(keys.world.client, stored, stored.createdAt - 3_600_000);
  await eventually(async () => expect(await keys.post([keys.observation()], key)).toEqual(UNAUTHORIZED), 5_000);
});

test("the key itself is stored nowhere", async () => {
  const key = await keys.addKey(TEAM_A);
  expect(JSON.stringify(await readCredentials(keys.world.client, "sensor"))).not.toContain(key);
});

test("the sensor of a key is chosen when the key is made, and listed", async () => {
  await keys.addKey(GLOBAL);
  const command = commandOver(keys.world);
  const options = { dataset: "global", label: "", json: true, yes: true };
  await runSensorsCreate({ ...options, sensorId: "cellar" }, command);
  const made = z.object({ key: z.string(), sensor: z.literal("cellar") }).parse(JSON.parse(command.lines[0] ?? ""));
  await keys.world.accessCache.refresh();
  expect(await keys.post([keys.observation({ sensor_id: "roof" })], made.key)).toMatchObject({ body: { rejected: 1 } });
  await runSensorsList({ json: true }, command);
  expect(JSON.parse(command.lines[1] ?? "")).toMatchObject({ keys: [{ sensor: "" }, { sensor: "cellar" }] });
  await expect(runSensorsCreate({ ...options, sensorId: "a\nb" }, command)).rejects.toThrow("--sensor-id takes");
});
