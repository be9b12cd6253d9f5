import { expect, inject, test } from "vitest";
import { kill } from "../../soak/kill.ts";
import { runScenario } from "../../soak/scenario.ts";
import { atVolume } from "../../support/volume.ts";
import type { SoakServers } from "../../support/worlds/soak-stage.ts";

/** The servers of all tests, which this scenario leaves alone: it kills the intake. */
function sharedServers(): SoakServers {
  const rejectKill = () => Promise.reject(new Error("other tests use this server"));
  const nothing = async () => {};
  return {
    store: { connection: inject("clickhouse"), kill: rejectKill, start: nothing, close: nothing },
    broker: { address: inject("kafkaBrokers"), restart: rejectKill, stop: nothing },
    close: nothing,
  };
}

test(kill.promise, { timeout: 300_000 }, async () => {
  const events = kill.events.test / atVolume(8, 1);
  const options = { extent: "test", seed: 1, events, say: () => {} } as const;
  expect((await runScenario(sharedServers(), kill, options)).summary).not.toBe("");
});
