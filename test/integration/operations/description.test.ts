import { describeOperations } from "@noisefloor/http/operations/openapi.ts";
import { INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { expectDescribed } from "../../support/oracle/description.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const OPERATIONS = [...QUERY_OPERATIONS, ...INGEST_OPERATIONS];
let world: World;

beforeAll(async () => {
  world = await createWorld(Date.now);
});
afterAll(() => world.close());

const documentSchema = z.object({
  openapi: z.literal("3.1.0"),
  info: z.object({ version: z.string() }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        summary: z.string().min(1),
        responses: z.record(
          z.string(),
          z.object({
            description: z.string().min(1),
            content: z
              .record(z.string(), z.object({ schema: z.unknown(), example: z.unknown().optional() }))
              .default({}),
          }),
        ),
      }),
    ),
  ),
});

test("the description is OpenAPI 3.1, carries version 3.0.0 and names every operation, each with an id of its own", async () => {
  const response = await world.app.inject({ method: "GET", url: "/openapi.json" });
  expect(response.statusCode).toBe(200);
  const document = documentSchema.parse(response.json());
  expect(document.info.version).toBe("3.0.0");
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  const ids = operations.map(({ operationId }) => operationId);
  expect(ids).toContain("getCommunityIP");
  expect(new Set(ids).size).toBe(QUERY_OPERATIONS.length);
  for (const path of ["/v3/community/{ip}", "/v3/tags/{id}/activity", "/v3/tags", "/v3/ip/{ip}", "/v3/ip", "/ping"]) {
    expect(Object.keys(document.paths)).toContain(path);
  }
});

test("every example matches its schema", () => {
  const document = documentSchema.parse(describeOperations(OPERATIONS));
  let examples = 0;
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { responses }] of Object.entries(methods)) {
      for (const [status, { content }] of Object.entries(responses)) {
        const [withSchema, ...others] = Object.values(content);
        if (withSchema === undefined) {
          expect([path, status]).toEqual([path, "204"]);
          continue;
        }
        expectDescribed(method, path, Number(status), withSchema.example);
        // Bytes have no example.
        for (const { example = "" } of others) expect(example).toEqual(expect.any(String));
        examples++;
      }
    }
  }
  expect(examples).toBeGreaterThan(60);
  for (const { body } of OPERATIONS) expect(body?.schema.safeParse(body.example).success ?? true).toBe(true);
});

test("the documentation page loads nothing from other hosts", async () => {
  const page = await world.app.inject({ method: "GET", url: "/docs" });
  expect(page.statusCode).toBe(200);
  expect(page.headers["content-type"]).toMatch(/^text\/html/);
  expect(page.headers["content-security-policy"]).toMatch(/^default-src 'self'/);
  expect(page.headers["referrer-policy"]).toBe("no-referrer");
  const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? "");
  expect(assets.length).toBeGreaterThan(3);
  for (const url of assets) {
    expect(url).toMatch(/^\/docs\//);
    expect((await world.app.inject({ method: "GET", url })).statusCode).toBe(200);
  }
  const shown = await world.app.inject({ method: "GET", url: "/docs/json" });
  expect(shown.json()).toEqual((await world.app.inject({ method: "GET", url: "/openapi.json" })).json());
});
