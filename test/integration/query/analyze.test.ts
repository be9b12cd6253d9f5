import { EventEmitter, once } from "node:events";
import { Readable } from "node:stream";
import { ipv4ToNumber, isRoutableIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { networkList } from "../../support/builders/network-list.ts";
import { observation } from "../../support/builders/observation.ts";
import { seeded } from "../../support/builders/random.ts";
import { longestTurn } from "../../support/longest-turn.ts";
import { atVolume } from "../../support/volume.ts";
import { createServedWorld, type ServedWorld } from "../../support/worlds/served-world.ts";
import { makeTag } from "../../support/worlds/world.ts";

const HOUR = 60 * 60 * 1000;
let now = Date.now();
const TAGS = [makeTag("mirai", "malicious", { name: "Mirai" }), makeTag("scanner", "unknown", { name: "A Scanner" })];
const SEEN = Array.from({ length: 30 }, (_, index) => `45.0.0.${index}`);
const COUNTRIES: Readonly<Record<string, string>> = { DE: "Germany", VN: "Vietnam" };
const tagsOf = (ip: string) => TAGS.filter((_, index) => (ipv4ToNumber(ip) & (index + 1)) !== 0);
const countryOf = (ip: string) => ["DE", "VN", undefined][ipv4ToNumber(ip) % 3];
const isActor = (ip: string) => /^45\.0\.0\.[4-7]$/.test(ip);
const isService = (ip: string) => /^45\.0\.0\.(?:8|9|1[0-5])$/.test(ip) || ip === "8.8.8.8";
let world: ServedWorld;

beforeAll(async () => {
  world = await createServedWorld(() => now);
  await world.addTags(TAGS);
  await world.replaceNetworks("actor", [networkList("census", ["45.0.0.4/30"], { name: "Census" })]);
  await world.replaceNetworks("service", [networkList("dns", ["45.0.0.8/29", "8.8.8.8/32"])]);
  await world.store(
    SEEN.map((ip) => {
      const country = countryOf(ip);
      const tags = tagsOf(ip).map(({ slug }) => slug);
      return observation(ip, now - 60_000, { tags, ...(country === undefined ? {} : { country }) });
    }),
  );
});
afterAll(() => world.close());

const analysisSchema = z.object({
  uuid: z.uuid(),
  state: z.literal("completed"),
  details: z.unknown(),
  stats: z.unknown(),
});

async function upload(text: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, name = "file") {
  const body = new FormData();
  body.append(name, new Blob([text]), "log.txt");
  const answer = await fetch(`${world.url}/v2/analyze/upload`, { method: "POST", headers, body });
  return { status: answer.status, headers: answer.headers, body: z.unknown().parse(await answer.json()) };
}

/** By brute force. */
function expected(ips: readonly string[]) {
  const noise = ips.filter((ip) => SEEN.includes(ip));
  const riot = ips.filter(isService);
  const counted = (names: readonly string[]) =>
    [...new Set(names)]
      .map((name) => ({ name, count: names.filter((one) => one === name).length }))
      .sort((one, other) => other.count - one.count || (one.name < other.name ? -1 : 1));
  const classOf = (ip: string) =>
    isActor(ip) ? "benign" : tagsOf(ip).some(({ slug }) => slug === "mirai") ? "malicious" : "unknown";
  const percentage = (some: readonly string[]) => (ips.length === 0 ? 0 : (100 * some.length) / ips.length);
  return {
    details: {
      unique_ips: ips.length,
      noise_ips: noise.length,
      non_noise_ips: ips.length - noise.length,
      riot_ips: riot.length,
      noise_ips_found: noise,
      riot_ips_found: riot,
      unknown_ips: ips.filter((ip) => !noise.includes(ip) && !riot.includes(ip)),
      percentage_of_noise_ips: percentage(noise),
      percentage_of_riot_ips: percentage(riot),
    },
    stats: {
      actors: counted(noise.flatMap((ip) => (isActor(ip) ? "Census" : []))).map(({ name, count }) => ({
        actor: name,
        count,
      })),
      classifications: counted(noise.map(classOf)).map(({ name, count }) => ({ classification: name, count })),
      countries: counted(noise.flatMap((ip) => COUNTRIES[countryOf(ip) ?? ""] ?? [])).map(({ name, count }) => ({
        country: name,
        count,
      })),
      operating_systems: [],
      tags: counted(noise.flatMap((ip) => tagsOf(ip).map(({ name }) => name))).map(({ name, count }) => ({
        tag: name,
        id: TAGS.find((tag) => tag.name === name)?.id,
        count,
      })),
    },
  };
}

test("a text's addresses are summed up as each of them would be answered, whatever is between them", async () => {
  const random = seeded(3);
  for (let round = 0; round < 5; round++) {
    const lines = Array.from({ length: random.int(0, 300) }, () => {
      const ip = random.pick([...SEEN, "8.8.8.8", "10.0.0.1", "127.0.0.1", `46.0.0.${random.int(0, 9)}`, "999.1.1.1"]);
      return random.pick([
        ip,
        `from ${ip} port 22`,
        `{"src":"${ip}","x":1},`,
        ip.replaceAll(".", "[.]"),
        `http://${ip}/a`,
      ]);
    });
    const text = lines.join(random.pick(["\n", " ", ",", "\r\n"]));
    const plain = text.replaceAll("[.]", ".").match(/\d+\.\d+\.\d+\.\d+/g) ?? [];
    const ips = [...new Set(plain.filter(isRoutableIpv4))];
    const { status, body } = await upload(text, { key: await world.addCaller("unlimited") });
    expect(status).toBe(200);
    const { uuid: _uuid, state: _state, ...summary } = analysisSchema.parse(body);
    expect(summary).toEqual(expected(ips));
  }
});

test("an analysis can be read for an hour by its own workspace", async () => {
  const key = await world.addCaller("unlimited", [], "team-a");
  const { body } = await upload("45.0.0.1", { key });
  const { uuid } = analysisSchema.parse(body);
  const read = (headers: Record<string, string>) => world.get(`/v2/analyze/${uuid}`, headers);
  expect(await read({ key })).toEqual({ status: 200, body });
  expect((await read({ key: await world.addCaller("unlimited", [], "team-b") })).status).toBe(404);
  expect((await read({})).status).toBe(404);
  expect((await world.get("/v2/analyze/x", { key })).status).toBe(400);
  now += HOUR;
  expect((await read({ key })).status).toBe(404);
  now -= HOUR;
});

test("each distinct routable address is a lookup, and a text with more than are left costs none", async () => {
  const key = await world.addCaller("community");
  const remaining = async (text: string) => {
    const { status, headers } = await upload(text, { key });
    return [status, headers.get("ratelimit-remaining")];
  };
  expect(await remaining("45.0.0.1 45.0.0.1 10.0.0.1 8.8.8.8")).toEqual([200, "998"]);
  expect(await remaining("no address")).toEqual([200, "998"]);
  const many = Array.from({ length: 999 }, (_, index) => `46.0.${index >> 8}.${index & 255}`).join(" ");
  expect(await remaining(many)).toEqual([429, "998"]);
});

test("other bodies and texts beyond the limits are a 400 that says so", async () => {
  const key = await world.addCaller("unlimited");
  const message = async (text: string, name?: string) => {
    const { status, body } = await upload(text, { key }, name);
    return [status, Object(body).message];
  };
  const noFile = 'The request body must be multipart/form-data with the text as its member "file"';
  expect(await message("8.8.8.8", "text")).toEqual([400, noFile]);
  expect(await message("x".repeat(10 * 1024 * 1024 + 1))).toEqual([
    400,
    "The text is larger than 10 MiB: send it in parts",
  ]);
  const many = Array.from({ length: 10_001 }, (_, index) => `46.0.${index >> 8}.${index & 255}`).join("\n");
  expect(await message(many)).toEqual([400, "The text has more than 10000 addresses: send it in parts"]);
  const cut = '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n8.8.8.8';
  for (const [contentType, body] of [
    ["application/json", '{"ips":["8.8.8.8"]}'],
    ["multipart/form-data", "x"],
    ["multipart/form-data; boundary=b", cut],
    ["multipart/form-data; boundary=b", ""],
  ] as const) {
    const answer = await fetch(`${world.url}/v2/analyze/upload`, {
      method: "POST",
      headers: { key, "content-type": contentType },
      body,
    });
    expect([contentType, answer.status, await answer.json()]).toEqual([contentType, 400, { message: noFile }]);
  }
  const whole = `${cut}\r\n--b--\r\n`;
  const headers = { key, "content-type": "multipart/form-data; boundary=b" };
  const answer = await fetch(`${world.url}/v2/analyze/upload`, { method: "POST", headers, body: whole });
  expect(await answer.json()).toMatchObject({ details: { riot_ips_found: ["8.8.8.8"] } });
});

const TEXTS: readonly (readonly [name: string, repeated: string])[] = [
  ["digits", "1"],
  ["brackets", "1[.]"],
  ["words", "a"],
  ["colons", ":"],
  ["dots and digits", "1."],
  ["blanks", " "],
];

test.each(TEXTS.slice(0, atVolume(2, TEXTS.length)))(
  "a text of %s alone holds up no other request",
  async (_, repeated) => {
    const text = repeated.repeat(9_000_000 / repeated.length);
    const key = await world.addCaller("unlimited");
    let status = 0;
    const turn = await longestTurn(async () => {
      ({ status } = await upload(text, { key }));
    });
    expect(status).toBe(200);
    expect(turn).toBeLessThan(1_000);
  },
);

test("texts that are still arriving take nothing of the memory for other bodies", async () => {
  const key = await world.addCaller("unlimited");
  const signals = new EventEmitter().setMaxListeners(20);
  const released = once(signals, "release");
  const MIB = 1024 * 1024;
  // Half of what is left each time would leave nothing of a budget of 32 MiB.
  const sizes = [10, 10, 5, 3, 2, 1, 0.5, 0.25].map((mib) => mib * MIB - 1_000);
  const uploads = sizes.map((bytes, index) => {
    const arrived = once(signals, `arrived ${index}`);
    async function* form() {
      yield Buffer.from('--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n');
      for (let sent = 0; sent < bytes; sent += MIB) yield Buffer.alloc(Math.min(MIB, bytes - sent), "no address\n");
      signals.emit(`arrived ${index}`);
      await released;
      yield Buffer.from("\r\n--b--\r\n");
    }
    const answered = world.app.inject({
      method: "POST",
      url: "/v2/analyze/upload",
      remoteAddress: `100.64.1.${index}`,
      headers: { "content-type": "multipart/form-data; boundary=b" },
      payload: Readable.from(form()),
    });
    return { isArrived: Promise.race([arrived.then(() => true), answered.then(() => false)]), answered };
  });
  expect(await Promise.all(uploads.map(({ isArrived }) => isArrived))).toEqual(sizes.map(() => true));
  const ips = Array.from({ length: 9_000 }, (_, index) => `46.0.${index >> 8}.${index & 255}`);
  const bulk = await world.app.inject({
    method: "POST",
    url: "/v3/ip?quick=true",
    remoteAddress: "100.64.2.1",
    headers: { key },
    payload: { ips },
  });
  signals.emit("release");
  expect(bulk.statusCode).toBe(200);
  await Promise.all(uploads.map(({ answered }) => answered));
});
