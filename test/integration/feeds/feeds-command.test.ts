import { QUERY_OPERATIONS } from "@noisefloor/query/app/app.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { makeApp } from "../../support/worlds/http.ts";
import { runInProcess } from "../../support/worlds/in-process.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const now = Date.now();
let world: World;
let url: string;
let key: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  world = await createWorld(Date.now, { ownAddresses: ["45.0.0.9"] });
  await world.addTags([makeTag("mirai", "malicious")]);
  await world.store(
    ["45.0.0.1", "45.0.0.2", "45.0.0.9", "198.51.101.7"].map((ip) =>
      observation(ip, now - 60_000, { tags: ["mirai"] }),
    ),
  );
  key = await world.addCaller("unlimited");
  const app = await makeApp(QUERY_OPERATIONS, (made, metrics) => world.register(made, metrics));
  url = await app.listen({ host: "127.0.0.1", port: 0 });
  stop = () => app.close();
});
afterAll(async () => {
  await stop?.();
  await world?.close();
});

const feeds = (...args: string[]) => runInProcess(["feeds", ...args, "--url", url], { QUERY_KEY: key });
const read = async (path: string, token: string) => {
  const response = await fetch(`${url}${path}`, { headers: { key: token } });
  return { status: response.status, body: await response.text() };
};

test("a feed is made of a search, shown, listed, replaced and deleted", async () => {
  const made = await feeds("put", "bots", "tags:mirai", "--description", "who joins\u001b[2J botnets");
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const lines = made.stdout.split("\n");
  expect(lines).toEqual(
    expect.arrayContaining(["query         tags:mirai", "hosts         3", "guarded       1 left out"]),
  );
  expect(made.stdout).toContain("who joins\\u{1b}[2J botnets");
  expect(made.stdout).toContain(`${url}/v3/feeds/bots.txt`);
  expect((await feeds("show", "bots")).stdout).toBe(made.stdout);
  const listed: unknown = JSON.parse((await feeds("list", "--json")).stdout);
  expect(listed).toMatchObject([
    { name: "bots", count: 3 },
    { name: "recent" },
    { name: "persistent" },
    { name: "callbacks" },
  ]);
  expect((await feeds("list")).stdout).toMatch(
    /^name +of +state +hosts +guarded +refreshed_at +days +query\nbots +visitors +enabled +3 +1 /,
  );
  const options = ["--limit", "2", "--days", "7", "--ttl-hours", "48", "--no-guard", "--keep-fallen", "--json"];
  const replaced: unknown = JSON.parse((await feeds("put", "bots", "tags:mirai", ...options)).stdout);
  expect(replaced).toMatchObject({
    limit: 2,
    days: 7,
    ttl_hours: 48,
    guard: false,
    keep_fallen: true,
    truncated: true,
  });
  await feeds("put", "bots", "tags:mirai", "--disabled");
  expect((await read("/v3/feeds/bots.txt", key)).status).toBe(410);
  expect(await feeds("delete", "bots")).toMatchObject({ code: 1, stderr: expect.stringContaining("pass --yes") });
  expect((await feeds("delete", "bots", "--yes")).stdout).toBe("deleted the feed bots\n");
  expect((await feeds("show", "bots")).stderr).toContain("answered 404: Feed not found");
});

test("a wrong query of a feed is shown with its place", async () => {
  const { code, stderr } = await feeds("put", "wrong", "port:22", "clasification:x");
  expect(code).toBe(1);
  expect(stderr).toContain("\n  port:22 clasification:x\n          ^^^^^^^^^^^^^\n");
});

test("a token is shown once, reads its feed, and reads nothing once it is revoked", async () => {
  await feeds("put", "bots", "tags:mirai");
  const { stdout } = await feeds("token", "create", "bots", "--label", "edge");
  const [, id = "", token = ""] = /^id {5}(\S+)\ntoken {2}(\S+)\n/.exec(stdout) ?? [];
  expect(await read("/v3/feeds/bots.txt", token)).toEqual({ status: 200, body: "45.0.0.1\n45.0.0.2\n198.51.101.7\n" });
  const listed = await feeds("token", "list", "bots");
  expect(listed.stdout).toContain("edge");
  expect(listed.stdout).not.toContain(token);
  expect((await feeds("token", "revoke", "bots", id)).stdout).toBe(`revoked ${id}\n`);
  expect((await read("/v3/feeds/bots.txt", token)).status).toBe(401);
  expect((await feeds("token", "list", "bots")).stdout).toBe("none\n");
});

test("a guarded network is in no feed, and the command says why an address is guarded", async () => {
  await feeds("put", "bots", "tags:mirai");
  const added = await feeds("guard", "add", "198.51.101.0/24", "--note", "a partner");
  const [, id = ""] = /^guards 198\.51\.101\.0\/24, id (\S+)\n$/.exec(added.stdout) ?? [];
  expect((await feeds("guard", "list")).stdout).toContain("a partner");
  expect((await feeds("guard", "check", "198.51.101.7")).stdout).toBe(
    "198.51.101.7 is guarded: it is in a guarded network (198.51.101.0/24, a partner)\n",
  );
  expect((await feeds("guard", "check", "45.0.0.9")).stdout).toContain("it is one of OWN_ADDRESSES");
  expect((await feeds("guard", "check", "45.0.0.1")).stdout).toBe("45.0.0.1 is not guarded\n");
  expect(JSON.parse((await feeds("show", "bots", "--json")).stdout)).toMatchObject({ count: 2, guarded: 2 });
  const held = JSON.parse((await feeds("guarded", "bots", "--json")).stdout);
  expect(held).toMatchObject([
    { ip: "45.0.0.9", reason: "own_address" },
    { ip: "198.51.101.7", reason: "network", note: "a partner" },
  ]);
  const [last] = JSON.parse((await feeds("history", "bots", "--json")).stdout);
  expect(last).toMatchObject({ count: 2, added: 0, removed: 1 });
  expect((await feeds("guard", "remove", id)).stdout).toBe(`guards ${id} no longer\n`);
  expect((await feeds("guard", "add", "all of it")).stderr).toContain(" answered 400: ");
});

test("without a key the service says that it wants one", async () => {
  const { code, stderr } = await runInProcess(["feeds", "list", "--url", url], {});
  expect(code).toBe(1);
  expect(stderr).toMatch(/ answered 401: .* \(--key or QUERY_KEY takes the key of a workspace\)\n$/);
});
