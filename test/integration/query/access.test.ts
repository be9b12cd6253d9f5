import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFirstWorkspace } from "@noisefloor/cli/access/first-workspace.ts";
import { runSensorsCreate, runSensorsList, runSensorsOpen } from "@noisefloor/cli/commands/access/sensors.ts";
import { runWorkspacesWrite } from "@noisefloor/cli/commands/access/workspaces.ts";
import { hashSecret, readCredentials, revokeCredential } from "@noisefloor/clickhouse/access/credentials.ts";
import { workspaces } from "@noisefloor/clickhouse/access/workspaces.ts";
import { localLookupLimit } from "@noisefloor/query/rate-limit/limit.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { addCaller } from "../../support/worlds/callers.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { silent } from "../../support/worlds/http.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const DAY = 86_400_000;
const tag = makeTag("seen-everywhere", "malicious");
let world: World;

beforeAll(async () => {
  world = await createWorld(() => NOW, { pollIntervalMs: 1_000 });
  await world.addTags([tag]);
});
afterAll(() => world.close());

const UNAUTHORIZED = { status: 401, body: { message: "Unauthorized" } };
const path = (query = "") => `/v3/tags/${tag.id}/activity?${query}`;
const startOf = (body: unknown) =>
  z.object({ metadata: z.object({ start_date: z.string() }) }).parse(body).metadata.start_date;

test.each([
  ["unauthenticated", 1],
  ["community", 10],
  ["standard", 30],
  ["unlimited", 90],
  ["a-plan-that-is-gone", 1],
])("on the plan %s a question reaches back %i days at most, without an error", async (plan, reach) => {
  const headers: Record<string, string> = plan === "unauthenticated" ? {} : { key: await world.addCaller(plan) };
  const end = Math.ceil(NOW / 3_600_000) * 3_600_000;
  for (const days of [1, 5, 90]) {
    const { status, body } = await world.get(path(`days=${days}`), headers);
    expect(status).toBe(200);
    expect(Date.parse(startOf(body))).toBe(end - Math.min(days, reach) * DAY);
  }
});

test("scopes need the entitlement, which is checked after unrecognized ones", async () => {
  const key = await world.addCaller("unlimited");
  expect((await world.get(path("workspace_labels=global"), { key })).status).toBe(403);
  expect((await world.get(path("workspace_labels=nonsense"), { key })).status).toBe(400);
  expect((await world.get(path("workspace_labels=personal"), {})).status).toBe(403);
  const entitled = await world.addCaller("unlimited", ["community_dataset"]);
  expect((await world.get(path("workspace_labels=global,community,personal"), { key: entitled })).status).toBe(200);
});

test("a key that another process has just made works at once", async () => {
  const key = await addCaller(world.client, "just-made", "community", []);
  expect((await world.get("/v3/tags", { key })).status).toBe(200);
});

test("a revoked key stops working, a new one works, both within five seconds", async () => {
  const key = await world.addCaller("community");
  expect((await world.get("/v3/tags", { key })).status).toBe(200);
  const stored = (await readCredentials(world.client, "workspace")).at(-1);
  if (stored === undefined) throw new Error("no key is stored");
  expect(JSON.stringify(stored), "the key itself is stored nowhere").not.toContain(key);
  await revokeCredential(world.client, stored, Date.now());
  await eventually(async () => expect(await world.get("/v3/tags", { key })).toEqual(UNAUTHORIZED), 5_000);
});

test("no workspace can be created on, or moved to, the plan of callers without a key", async () => {
  const context = commandOver(world);
  const id = `w-${randomUUID()}`;
  const write = (isNew: boolean, plan?: string) => runWorkspacesWrite(id, { isNew, plan }, context);
  const error =
    'the plan "unauthenticated" is for callers without a key; a workspace may have community, standard, unlimited';
  await expect(async () => write(true, "unauthenticated")).rejects.toThrow(error);
  await expect(async () => write(false, "unauthenticated")).rejects.toThrow(error);
  expect((await workspaces.read(world.client)).map(({ workspaceId }) => workspaceId)).not.toContain(id);
  await write(true, "standard");
  await expect(async () => write(false, "unauthenticated")).rejects.toThrow(error);
  expect(context.lines.join("\n")).toContain("standard");
});

test("a change of a key or a workspace counts even if the clock of the machine that makes it is behind", async () => {
  const key = await world.addCaller("unlimited", ["community_dataset"]);
  const stored = (await readCredentials(world.client, "workspace")).at(-1);
  if (stored === undefined) throw new Error("no key is stored");
  const { workspaceId } = stored;
  const [global, activity] = [path("workspace_labels=global"), path()];
  for (const entitlements of [[], ["community_dataset"] as const, []]) {
    const workspace = { workspaceId, name: workspaceId, plan: "unlimited", entitlements: [...entitlements] };
    await workspaces.write(world.client, [workspace], Date.now() - DAY);
    const status = entitlements.length === 0 ? 403 : 200;
    await eventually(async () => expect((await world.get(global, { key })).status).toBe(status), 5_000);
  }
  await revokeCredential(world.client, stored, Date.now() - DAY);
  await eventually(async () => expect(await world.get(activity, { key })).toEqual(UNAUTHORIZED), 5_000);
});

test("the first key is delivered before it is stored: a user who could not keep it gets another at the next start", async () => {
  const fresh = await createWorld(() => NOW);
  onTestFinished(() => fresh.close());
  await fresh.client.command({ query: "TRUNCATE TABLE workspaces" });
  await fresh.client.command({ query: "TRUNCATE TABLE credentials" });
  const lost = createFirstWorkspace(fresh.client, NOW, () => Promise.reject(new Error("disk full")));
  await expect(lost).rejects.toThrow("disk full");
  expect([await workspaces.read(fresh.client), await readCredentials(fresh.client, "workspace")]).toEqual([[], []]);
  const kept: string[] = [];
  const keep = async ({ secret }: { readonly secret: string }) => void kept.push(secret);
  for (let start = 0; start < 2; start++) await createFirstWorkspace(fresh.client, NOW, keep);
  expect(kept).toHaveLength(1);
  expect((await readCredentials(fresh.client, "workspace")).map(({ sha256 }) => sha256)).toEqual(kept.map(hashSecret));
});

test("the first sensor key is made only after confirmation, and the intake can be opened again", async () => {
  const command = commandOver(world);
  const create = { dataset: "global", label: "", json: true, yes: false };
  const needsKey = async () => {
    await world.accessCache.refresh();
    return world.accessCache.needsSensorKey();
  };
  await expect(runSensorsCreate(create, command)).rejects.toThrow(/every sender needs one, .* pass --yes/);
  await expect(runSensorsCreate(create, { ...command, ask: async () => false })).rejects.toThrow("nothing was changed");
  expect(await needsKey()).toBe(false);
  const asked: string[] = [];
  const ask = async (question: string) => asked.push(question) > 0;
  await runSensorsCreate(create, { ...command, ask });
  expect(asked).toEqual([expect.stringContaining("also for the global dataset. Continue?")]);
  expect(await needsKey()).toBe(true);
  await runSensorsCreate(create, command);
  await expect(runSensorsOpen({ yes: false }, command)).rejects.toThrow(/without a key\. Nothing was changed/);
  await runSensorsOpen({ yes: true }, command);
  expect(await needsKey()).toBe(false);
  const listed = commandOver(world);
  await runSensorsList({ json: true }, listed);
  expect(JSON.parse(listed.lines.join("")).keys).toHaveLength(2);
  await expect(runSensorsCreate(create, command), "another key closes it again").rejects.toThrow(/pass --yes/);
  await runSensorsCreate({ ...create, yes: true }, command);
  expect(await needsKey()).toBe(true);
});

test("a caller without a key is its IPv6 network, whatever address in it and whatever spelling it uses", async () => {
  const remainingFor = async (remoteAddress: string) => {
    const response = await world.app.inject({ method: "GET", url: "/v3/community/45.0.0.77", remoteAddress });
    return response.headers["ratelimit-remaining"];
  };
  const spellings = ["2001:db8::1", "2001:DB8::1", "2001:db8:0:0:ffff::2", "[2001:db8::3]:4711"];
  const remaining: unknown[] = [];
  for (const spelling of spellings) remaining.push(await remainingFor(spelling));
  expect(remaining).toEqual(["99", "98", "97", "96"]);
  expect([await remainingFor("198.51.100.1"), await remainingFor("::ffff:198.51.100.1")]).toEqual(["99", "98"]);
});

test("counts of lookups survive a restart, and start at zero with the next UTC day", async () => {
  const file = join(tmpdir(), `noisefloor-lookups-${randomUUID()}`);
  const caller = {
    plan: "unauthenticated",
    entitlements: new Set<never>(),
    limits: { lookups_per_day: 3, reach_days: 1 },
  };
  let time = NOW;
  const granted: boolean[] = [];
  for (let start = 0; start < 4; start++) {
    const limit = await localLookupLimit(file, () => time, silent);
    granted.push((await limit.take(caller, "45.0.0.1", 1)).isGranted);
    await limit.close();
  }
  time += DAY;
  const limit = await localLookupLimit(file, () => time, silent);
  granted.push((await limit.take(caller, "45.0.0.1", 1)).isGranted);
  await limit.close();
  await rm(file);
  expect(granted).toEqual([true, true, true, false, true]);
});
