import { changesBetween } from "@noisefloor/domain/feeds/address-changes.ts";
import { expect, test } from "vitest";
import { changesFor } from "./changes.ts";

const feed = { ttlHours: 24 };

test("a bouncer that may have obeyed answers that were cut off has exactly the list after the next whole one", async () => {
  // Each list as bits of its addresses: all that a bouncer may know, and all that may follow.
  const addressesOf = (bits: number) => Uint32Array.from([1, 2, 3].filter((address) => bits & (1 << address)));
  const all = Array.from({ length: 8 }, (_, index) => index << 1);
  for (const last of all) {
    for (const cutOff of all) {
      for (const now of all) {
        const { started, ended } = await changesFor(
          { last: { revision: String(last), answeredAt: 1 }, unsure: [String(cutOff)] },
          {
            feed,
            addresses: addressesOf(now),
            revision: String(now),
            answeredAt: 2,
            changesSince: async (revision) => changesBetween(addressesOf(Number(revision)), addressesOf(now)),
          },
        );
        for (const known of [last, cutOff]) {
          const bans = new Set(addressesOf(known));
          for (const address of ended) bans.delete(address);
          for (const address of started) bans.add(address);
          expect([...bans].sort(), `${last} ${cutOff} ${now}`).toEqual([...addressesOf(now)]);
        }
      }
    }
  }
});

test("a bouncer whose last answer is too old gets the whole list, and what left since an answer that was cut off", async () => {
  const changesSince = async (revision: string) =>
    revision === "cut-off" ? changesBetween(Uint32Array.of(1, 2), Uint32Array.of(2, 3)) : undefined;
  const options = { feed, addresses: Uint32Array.of(2, 3), revision: "now", answeredAt: 2, changesSince };
  expect(await changesFor({ last: { revision: "old", answeredAt: 1 }, unsure: ["cut-off"] }, options)).toEqual({
    started: Uint32Array.of(2, 3),
    ended: Uint32Array.of(1),
    prolonged: Uint32Array.of(),
    hasChanged: true,
  });
});
