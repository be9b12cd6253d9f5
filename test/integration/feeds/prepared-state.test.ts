import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createWorld, type World } from "../../support/worlds/world.ts";

let world: World;
let key: string;
beforeAll(async () => {
  world = await createWorld(Date.now);
  key = await world.addCaller("unlimited");
});
afterAll(() => world.close());

const manage = async (method: "PUT" | "POST" | "GET", path: string, payload?: object): Promise<unknown> =>
  (await world.app.inject({ method, url: `/v3/feeds${path}`, headers: { key }, ...(payload && { payload }) })).json();
const listSchema = z.object({ feeds: z.array(z.object({ id: z.string(), name: z.string() })) });
/** Where a feed is read: as a list, by MISP, CrowdSec and TAXII. */
async function pathsOf(feed: string) {
  const { feeds } = listSchema.parse(await manage("GET", ""));
  const id = feeds.find(({ name }) => name === feed)?.id;
  const { token } = z.object({ token: z.string() }).parse(await manage("POST", `/${feed}/tokens`, { label: "x" }));
  const asKey = { headers: { key: token } };
  const asBouncer = { headers: { "x-api-key": token } };
  return [
    { url: `/v3/feeds/${feed}.txt`, ...asKey },
    { url: `/v3/feeds/${feed}.stix`, ...asKey },
    { url: `/v3/feeds/${feed}/misp/manifest.json`, ...asKey },
    { url: "/v1/decisions/stream?startup=true", ...asBouncer },
    { url: "/v1/decisions", ...asBouncer },
    { url: `/taxii2/root/collections/${id}/objects/`, ...asKey },
  ];
}
const ask = async (requests: Awaited<ReturnType<typeof pathsOf>>) =>
  Promise.all(
    requests.map(async (request) => {
      const { statusCode, headers } = await world.app.inject(request);
      return [statusCode, headers["retry-after"]];
    }),
  );

test("a disabled feed is gone for all who read it, and no collection of TAXII", async () => {
  await manage("PUT", "/off", { query: "ip:45.0.0.1", enabled: false });
  expect(await ask(await pathsOf("off"))).toEqual([...Array(5).fill([410, undefined]), [404, undefined]]);
});

test("a feed that has no list because the store fails is to be asked for again in seconds, in all protocols", async () => {
  const requests = await pathsOf("recent");
  await world.client.command({ query: "RENAME TABLE feed_refreshes TO feed_refreshes_away" });
  const answers = await ask(requests);
  await world.client.command({ query: "RENAME TABLE feed_refreshes_away TO feed_refreshes" });
  expect(answers).toEqual(Array(6).fill([expect.toSatisfy((status: number) => status >= 500), "5"]));
  expect(await ask(requests)).toEqual(Array(6).fill([200, undefined]));
});
