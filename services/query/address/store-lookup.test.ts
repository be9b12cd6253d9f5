import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { expect, test } from "vitest";
import { type LookupDeps, lookUpMany } from "./store-lookup.ts";

const FIRST = 0x2d000000;
const ips = Array.from({ length: 5_000 }, (_, number) => numberToIpv4(FIRST + number));

/** Of a store that knows no address. @param onRecord called whenever a record is made. */
function depsOf(onRecord: () => void): LookupDeps {
  const networks = {
    service: () => undefined,
    actor: () => undefined,
    hasActors: false,
    lists: { service: new Map(), actor: new Map() },
  };
  return {
    read: async () => [],
    retentionDays: () => 90,
    now: Date.now,
    catalogue: { byId: () => undefined, ageSeconds: () => 0, refresh: async () => {} },
    networks: {
      current: () => {
        onRecord();
        return networks;
      },
      ageSeconds: () => 0,
      refresh: async () => {},
    },
  };
}

test("lets others have their turn between the records of many addresses", async () => {
  let records = 0;
  const seen = new Set<number>();
  let isDone = false;
  const look = () => {
    seen.add(records);
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  const found = await lookUpMany(
    ips,
    [GLOBAL_SCOPE],
    depsOf(() => records++),
  );
  isDone = true;
  expect(seen.size).toBeGreaterThanOrEqual(4);
  expect(found.size).toBe(ips.length);
});

test("makes no more records once the caller has left", async () => {
  const caller = new AbortController();
  let records = 0;
  const looking = lookUpMany(
    ips,
    [GLOBAL_SCOPE],
    depsOf(() => {
      records++;
      caller.abort();
    }),
    caller.signal,
  );
  await expect(looking).rejects.toThrow("aborted");
  expect(records).toBeLessThan(ips.length);
});
