import { expect, test } from "vitest";
import { dueAddresses, ORIGINS, originAt, toDecision, turnAt } from "./decisions.ts";

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

test("each turn of an address has another origin, which comes again after more than twice a decision's duration", () => {
  const [address, ttlHours] = [0xc6336407, 24];
  const turns = turnAt(6 * 86_400_000, ttlHours);
  const due = Array.from({ length: turns }, (_, turn) => turn + 1).filter(
    (turn) => dueAddresses(Uint32Array.of(address), { after: turn - 1, to: turn }).length > 0,
  );
  const origins = due.map((turn) => originAt(address, turn));
  const [, ...others] = ORIGINS;
  expect(new Set(origins.slice(0, others.length))).toEqual(new Set(others));
  expect(origins.slice(others.length)).toEqual(origins.slice(0, -others.length));
  expect((due[others.length] ?? 0) - (due[0] ?? 0)).toBeGreaterThan(2 * turnAt(ttlHours * 3_600_000, ttlHours));
  // An answer that is late belongs to the last turn.
  expect(due.map((turn) => originAt(address, turn + 10))).toEqual(origins);
});
