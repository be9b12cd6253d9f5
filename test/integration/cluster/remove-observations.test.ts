import { runObservationsRemove } from "@noisefloor/cli/commands/observations/remove.ts";
import { readLoudestSources } from "@noisefloor/clickhouse/observations/loudest-sources.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressOf, observation } from "../../support/builders/observation.ts";
import { type ClickHouseCluster, startCluster } from "../../support/servers/cluster.ts";
import { commandOver } from "../../support/worlds/commands.ts";
import { storeContents } from "../../support/worlds/store-contents.ts";
import { createWorld, makeTag, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let cluster: ClickHouseCluster;
let world: World;
beforeAll(async () => {
  cluster = await startCluster(2);
  world = await createWorld(() => NOW, { server: cluster.connection });
  await world.addTags([makeTag("worm", "malicious")]);
}, 120_000);
afterAll(async () => {
  await world.close();
  await cluster.stop();
});

test("removed observations go from every shard, with all that was counted of them", async () => {
  const seenBy = (sensor_id: string) =>
    Array.from({ length: 60 }, (_, index) =>
      observation(addressOf(index), NOW - 3_600_000 * index, { sensor_id, tags: ["worm"] }),
    );
  await world.store(seenBy("right").slice(0, 40));
  const before = await storeContents(world.client);
  const since = new Date().toISOString();
  await world.store(seenBy("wrong"));
  expect((await readLoudestSources(world.client, NOW)).map(({ sensor }) => sensor).toSorted()).toEqual([
    "right",
    "wrong",
  ]);
  const command = commandOver(world);
  const options = { sensor: ["wrong"], receivedSince: since, dryRun: false, yes: true, json: true };
  await runObservationsRemove(options, command);
  expect(JSON.parse(command.lines.join(""))).toMatchObject({
    is_complete: true,
    observations: 60,
    addresses: 60,
    hours: 60,
  });
  expect(await storeContents(world.client)).toEqual(before);
}, 120_000);
