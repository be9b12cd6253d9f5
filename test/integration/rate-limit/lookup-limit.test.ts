import { sharedLookupLimit } from "@noisefloor/query/rate-limit/limit.ts";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import type { Running } from "../../support/servers/providers.ts";
import { provideRedis } from "../../support/servers/redis.ts";
import { type Relay, startRelay } from "../../support/servers/relay.ts";
import {
  DAY,
  freshCaller,
  LIMIT,
  type LookupLimitWorld,
  openLookupLimitWorld,
} from "../../support/worlds/lookup-limit-world.ts";

let world: LookupLimitWorld;
beforeEach(() => {
  world = openLookupLimitWorld();
});
afterEach(() => world.close());

const shared = async (url: string) => world.opened(await sharedLookupLimit(url, world.now, world.log));

describe("with Redis", () => {
  let redis: Running<string>;
  let direct: Redis;
  let relay: Relay;
  let url: string;

  beforeAll(async () => {
    redis = await provideRedis(process.env);
    direct = new Redis(redis.at);
  });
  afterAll(async () => {
    direct.disconnect();
    await redis.stop();
  });
  beforeEach(async () => {
    const server = new URL(redis.at);
    relay = await startRelay(server.hostname, Number(server.port || 6_379));
    server.host = `127.0.0.1:${relay.port}`;
    url = server.href;
  });
  afterEach(() => relay.stop());

  const key = () =>
    `noisefloor:lookups:${new Date(world.time).toISOString().slice(0, 10)}:workspace:${world.caller.workspaceId}`;

  test("several processes share one count, which a restart of one of them does not change", async () => {
    const [one, other] = [await shared(url), await shared(url)];
    expect(await world.grantedOf(one, 3)).toBe(3);
    expect((await world.take(other)).headers).toMatchObject({ "ratelimit-limit": "10", "ratelimit-remaining": "6" });
    await one.close();
    const again = await shared(url);
    expect(await world.grantedOf(again, 20)).toBe(6);
    expect(await world.take(other)).toMatchObject({ isGranted: false, headers: { "ratelimit-remaining": "0" } });
  });

  test("every lookup is in the shared count, from the first one", async () => {
    const limit = await shared(url);
    expect(limit.state()).toBe("shared");
    await world.take(limit);
    expect(await direct.get(key())).toBe("1");
    expect(world.logged).toEqual([]);
  });

  test("of concurrent lookups through several processes no more are granted than the limit", async () => {
    const three = [await shared(url), await shared(url), await shared(url)];
    const permits = await Promise.all(
      Array.from({ length: 90 }, (_, n) => three.slice(n % 3, (n % 3) + 1).map((limit) => world.take(limit))).flat(),
    );
    expect(permits.filter(({ isGranted }) => isGranted)).toHaveLength(LIMIT);
    expect(await direct.get(key()), "rejected lookups cost nothing").toBe(String(LIMIT));
  });

  test("concurrent requests for many addresses, through several processes, are granted whole or not and never exceed the limit", async () => {
    const three = [await shared(url), await shared(url), await shared(url)];
    const grantedAtOnce = async (lookups: number) => {
      const permits = await Promise.all(
        Array.from({ length: 45 }, (_, n) =>
          three.slice(n % 3, (n % 3) + 1).map((limit) => world.take(limit, lookups)),
        ).flat(),
      );
      return permits.filter(({ isGranted }) => isGranted).length;
    };
    expect(await grantedAtOnce(3)).toBe(3);
    expect(await direct.get(key())).toBe("9");
    expect(await grantedAtOnce(1), "the one that is left").toBe(1);
    expect(await direct.get(key()), "rejected lookups cost nothing").toBe(String(LIMIT));
  });

  test("a request for more than is left costs nothing, also while Redis is down; a refund restores all of it", async () => {
    const limit = await shared(url);
    const seven = await world.take(limit, 7);
    expect(seven).toMatchObject({ isGranted: true, remaining: 3 });
    expect(await world.take(limit, 4)).toMatchObject({ isGranted: false, remaining: 3 });
    expect(await world.take(limit, 0)).toMatchObject({ isGranted: true, remaining: 3 });
    await relay.stop();
    expect(await world.take(limit, 4)).toMatchObject({ isGranted: false, remaining: 3 });
    expect(await world.take(limit, 2)).toMatchObject({ isGranted: true, remaining: 1 });
    await relay.pass();
    await eventually(async () => expect(limit.state()).toBe("shared"), 10_000);
    expect(await world.take(limit, 2)).toMatchObject({ isGranted: false, remaining: 1 });
    await seven.refund();
    expect(await direct.get(key())).toBe("2");
    expect(await world.take(limit, 9)).toMatchObject({ isGranted: false, remaining: 8 });
    expect(await world.take(limit, 8)).toMatchObject({ isGranted: true, remaining: 0 });
  });

  test("a refunded lookup can be used through another process", async () => {
    const [one, other] = [await shared(url), await shared(url)];
    const permit = await world.take(one);
    expect(await world.grantedOf(other, LIMIT)).toBe(LIMIT - 1);
    await permit.refund();
    expect(await world.grantedOf(other, LIMIT)).toBe(1);
    expect(await world.grantedOf(one, LIMIT)).toBe(0);
  });

  test("callers and days are counted separately", async () => {
    const limit = await shared(url);
    expect(await world.grantedOf(limit, LIMIT + 1)).toBe(LIMIT);
    const another = freshCaller();
    expect((await limit.take(another, "45.0.0.1", 1)).isGranted).toBe(true);
    world.time += DAY;
    expect((await world.take(limit)).headers["ratelimit-remaining"]).toBe(String(LIMIT - 1));
  });

  test("counts expire in Redis, but not before their day is over", async () => {
    const limit = await shared(url);
    await world.take(limit);
    const untilMidnight = (DAY - (world.time % DAY)) / 1_000;
    const seconds = await direct.ttl(key());
    expect(seconds).toBeGreaterThan(untilMidnight);
    expect(seconds).toBeLessThanOrEqual((2 * DAY) / 1_000);
    const permit = await world.take(limit);
    await permit.refund();
    expect(await direct.ttl(key()), "also after a refund").toBeGreaterThan(untilMidnight);
  });

  test("while Redis is down each process continues from the counts it knows, and afterwards they share one count again", async () => {
    const [one, other] = [await shared(url), await shared(url)];
    expect(await world.grantedOf(one, 4)).toBe(4);
    await relay.stop();
    expect(await world.grantedOf(one, 3)).toBe(3);
    expect(one.state()).toBe("shared-down");
    const countLogged = (what: string) => world.logged.filter((line) => line.includes(what)).length;
    await eventually(async () => expect(countLogged("is down"), "logged once by each").toBe(2), 5_000);
    await relay.pass();
    await eventually(async () => expect([one.state(), other.state()]).toEqual(["shared", "shared"]), 10_000);
    expect([countLogged("is down"), countLogged("is back")]).toEqual([2, 2]);
    expect((await world.take(one)).headers["ratelimit-remaining"], "lookups granted in the meantime count").toBe("2");
    expect(await world.grantedOf(other, LIMIT)).toBe(2);
  });

  test("a limit that was reached remains so when Redis goes down, and when it comes back empty", async () => {
    const limit = await shared(url);
    expect(await world.grantedOf(limit, LIMIT)).toBe(LIMIT);
    await relay.stop();
    expect(await world.grantedOf(limit, 3)).toBe(0);
    await direct.del(key());
    await relay.pass();
    await eventually(async () => expect(limit.state()).toBe("shared"), 10_000);
    expect(await world.grantedOf(limit, 3)).toBe(0);
    const [one, other] = [await shared(url), await shared(url)];
    expect(await world.grantedOf(one, 3)).toBe(0);
    expect(await world.grantedOf(other, 3)).toBe(0);
  });

  test("a refund of a lookup that Redis has lost does not grant more than the limit", async () => {
    const limit = await shared(url);
    const permit = await world.take(limit);
    await direct.del(key());
    await permit.refund();
    expect(await world.grantedOf(limit, 2 * LIMIT)).toBe(LIMIT);
  });

  test("a Redis that hangs delays the current lookups for a moment, and later ones not at all", async () => {
    const limit = await shared(url);
    await world.take(limit);
    relay.hang();
    const begun = performance.now();
    const permits = await Promise.all(Array.from({ length: 5 }, () => world.take(limit)));
    expect(permits.every(({ isGranted }) => isGranted)).toBe(true);
    expect(performance.now() - begun).toBeLessThan(2_500);
    const later = performance.now();
    expect(await world.grantedOf(limit, LIMIT)).toBe(4);
    expect(performance.now() - later).toBeLessThan(500);
    expect(limit.state()).toBe("shared-down");
    await relay.pass();
    await eventually(async () => expect(limit.state()).toBe("shared"), 10_000);
    expect((await world.take(limit)).isGranted).toBe(false);
  });

  test.each(["is away", "hangs"])(
    "a start while Redis %s does not wait for it, and it is used once it is there",
    async (how) => {
      if (how === "hangs") relay.hang();
      else await relay.stop();
      const begun = performance.now();
      const limit = await shared(url);
      expect(performance.now() - begun).toBeLessThan(4_000);
      expect(limit.state()).toBe("shared-down");
      expect((await world.take(limit)).isGranted).toBe(true);
      expect(world.logged).toHaveLength(1);
      await relay.pass();
      await eventually(async () => expect(limit.state()).toBe("shared"), 10_000);
      expect((await world.take(limit)).headers["ratelimit-remaining"]).toBe("8");
      expect(await direct.get(key())).toBe("2");
    },
  );

  test("lookups whose commands Redis rejects are counted in the process, and logged once", async () => {
    const limit = await shared(url);
    await direct.lpush(key(), "not a number");
    expect(await world.grantedOf(limit, LIMIT + 1)).toBe(LIMIT);
    expect(limit.state()).toBe("shared-down");
    expect(world.logged).toEqual([expect.stringContaining("WRONGTYPE")]);
    await direct.del(key());
    expect((await world.take(limit)).isGranted).toBe(false);
    expect(limit.state()).toBe("shared");
  });

  test("a password in the URL shows in no log", async () => {
    const server = new URL(url);
    server.username = "nobody";
    server.password = "hunter2";
    const limit = await shared(server.href);
    expect(limit.state()).toBe("shared-down");
    expect((await world.take(limit)).isGranted).toBe(true);
    await relay.stop();
    await eventually(async () => expect(world.logged.join("")).toMatch(/WRONGPASS/));
    expect(world.logged.join("")).not.toContain("hunter2");
  });
});
