import { checkObservations } from "@noisefloor/cli/diagnosis/checks/check-observations.ts";
import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { observation } from "../../support/builders/observation.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { factsOf } from "../../support/worlds/store-facts.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
const DAY = 86_400_000;
let world: World;
beforeAll(async () => {
  world = await createWorld(() => NOW);
});
afterAll(() => world.close());

test("doctor names a sensor's own address among its sources, the command that removes it, and no loud scanner", async () => {
  const at = (index: number) => NOW - DAY - index * 1_000;
  const scans = Array.from({ length: 900 }, (_, index) =>
    observation(`45.1.${index >> 8}.${index & 255}`, at(index), {
      sensor_id: "tap",
      source_port: 40_000,
      destination_port: 22,
    }),
  );
  const own = Array.from({ length: 300 }, (_, index) =>
    observation("45.0.0.1", at(index), {
      ...{ sensor_id: "tap", source_port: 50_000, destination_port: index % 10 === 0 ? 40_000 + index : 53 },
    }),
  );
  const loud = Array.from({ length: 1_200 }, (_, index) =>
    observation("45.0.0.2", at(index), { sensor_id: "pot", source_port: 50_000, destination_port: 20 + (index % 30) }),
  );
  await world.store([...scans, ...own, ...loud]);
  const findings = async () =>
    checkObservations(await factsOf(commandOver(world).settings)).filter(({ severity }) => severity !== "ok");
  expect(await findings()).toEqual([
    {
      ...{ check: "own addresses", severity: "warning" },
      text: "45.0.0.1 looks like the sensor tap itself: source of 300 observations, 25 % of its last 30 days",
      remedy: expect.stringContaining("noisefloor observations remove --address 45.0.0.1 --sensor 'tap'"),
    },
  ]);
  expect(await removeObservations(world.client, { addresses: ["45.0.0.1"], sensors: ["tap"] })).toMatchObject({
    observations: 300,
  });
  expect(await findings()).toEqual([]);
});
