import { afterAll, beforeAll, expect, test } from "vitest";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

let world: World;

beforeAll(async () => {
  world = await createWorld(Date.now);
  await world.addTags([makeTag("mirai", "malicious")]);
});
afterAll(() => world.close());

const validate = (query: string) => world.post("/v3/gnql/validate", { query });

test("a right query is valid, and a tag that does not exist is a warning", async () => {
  const unadjusted = { errors: [], is_query_adjusted: false, adjusted_query: "" };
  const right = "tags:mirai last_seen:1d NOT port:[1 TO 1023]";
  expect(await validate(right)).toEqual({
    status: 200,
    body: { valid: true, query: right, warnings: [], ...unadjusted },
  });
  const unknown = "tags:miray cve:CVE-1999-0001 tags:mir*";
  const warnings = ['no tag has the name, slug or id "miray"', 'no tag names the CVE "cve-1999-0001"'];
  expect(await validate(unknown)).toEqual({
    status: 200,
    body: { valid: true, query: unknown, warnings, ...unadjusted },
  });
});

test("a wrong query is a 200 that tells every error at its place", async () => {
  const { status, body } = await validate("clasification:malicious port:ssh");
  expect(status).toBe(200);
  expect(body).toMatchObject({
    valid: false,
    errors: [
      { position: 0, length: 13, message: 'no field is called "clasification". Did you mean "classification"?' },
      { position: 29, length: 3 },
    ],
  });
});

test("a body without a query is a 400", async () => {
  for (const payload of [{}, { query: 1 }, [], Array.from({ length: 200_000 }, () => [])]) {
    expect(await world.post("/v3/gnql/validate", payload)).toEqual({
      status: 400,
      body: { message: 'The request body must be {"query": "..."}' },
    });
  }
});
