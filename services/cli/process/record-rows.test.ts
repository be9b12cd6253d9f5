import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import type { Interaction } from "@noisefloor/domain/tags/attack.ts";
import { createSightings } from "@noisefloor/query/address-index/sightings.ts";
import { expect, test } from "vitest";
import { recordRows } from "./record-rows.ts";

const FIRST = 0x2d000000;
const WORM = "worm";
const catalogue = { byId: (id: string) => (id === WORM ? ({ intention: "malicious" } as const) : undefined) };
const row = (number: number, dataset: "global" | "community", tags: readonly string[], more: Interaction = {}) => ({
  dataset,
  source_ip: numberToIpv4(FIRST + number),
  observed_at: 1_000 + number,
  tags: [...tags],
  ...more,
});

test("records addresses of the global dataset alone, with the worst of their tags that exist", async () => {
  const sightings = createSightings();
  const rows = [row(0, "global", [WORM, "unknown"]), row(1, "global", []), row(2, "community", [WORM])];
  await recordRows(rows, sightings, catalogue);
  const severities = [0, 1, 2].map((number) => sightings.severitiesOf(Uint32Array.of(FIRST + number), 0)[0]);
  expect(severities).toEqual([4, 0, 0]);
  expect([0, 1, 2].map((number) => sightings.find(FIRST + number, 0)?.lastSeen)).toEqual([1_000, 1_001, undefined]);
});

test("records who was in contact, and who attacked", async () => {
  const sightings = createSightings();
  const established = { established: true };
  const rows = [
    row(0, "global", [], { established: false, login_attempts: 1 }),
    row(1, "global", [WORM], established),
    row(2, "global", [], { ...established, login_attempts: 1 }),
    row(3, "community", [], established),
  ];
  await recordRows(rows, sightings, catalogue);
  const found = [0, 1, 2, 3].map((number) => sightings.find(FIRST + number, 0));
  expect(found.map((one) => [one?.severity, one?.isInContact, one?.hasAttacked])).toEqual([
    [0, false, false],
    [4, true, false],
    [0, true, true],
    [undefined, undefined, undefined],
  ]);
});

test("lets others have their turn between the rows of a large insert", async () => {
  const sightings = createSightings();
  const recorded: number[] = [];
  let isDone = false;
  const look = () => {
    recorded.push(sightings.size());
    if (!isDone) setImmediate(look);
  };
  setImmediate(look);
  await recordRows(
    Array.from({ length: 5_000 }, (_, number) => row(number, "global", [WORM])),
    sightings,
    catalogue,
  );
  isDone = true;
  expect(new Set(recorded).size).toBeGreaterThanOrEqual(4);
  expect(sightings.size()).toBe(5_000);
});
