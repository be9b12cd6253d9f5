import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { observation } from "../support/builders/observation.ts";
import { type BackupServer, backUpWorld, restoreWorld, startBackupServer } from "../support/worlds/backups.ts";
import { startFeedProcess } from "../support/worlds/feed-process.ts";
import { createWorld, makeTag, type World } from "../support/worlds/world.ts";

let now = Date.now();
let server: BackupServer;
let world: World;
let key: string;

beforeAll(async () => {
  server = await startBackupServer();
  world = await createWorld(() => now, { server: server.connection });
  await world.addTags([makeTag("mirai", "malicious")]);
  key = await world.addCaller("unlimited");
});
afterAll(async () => {
  await world.close();
  await server.close();
});

/** What a process answers that has just started. */
async function askNewProcess(method: "GET" | "PUT", paths: readonly string[], payload?: object) {
  const process = await startFeedProcess(world, () => now);
  try {
    const answers = [];
    for (const url of paths) {
      const sent = { method, url: `/v3/feeds/${url}`, headers: { key }, ...(payload && { payload }) };
      const { statusCode: status, body, headers } = await process.app.inject(sent);
      answers.push({ status, body, cursor: String(headers["feed-cursor"] ?? "") });
    }
    return answers;
  } finally {
    await process.stop();
  }
}

/** Stores addresses with the tag, and refreshes the feed. @returns its cursor. */
async function grow(...ips: string[]): Promise<string> {
  now += 1_000;
  const seen = ips.map((ip) => observation(ip, now - 500, { tags: ["mirai"], observation_id: randomUUID() }));
  await world.store(seen);
  await askNewProcess("PUT", ["bots"], { query: "tags:mirai", description: String(now) });
  const [list] = await askNewProcess("GET", ["bots.txt"]);
  return list?.cursor ?? "";
}

test("after a restore a cursor gives the exact difference, or a 410 where the backup does not know its list", async () => {
  const first = await grow("45.0.0.1", "45.0.0.2");
  const inBackup = await grow("45.0.0.3");
  await backUpWorld(world, server.place("feeds"));
  const afterBackup = await grow("45.0.0.4", "45.0.0.5");
  await restoreWorld(world, server.place("feeds"));

  const ask = (cursor: string) => `bots.txt?since=${cursor}`;
  const tooOld = { status: 410, body: expect.stringContaining("ask without since") };
  expect(await askNewProcess("GET", ["bots.txt", ask(first), ask(inBackup), ask(afterBackup)])).toMatchObject([
    { status: 200, body: "45.0.0.1\n45.0.0.2\n45.0.0.3\n", cursor: inBackup },
    { status: 200, body: "+45.0.0.3\n" },
    { status: 200, body: "" },
    tooOld,
  ]);
  await grow("45.0.0.6");
  expect(await askNewProcess("GET", ["bots.txt", ask(first), ask(inBackup), ask(afterBackup)])).toMatchObject([
    { status: 200, body: "45.0.0.1\n45.0.0.2\n45.0.0.3\n45.0.0.6\n" },
    { status: 200, body: "+45.0.0.3\n+45.0.0.6\n" },
    { status: 200, body: "+45.0.0.6\n" },
    tooOld,
  ]);
});
