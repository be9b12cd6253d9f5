import { request } from "node:http";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { makeApp } from "../support/worlds/http.ts";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";
import { makeTag } from "../support/worlds/world.ts";

const NOW = Date.now();
const SEEN = "45.0.0.1";
/** Addresses of the large answer, and its buckets. */
const [ADDRESSES, HOURS] = [400, 24];
const worm = makeTag("worm", "malicious", { description: "x".repeat(2_000) });
const ACTIVITY = `/v3/tags/${worm.slug}/activity?include_ips=true&granularity=1h`;
let world: ServedWorld;

beforeAll(async () => {
  world = await createServedWorld(() => NOW);
  await world.addTags([worm]);
  const seen = { sensor_id: "s", tags: [worm.slug] };
  const at = (hour: number) => new Date(NOW - hour * 3_600_000).toISOString();
  await world.store(
    Array.from({ length: ADDRESSES * HOURS }, (_, n) => ({
      ...seen,
      observed_at: at(Math.floor(n / ADDRESSES)),
      source_ip: `45.0.${Math.floor((n % ADDRESSES) / 250)}.${(n % 250) + 1}`,
    })),
  );
});
afterAll(() => world.close());

type Sent = { readonly status: number; readonly headers: Readonly<Record<string, unknown>>; readonly body: Buffer };

/** As the bytes come, which `fetch` would unpack. */
function ask(path: string, headers: Record<string, string> = {}, method = "GET", payload?: string): Promise<Sent> {
  return new Promise((settle, fail) => {
    const sent = request(world.url + path, { method, headers, agent: false }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece)).once("error", fail);
      answer.once("end", () =>
        settle({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) }),
      );
    });
    sent.once("error", fail).end(payload);
  });
}

const UNPACK: Readonly<Record<string, (bytes: Buffer) => Buffer>> = { br: brotliDecompressSync, gzip: gunzipSync };

test.each([
  ["the tag list", "/v3/tags"],
  ["tag activity with addresses", ACTIVITY],
  ["the description of the interface", "/openapi.json"],
  ["metrics", "/metrics"],
] as const)("%s comes compressed to clients that accept it, plain to all others, and is the same", async (_, path) => {
  const plain = await ask(path);
  expect([plain.status, plain.headers["content-encoding"]]).toEqual([200, undefined]);
  for (const [accepted, encoding] of [
    ["gzip", "gzip"],
    ["gzip, deflate", "gzip"],
    ["br", "br"],
    ["gzip, deflate, br, zstd", "br"],
    ["GZIP;q=0.9, br;q=0.5", "gzip"],
    ["*", "br"],
  ] as const) {
    const { status, headers, body } = await ask(path, { "accept-encoding": accepted });
    expect([accepted, status, headers["content-encoding"]]).toEqual([accepted, 200, encoding]);
    expect(headers["content-length"]).toBe(String(body.length));
    expect(headers.vary).toMatch(/accept-encoding.*key|key.*accept-encoding/i);
    expect(headers["cache-control"]).toBe("no-store");
    expect(body.length).toBeLessThan(plain.body.length / 2);
    // Some metrics change from one scrape to the next.
    if (path !== "/metrics") expect(UNPACK[encoding]?.(body).equals(plain.body), accepted).toBe(true);
  }
  for (const refused of ["identity", "", "deflate", "zstd", "gzip;q=0, br;q=0", "identity, gzip;q=0.5"]) {
    const { headers, body } = await ask(path, { "accept-encoding": refused });
    expect([refused, headers["content-encoding"]]).toEqual([refused, undefined]);
    expect(headers.vary).toMatch(/accept-encoding/i);
    if (path !== "/metrics") expect(body.equals(plain.body), refused).toBe(true);
  }
});

test("answers about single addresses that fit into a packet are never compressed", async () => {
  for (const path of [`/v3/community/${SEEN}`, `/v3/ip/${SEEN}?quick=true`, `/v2/noise/quick/${SEEN}`, "/nowhere"]) {
    const { headers } = await ask(path, { "accept-encoding": "gzip" });
    expect([path, headers["content-encoding"], headers.vary]).toEqual([path, undefined, "key"]);
  }
});

test("HEAD says what GET would send", async () => {
  for (const path of ["/v3/tags", ACTIVITY]) {
    for (const accepted of ["identity", "gzip", "br"]) {
      const sent = { "accept-encoding": accepted };
      const [head, get] = [await ask(path, sent, "HEAD"), await ask(path, sent)];
      expect(head.body.length).toBe(0);
      for (const name of ["content-length", "content-encoding", "content-type", "etag", "vary"]) {
        expect([path, accepted, name, head.headers[name]]).toEqual([path, accepted, name, get.headers[name]]);
      }
    }
  }
});

test("a compressed answer takes no more memory than a plain one, and releases it", async () => {
  const largest = (await ask(ACTIVITY)).body.length;
  const app: FastifyInstance = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics), {
    // A caller without a key gets a quarter.
    limits: { responseMemoryBytes: 4 * (largest + 1_024) },
  });
  onTestFinished(() => app.close());
  for (const accepted of ["identity", "gzip", "br"]) {
    const { statusCode } = await app.inject({ url: ACTIVITY, headers: { "accept-encoding": accepted } });
    expect([accepted, statusCode, app.responseMemory.used()]).toEqual([accepted, 200, 0]);
  }
});

test.each(["/v3/tags", "/v3/tags?name=worm", "/v2/meta/metadata", "/openapi.json"])(
  "%s has an ETag, with which the same answer is a 304 in any encoding, until it changes",
  async (path) => {
    const first = await ask(path);
    const etag = String(first.headers.etag);
    expect(etag).toMatch(/^W\/"[\w-]{20,}"$/);
    for (const known of [etag, etag.replace("W/", ""), `"other", ${etag}`, "*"]) {
      for (const accepted of ["identity", "gzip", "br"]) {
        const sent = { "if-none-match": known, "accept-encoding": accepted };
        const { status, headers, body } = await ask(path, sent);
        expect([known, accepted, status, body.length, headers.etag]).toEqual([known, accepted, 304, 0, etag]);
        expect([headers["content-length"], headers["content-encoding"]]).toEqual([undefined, undefined]);
        expect([headers["cache-control"], headers.vary]).toEqual(["no-store", "accept-encoding, key"]);
      }
    }
    const other = await ask(path, { "if-none-match": 'W/"other"' });
    expect([other.status, other.body.equals(first.body), other.headers.etag]).toEqual([200, true, etag]);
  },
);

test("a changed tag changes the ETag of the list; errors have none", async () => {
  const { etag } = (await ask("/v3/tags")).headers;
  await world.addTags([makeTag("new-worm", "malicious")]);
  const after = await ask("/v3/tags", { "if-none-match": String(etag) });
  expect([after.status, after.headers.etag === etag]).toEqual([200, false]);
  const failed = await ask("/v3/tags?slug=a&slug=b", { "if-none-match": "*" });
  expect([failed.status, failed.headers.etag]).toEqual([400, undefined]);
});
