import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createServedWorld, type ServedWorld } from "../support/worlds/served-world.ts";

let world: ServedWorld;
let key: string;
let other: string;

beforeAll(async () => {
  world = await createServedWorld(Date.now);
  key = await world.addCaller("standard");
  other = await world.addCaller("community");
});
afterAll(() => world.close());

/** The plan as which a caller is known, or the status of the rejection. */
async function planOf(headers: Record<string, string>): Promise<string | number> {
  const answer = await fetch(`${world.url}/v3/plans`, { headers });
  if (answer.status !== 200) return answer.status;
  return z.object({ caller: z.object({ plan: z.string() }) }).parse(await answer.json()).caller.plan;
}

test("a key counts as header and as bearer token alike", async () => {
  expect(await planOf({ key })).toBe("standard");
  expect(await planOf({ authorization: `Bearer ${key}` })).toBe("standard");
  expect(await planOf({ authorization: `bearer  ${key} ` })).toBe("standard");
  expect(await planOf({ key: "", authorization: `Bearer ${key}` })).toBe("standard");
});

test("the header key wins over a token, and an unknown token is rejected as an unknown key is", async () => {
  expect(await planOf({ key, authorization: `Bearer ${other}` })).toBe("standard");
  expect(await planOf({ authorization: "Bearer made-up" })).toBe(401);
});

test("what a proxy may put into Authorization for itself is no key", async () => {
  for (const authorization of ["", "Bearer", "Bearer ", `Basic ${Buffer.from(`x:${key}`).toString("base64")}`, key]) {
    expect([authorization, await planOf({ authorization })]).toEqual([authorization, "unauthenticated"]);
  }
});

test("every operation that takes a key takes it as bearer token", async () => {
  for (const { method, path, body, pathParameters } of QUERY_OPERATIONS) {
    const url = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(pathParameters[name]?.example ?? ""));
    const answer = await fetch(world.url + url, {
      method,
      headers: { authorization: "Bearer made-up" },
      ...(body === undefined ? {} : { body: JSON.stringify(body.example) }),
    });
    expect([path, answer.status]).toEqual([path, 401]);
  }
});
