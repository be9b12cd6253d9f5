import { expect, test } from "vitest";
import { runScenario } from "../soak/scenario.ts";
import { storeOutage } from "../soak/store-outage.ts";
import { onDemand } from "../support/servers/on-demand.ts";
import { startSoakServers } from "../support/worlds/soak-stage.ts";

test("while a shard is down ingest waits for it, and afterwards nothing is lost or doubled", async () => {
  const restart = () => Promise.reject(new Error("other tests use this broker"));
  const broker = { address: await onDemand("kafka"), restart, stop: async () => {} };
  const servers = await startSoakServers(async () => broker, { shards: 2 });
  try {
    const options = { extent: "test", seed: 1, events: storeOutage.events.test, say: () => {} } as const;
    expect((await runScenario(servers, storeOutage, options)).summary).not.toBe("");
  } finally {
    await servers.close();
  }
}, 300_000);
