import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { type SmallDisk, startOnSmallDisk } from "../support/servers/small-disk.ts";

const [SEEN, UNSEEN] = ["45.0.0.1", "45.2.0.1"];

let disk: SmallDisk;
let key: string;
let sensorKey: string;
beforeAll(async () => {
  disk = await startOnSmallDisk(256, { MIN_FREE_DISK_MIB: "0" });
  const made = z.object({ key: z.string() });
  const [ofWorkspace, ofSensor] = await Promise.all([
    disk.runHere("keys", "create", "default", "--json"),
    disk.runHere("sensors", "create", "--dataset", "global", "--json", "--yes"),
  ]);
  key = made.parse(JSON.parse(ofWorkspace.stdout)).key;
  sensorKey = made.parse(JSON.parse(ofSensor.stdout)).key;
  // A running service accepts new keys within five seconds.
  await eventually(async () => expect(await get("/ping")).toMatchObject({ status: 200 }));
  await eventually(async () => expect(await publish(SEEN, sensorKey)).toMatchObject({ status: 202 }));
  const definition = JSON.stringify({ query: "tags:ssh-scanner", description: "" });
  expect(await ask("/v3/feeds/edge", { method: "PUT", body: definition, headers: { key } })).toMatchObject({
    status: 201,
    body: { count: 1 },
  });
});
afterAll(() => disk.close());

type Answer = { readonly status: number; readonly body: unknown };

async function ask(path: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(disk.url + path, init);
  return { status: response.status, body: await response.json() };
}
const get = (path: string) => ask(path, { headers: { key } });
const publish = (ip: string, senderKey: string) => {
  const observation = {
    observed_at: new Date().toISOString(),
    observation_id: `of-${ip}`,
    sensor_id: "tap",
    source_ip: ip,
    tags: ["ssh-scanner"],
  };
  const headers = senderKey === "" ? {} : { key: senderKey };
  return ask("/v1/observations", { method: "POST", body: JSON.stringify(observation), headers });
};

async function readFeed(): Promise<{ readonly status: number; readonly list: string }> {
  const response = await fetch(`${disk.url}/v3/feeds/edge.txt`, { headers: { key } });
  return { status: response.status, list: await response.text() };
}

/** The answers of all operations that read the store, without the time of the request in them. */
async function answers(): Promise<readonly (readonly [string, unknown])[]> {
  const tags = z
    .object({ tags: z.array(z.object({ id: z.string() })) })
    .parse((await get("/v3/tags?slug=ssh-scanner")).body);
  const body = JSON.stringify({ ips: [SEEN, UNSEEN] });
  const post = (path: string) =>
    ask(path, { method: "POST", body, headers: { key, "content-type": "application/json" } });
  const asked: [string, Promise<Answer>][] = [
    ...[
      `/v3/community/${SEEN}`,
      `/v3/community/${UNSEEN}`,
      `/v3/ip/${SEEN}`,
      `/v3/ip/${SEEN}?quick=true`,
      `/v3/noise/ips/${SEEN}/timeline`,
      `/v3/tags/${tags.tags[0]?.id}/activity?include_ips=true&granularity=24h`,
      "/v3/tags",
      "/ping",
      `/v2/noise/quick/${SEEN}`,
      `/v2/noise/context/${SEEN}`,
      `/v2/riot/${SEEN}`,
      "/v2/meta/metadata",
    ].map((path): [string, Promise<Answer>] => [path, get(path)]),
    ["POST /v3/ip", post("/v3/ip")],
    ["POST /v2/noise/multi/quick", post("/v2/noise/multi/quick")],
  ];
  return Promise.all(
    asked.map(async ([path, answer]) => {
      const { status, body } = await answer;
      const { metadata: _window, ...rest } = z.record(z.string(), z.unknown()).catch({ body }).parse(body);
      return [path, { status, ...(path.includes("timeline") ? rest : { body }) }] as const;
    }),
  );
}

test("on a full disk every answer and feed is as before, the intake rejects requests, and commands say what is wrong", {
  timeout: 480_000,
}, async () => {
  const before = await answers();
  for (const [path, answer] of before)
    expect([path, answer]).toEqual([
      path,
      expect.objectContaining({ status: path.endsWith(`community/${UNSEEN}`) ? 404 : 200 }),
    ]);
  const lists = [
    ["keys", "list"],
    ["sensors", "list"],
    ["workspaces", "list"],
    ["dead-letters", "list"],
  ] as const;
  const list = () =>
    Promise.all(lists.map((args) => disk.runHere(...args).then(({ code, stdout }) => ({ code, stdout }))));
  const listed = await list();
  const feed = { status: 200, list: `${SEEN}\n` };
  expect(await readFeed()).toEqual(feed);

  await disk.fill();
  expect(await answers()).toEqual(before);
  expect(await ask("/v3/tags", { headers: { key: "nf_unknown" } })).toMatchObject({ status: 401 });
  expect(await publish(UNSEEN, ""), "without a key, which is required").toMatchObject({ status: 401 });
  expect(await publish(UNSEEN, sensorKey)).toEqual({
    status: 503,
    body: { message: expect.stringMatching(/again later/) },
  });
  expect(await list()).toEqual(listed);
  expect(await readFeed()).toEqual(feed);
  const isFull = {
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^noisefloor: .*(disk is full|no space left).*\n$/i),
  };
  const writing = [
    ["keys", "create", "default"],
    ["sensors", "create", "--dataset", "global"],
    ["workspaces", "create", "another"],
  ] as const;
  for (const [index, failed] of (
    await Promise.all(writing.map((args, index) => (index === 0 ? disk.run(...args) : disk.runHere(...args))))
  ).entries()) {
    expect(failed, writing[index]?.join(" ")).toEqual(isFull);
  }
  // The caches have refreshed several times by now.
  expect(await answers()).toEqual(before);
  // Older than a list may be: it is refreshed before it is answered, which a full disk refuses.
  for (const end = performance.now() + 100_000; performance.now() < end; await sleep(5_000)) {
    expect(await readFeed()).toEqual(feed);
  }

  await disk.free();
  await eventually(async () => expect(await publish(UNSEEN, sensorKey)).toMatchObject({ status: 202 }));
  expect(await get(`/v3/community/${UNSEEN}`)).toMatchObject({ status: 200, body: { noise: true } });
  const both = { status: 200, list: `${SEEN}\n${UNSEEN}\n` };
  await eventually(async () => expect(await readFeed()).toEqual(both), 120_000);
});
