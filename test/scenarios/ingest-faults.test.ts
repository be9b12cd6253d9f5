import { afterAll, beforeAll, expect, test } from "vitest";
import { badEvents } from "../soak/bad-events.ts";
import { follow } from "../soak/follow.ts";
import { kill } from "../soak/kill.ts";
import { runScenario } from "../soak/scenario.ts";
import { storeOutage } from "../soak/store-outage.ts";
import { terminate } from "../soak/terminate.ts";
import { watches } from "../soak/watches.ts";
import { onDemand } from "../support/servers/on-demand.ts";
import { type SoakServers, startSoakServers } from "../support/worlds/soak-stage.ts";

const SEED = 1;
/** A scenario detects a standstill itself; this timeout is for busy machines. */
const MAX_MS = 300_000;
let servers: SoakServers;

beforeAll(async () => {
  // None of these scenarios restarts the broker.
  const restart = () => Promise.reject(new Error("other tests use this broker"));
  servers = await startSoakServers(async () => ({ address: await onDemand("kafka"), restart, stop: async () => {} }));
});
afterAll(() => servers.close());

// The longer ones run only in the soak.
test.each([kill, storeOutage, badEvents, terminate, follow, watches])(
  "$promise",
  async (scenario) => {
    const options = { extent: "test", seed: SEED, events: scenario.events.test, say: () => {} } as const;
    expect((await runScenario(servers, scenario, options)).summary).not.toBe("");
  },
  MAX_MS,
);
