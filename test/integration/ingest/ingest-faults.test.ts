import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { badEvents } from "../../soak/bad-events.ts";
import { kill } from "../../soak/kill.ts";
import { playOn } from "../../soak/scenario.ts";
import { storeOutage } from "../../soak/store-outage.ts";
import { terminate } from "../../soak/terminate.ts";
import { atVolume } from "../../support/volume.ts";
import { type SoakServers, startSoakServers } from "../../support/worlds/soak-stage.ts";

const SEED = 1;
/** A scenario finds out by itself when nothing moves any more; this is for machines with much else to do. */
const MOST_MS = 300_000;
let servers: SoakServers;

beforeAll(async () => {
  // None of these scenarios restarts the broker.
  const restart = () => Promise.reject(new Error("other tests use this broker"));
  servers = await startSoakServers(async () => ({ address: inject("kafkaBrokers"), restart, stop: async () => {} }));
});
afterAll(() => servers.close());

// Those that take longer are played by the soak alone.
test.each([kill, storeOutage, badEvents, terminate])(
  "$promise",
  async (scenario) => {
    const events = scenario.events.test / atVolume(4, 1);
    const terms = { extent: "test", seed: SEED, events, say: () => {} } as const;
    expect((await playOn(servers, scenario, terms)).told).not.toBe("");
  },
  MOST_MS,
);
