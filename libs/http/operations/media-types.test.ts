import { gunzipSync } from "node:zlib";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import { pino } from "pino";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { createHttpApp } from "../app.ts";
import { text } from "../requests/parameters.ts";
import { hasRevision } from "../response-bodies/etag.ts";
import { NOT_MODIFIED } from "../response-bodies/media-body.ts";
import { HttpError } from "../responses/errors.ts";
import { describeOperations } from "./openapi.ts";
import { defineOperation } from "./operation.ts";

const ROWS = 20_000;
const rows = Array.from({ length: ROWS }, (_, number) => `${number},x\n`);
const MEMORY_BYTES = 4 * rows.join("").length;

const ofFeed = {
  method: "GET",
  group: "Test",
  summary: "",
  queryParameters: [],
  errorResponses: {},
} as const;
const getFeed = defineOperation({
  ...ofFeed,
  id: "getFeed",
  path: "/feed.{form}",
  pathParameters: { form: { schema: z.string(), description: "", errorMessage: "", example: "csv" } },
  queryParameters: [text({ name: "size", description: "", example: "1" })],
  success: {
    status: 200,
    description: "",
    schema: z.strictObject({ rows: z.int() }),
    example: { rows: 1 },
    otherMediaTypes: { "text/csv": "1,x\n", "application/x-tar": "" },
    headers: { "Feed-Size": "How many." },
    textHeaders: { "Feed-Cursor": "Where it ends." },
  },
});
const getHashes = defineOperation({
  ...ofFeed,
  id: "getHashes",
  path: "/hashes",
  pathParameters: {},
  success: { status: 200, description: "", mediaType: "text/csv", schema: z.string(), example: "a,b\n" },
});
const getCollections = defineOperation({
  ...ofFeed,
  id: "getCollections",
  path: "/collections",
  pathParameters: {},
  success: {
    status: 200,
    description: "",
    mediaType: "application/taxii+json;version=2.1",
    schema: z.strictObject({ collections: z.array(z.string()) }),
    example: { collections: [] },
  },
});

const app = await createHttpApp({
  log: pino({ level: "silent" }),
  metrics: createMetrics(),
  deadlineMs: 1_000,
  limits: { responseMemoryBytes: MEMORY_BYTES },
});
app.implement(getFeed, async (request, reply, _deadline, { toMediaBody }) => {
  const { form } = request.params;
  const size = Number(request.query.size ?? ROWS);
  reply.header("feed-cursor", "here");
  if (form === "json") return { rows: size };
  if (hasRevision(request, reply, `r${size}_${form}`)) return NOT_MODIFIED;
  if (form === "tar") return toMediaBody("application/x-tar", [Buffer.alloc(100_000), Buffer.alloc(9)]);
  async function* read() {
    for (const row of rows.slice(0, size)) yield row;
    if (form === "broken") throw new HttpError(503, "broken");
    if (form === "endless") for (;;) yield "x".repeat(10_000);
  }
  return toMediaBody("text/csv; charset=utf-8", read());
});
app.implement(getHashes, async (_request, _reply, _deadline, { toMediaBody }) =>
  toMediaBody("text/csv; charset=utf-8", ["a,b\n"]),
);
app.implement(getCollections, async () => ({ collections: ["x"] }));
afterAll(() => app.close());

const ask = (url: string, headers: Record<string, string> = {}, method: "GET" | "HEAD" = "GET") =>
  app.inject({ url, headers, method });

test.each([0, 1, 10, ROWS])(
  "a body of %i rows is the parts in their order, and its memory is released",
  async (size) => {
    const { statusCode, headers, body } = await ask(`/feed.csv?size=${size}`);
    expect([statusCode, headers["content-type"]]).toEqual([200, "text/csv; charset=utf-8"]);
    expect(body).toBe(rows.slice(0, size).join(""));
    expect(headers["content-length"]).toBe(String(body.length));
    expect(headers["feed-cursor"]).toBe("here");
    expect(app.responseMemory.used()).toBe(0);
  },
);

test("texts are compressed for clients that accept it, bytes are not", async () => {
  for (const size of [1_000, ROWS]) {
    const { headers, rawPayload } = await ask(`/feed.csv?size=${size}`, { "accept-encoding": "gzip" });
    expect([headers["content-encoding"], headers.vary]).toEqual(["gzip", expect.stringContaining("accept-encoding")]);
    expect(gunzipSync(rawPayload).toString()).toBe(rows.slice(0, size).join(""));
  }
  const { headers, rawPayload } = await ask("/feed.tar", { "accept-encoding": "gzip" });
  expect([headers["content-encoding"], rawPayload.length]).toEqual([undefined, 100_009]);
});

test("a strong ETag is that of the bytes, and with that of any encoding a client gets a 304", async () => {
  const plain = (await ask("/feed.csv")).headers.etag;
  const gzipped = (await ask("/feed.csv", { "accept-encoding": "gzip" })).headers.etag;
  const short = (await ask("/feed.csv?size=1000", { "accept-encoding": "br" })).headers.etag;
  expect([plain, gzipped, short]).toEqual([`"r${ROWS}_csv"`, `"r${ROWS}_csv-gzip"`, '"r1000_csv-br"']);
  for (const known of [plain, gzipped, `W/${plain}`, `"other", ${gzipped}`, "*"]) {
    const { statusCode, body, headers } = await ask("/feed.csv", { "if-none-match": String(known) });
    expect([known, statusCode, body]).toEqual([known, 304, ""]);
    expect(headers["feed-cursor"]).toBe("here");
    expect([plain, gzipped]).toContain(headers.etag);
  }
  expect((await ask("/feed.csv", { "if-none-match": '"other"' })).statusCode).toBe(200);
});

test("HEAD says what GET would send", async () => {
  for (const path of ["/feed.csv", "/feed.tar", "/feed.json", "/feed.csv?size=0"]) {
    const [head, get] = [await ask(path, {}, "HEAD"), await ask(path)];
    for (const name of ["content-length", "content-type", "etag", "feed-cursor"]) {
      expect([path, name, head.headers[name]]).toEqual([path, name, get.headers[name]]);
    }
  }
});

test("an error is JSON whatever the success would have been", async () => {
  const broken = await ask("/feed.broken");
  expect([broken.statusCode, broken.headers["content-type"]]).toEqual([503, "application/json; charset=utf-8"]);
  expect([broken.json(), broken.headers.etag]).toEqual([{ message: "broken" }, undefined]);
  const endless = await ask("/feed.endless");
  expect([endless.statusCode, endless.headers["content-type"]]).toEqual([503, "application/json; charset=utf-8"]);
  expect(app.responseMemory.used()).toBe(0);
});

test("JSON keeps the name that its operation gives it", async () => {
  const { headers, body } = await ask("/collections");
  expect(headers["content-type"]).toBe("application/taxii+json;version=2.1");
  expect(body).toBe('{"collections":["x"]}');
  expect((await ask("/feed.json")).headers["content-type"]).toBe("application/json; charset=utf-8");
});

test("the description names every media type, first that with the schema", () => {
  const described = z
    .record(
      z.string(),
      z.object({
        get: z.object({ responses: z.record(z.string(), z.object({ content: z.record(z.string(), z.unknown()) })) }),
      }),
    )
    .parse(describeOperations([getFeed, getHashes, getCollections]).paths);
  const typesOf = (path: string) => Object.entries(described[path]?.get.responses[200]?.content ?? {});
  expect(typesOf("/feed.{form}")).toEqual([
    ["application/json", expect.objectContaining({ example: { rows: 1 } })],
    ["text/csv", { schema: { type: "string" }, example: "1,x\n" }],
    ["application/x-tar", { schema: { type: "string", format: "binary" } }],
  ]);
  expect(typesOf("/hashes")).toEqual([["text/csv", { schema: { type: "string" }, example: "a,b\n" }]]);
  expect(typesOf("/collections").map(([type]) => type)).toEqual(["application/taxii+json;version=2.1"]);
});
