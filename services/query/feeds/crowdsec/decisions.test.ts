import { expect, test } from "vitest";
import { dueAddresses, toDecision, turnAt, wantsFeed } from "./decisions.ts";

test("a decision bans one address, for hours as Go writes them", () => {
  expect(toDecision(0xc6336407, { name: "recent", ttlHours: 24 })).toEqual({
    id: 0xc6336407,
    origin: "noisefloor",
    scenario: "recent",
    scope: "Ip",
    type: "ban",
    value: "198.51.100.7",
    duration: "24h0m0s",
  });
});

test("a bouncer that asks every ten seconds, or seldom, prolongs each address before half of its duration is over", () => {
  const addresses = Uint32Array.from({ length: 1_000 }, (_, index) => (index * 4_294_967) >>> 0);
  const ttlHours = 24;
  for (const everyMs of [10_000, 3_600_000, 5 * 3_600_000]) {
    const last = new Map(Array.from(addresses, (address) => [address, 0]));
    let longest = 0;
    for (let time = everyMs, before = 0; time < 3 * 86_400_000; before = time, time += everyMs) {
      const turns = { after: turnAt(before, ttlHours), to: turnAt(time, ttlHours) };
      for (const address of dueAddresses(addresses, turns)) {
        longest = Math.max(longest, time - (last.get(address) ?? 0));
        last.set(address, time);
      }
    }
    expect(longest, String(everyMs)).toBeGreaterThan(0);
    expect(longest, String(everyMs)).toBeLessThan((ttlHours / 2) * 3_600_000);
  }
});

test("no answer prolongs many addresses when a bouncer asks often", () => {
  const addresses = Uint32Array.from({ length: 6_400 }, (_, index) => index * 77_777);
  expect(dueAddresses(addresses, { after: 5, to: 6 }).length).toBeLessThan(200);
  expect(dueAddresses(addresses, { after: 5, to: 5 }).length).toBe(0);
});

test("filters choose all decisions of a feed, or none", () => {
  const none = {
    scopes: undefined,
    origins: undefined,
    scenariosContaining: undefined,
    scenariosNotContaining: undefined,
  };
  const cases = [
    [none, true],
    [{ ...none, scopes: "ip,range" }, true],
    [{ ...none, scopes: "country" }, false],
    [{ ...none, origins: "cscli, noisefloor" }, true],
    [{ ...none, origins: "capi" }, false],
    [{ ...none, scenariosContaining: "ssh,recent" }, true],
    [{ ...none, scenariosContaining: "ssh" }, false],
    [{ ...none, scenariosNotContaining: "rec" }, false],
    [{ ...none, scenariosNotContaining: "ssh" }, true],
  ] as const;
  for (const [filter, wanted] of cases) expect(wantsFeed("recent", filter), JSON.stringify(filter)).toBe(wanted);
});
