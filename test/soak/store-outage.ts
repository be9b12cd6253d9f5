import { setTimeout as sleep } from "node:timers/promises";
import { type Scenario, waitForInserts } from "./scenario.ts";

const WITH_UNKNOWN_TAG = JSON.stringify({
  observed_at: new Date().toISOString(),
  sensor_id: "s",
  source_ip: "46.0.0.1",
  tags: ["never-heard-of"],
});

/** SIGKILL to ClickHouse while events flow; once it stays down for longer than a session timeout. */
export const storeOutage: Scenario = {
  name: "store",
  promise: "while ClickHouse is down ingest waits, logs why, and continues afterwards",
  events: { soak: 20_000, test: 10_000 },
  async play(stage, extent, say) {
    const { events, random, servers } = stage;
    const kills = extent === "soak" ? 5 : 2;
    const longMs = extent === "soak" ? 60_000 : 5_000;
    const share = Math.ceil(events.length / (2 * kills));
    const ingest = await stage.ingest();
    for (let number = 0; number < kills; number++) {
      const flowing = await waitForInserts(stage);
      const before = stage.publish(events.slice(2 * number * share, (2 * number + 1) * share));
      await flowing();
      await sleep(random.int(0, 800));
      await servers.store.kill();
      // Events must arrive now, however quickly the first half was stored.
      const meanwhile = stage.publish(events.slice((2 * number + 1) * share, (2 * number + 2) * share));
      await sleep(number === Math.min(1, kills - 1) ? longMs : random.int(0, 1_500));
      await servers.store.start();
      await Promise.all([before.done, meanwhile.done]);
      say(`${number + 1} of ${kills} kills`);
    }
    await stage.drained();
    await servers.store.kill();
    // To validate it the catalogue must be refreshed, which is impossible now.
    await stage.publishRaw([{ partition: 0, value: WITH_UNKNOWN_TAG, records: 1 }]);
    await sleep(2_000);
    await servers.store.start();
    await stage.drained();
    const failed = await ingest.metric('noisefloor_insert_duration_seconds_count{outcome="transient"}');
    // With replicas inserts go on.
    if (failed === 0 && !servers.store.hasReplicas) {
      throw new Error("no insert failed during the outage");
    }
    await stage.verify();
    return `${kills + 1} SIGKILL of ClickHouse, away for up to ${longMs / 1_000} s`;
  },
};
