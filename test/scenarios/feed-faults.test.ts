import { setTimeout as sleep } from "node:timers/promises";
import { migrateStore } from "@noisefloor/clickhouse-cluster/store.ts";
import getPort from "get-port";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { seeded } from "../support/builders/random.ts";
import { eventually } from "../support/eventually.ts";
import { type RestartableStore, startRestartableStore } from "../support/servers/restartable-store.ts";
import { type CommandLine, openCommandLine, type Started } from "../support/worlds/command-line.ts";
import { MIGRATIONS } from "../support/worlds/databases.ts";
import { environmentOf } from "../support/worlds/ingest-process.ts";

const KILLS = 30;
const TIMEOUT_MS = 3_600_000;
const WAIT_MS = 90_000;

let store: RestartableStore;
let commandLine: CommandLine;
beforeEach(async () => {
  store = await startRestartableStore();
  commandLine = await openCommandLine();
}, 60_000);
afterEach(async () => {
  await commandLine.close();
  await store.close();
});

/** Follows a feed at one of several places, and applies every answer. It knows no list but what it was told. */
function followFeed(urls: () => readonly string[], key: string) {
  const list = new Set<string>();
  const statuses = new Map<number, number>();
  let cursor = "";
  let answers = 0;
  const poll = async () => {
    const url = urls()[answers++ % urls().length];
    const since = cursor === "" ? "" : `?since=${cursor}`;
    const answer = await fetch(`${url}/v3/feeds/followed.txt${since}`, { headers: { key } });
    const body = await answer.text();
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (answer.status === 503) return;
    expect([answer.status, body.slice(0, 200)]).toEqual([200, expect.any(String)]);
    for (const line of body.split("\n").filter((one) => one !== "")) {
      const isGone = line.startsWith("-");
      const ip = cursor === "" ? line : line.slice(1);
      expect([line, list.has(ip)]).toEqual([line, isGone]);
      if (isGone) list.delete(ip);
      else list.add(ip);
    }
    cursor = answer.headers.get("feed-cursor") ?? "";
  };
  /** A process or the store may be away at the moment: only an answer that is wrong fails. */
  const tryToPoll = () =>
    poll().catch((error: unknown) => {
      if (!(error instanceof TypeError)) throw error;
    });
  return { list, statuses, poll, tryToPoll };
}

test(
  "while services and the store are killed, a consumer that follows cursors ends with the list that a new one gets",
  async () => {
    await migrateStore(store.connection, MIGRATIONS);
    const random = seeded(9);
    const env = environmentOf(store.connection);
    const first = await commandLine.run(["workspaces", "create", "lab", "--plan", "unlimited"], env).finished;
    expect(first).toMatchObject({ code: 0 });
    const created = await commandLine.run(["keys", "create", "lab", "--json"], env).finished;
    const { key } = z.object({ key: z.string() }).parse(JSON.parse(created.stdout));
    const ports = [await getPort(), await getPort()];
    const urlOf = (port = 0) => `http://127.0.0.1:${port}`;
    const urls = () => ports.map(urlOf);
    const start = (index: number): Started =>
      commandLine.run([index === 0 ? "start" : "query"], { ...env, HTTP_PORT: String(ports[index]) });
    const processes = [start(0), start(1)];
    const ready = (index: number) =>
      eventually(async () => expect((await fetch(`${urlOf(ports[index])}/readyz`)).status).toBe(200), WAIT_MS);
    await Promise.all([ready(0), ready(1)]);

    const stored = new Set<string>();
    const storeAddresses = async (ips: readonly string[]) => {
      const lines = ips.map((source_ip) => ({ source_ip, observed_at: new Date().toISOString(), sensor_id: "s" }));
      await eventually(async () => {
        const body = JSON.stringify(lines);
        expect((await fetch(`${urlOf(ports[0])}/v1/observations`, { method: "POST", body })).status).toBe(202);
      }, WAIT_MS);
      for (const ip of ips) stored.add(ip);
    };
    /** A new definition is refreshed at once. */
    const define = (description: string) =>
      eventually(async () => {
        const payload = { method: "PUT", headers: { key }, body: JSON.stringify({ query: "*", description }) };
        const answer = await fetch(`${random.pick(urls())}/v3/feeds/followed`, payload);
        expect([200, 201]).toContain(answer.status);
      }, WAIT_MS);

    await storeAddresses(["45.0.0.1"]);
    await define("first");
    // A process knows the feeds that another one makes within seconds.
    const readFrom = (url: string) => fetch(`${url}/v3/feeds/followed.txt`, { headers: { key } });
    for (const url of urls()) await eventually(async () => expect((await readFrom(url)).status).toBe(200), WAIT_MS);
    const consumer = followFeed(urls, key);
    let isOver = false;
    let wrong: unknown;
    const following = (async () => {
      while (!isOver) {
        await consumer.tryToPoll();
        await sleep(20);
      }
    })().catch((error: unknown) => {
      wrong = error;
    });
    for (let kill = 0; kill < KILLS; kill++) {
      await storeAddresses(Array.from({ length: 3 }, () => `45.0.${random.int(0, 3)}.${random.int(1, 250)}`));
      const defining = define(`after ${kill}`);
      await sleep(random.int(0, 300));
      const victim = random.pick(["service", "store"]);
      if (victim === "store") {
        await store.kill();
        await store.start();
      } else {
        const index = kill % 2;
        processes[index]?.child.kill("SIGKILL");
        await processes[index]?.finished;
        processes[index] = start(index);
        await ready(index);
      }
      await defining;
    }
    await storeAddresses(["45.0.0.2"]);
    await define("last");
    const expected = [...stored].toSorted();
    await eventually(async () => {
      for (const url of urls()) {
        const fresh = await (await readFrom(url)).text();
        expect(fresh.trim().split("\n").toSorted()).toEqual(expected);
      }
    }, WAIT_MS);
    isOver = true;
    await following;
    if (wrong !== undefined) throw wrong;
    await consumer.poll();
    expect([...consumer.list].toSorted()).toEqual(expected);
    expect([...consumer.statuses.keys()].toSorted()).toEqual(consumer.statuses.has(503) ? [200, 503] : [200]);
    expect(consumer.statuses.get(200)).toBeGreaterThan(KILLS);
  },
  TIMEOUT_MS,
);
