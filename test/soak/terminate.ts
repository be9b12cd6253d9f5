import { setTimeout as sleep } from "node:timers/promises";
import { committedOffsets } from "../support/worlds/consuming-world.ts";
import { countInserted, type Scenario, waitForInserts } from "./scenario.ts";

/** The time that docker-compose.yml and the brokers grant a shutdown. */
const GRACE_MS = 30_000;

/**
 * SIGTERM while events flow: the open batches are stored and committed, so the next process continues there and
 * no message is delivered again.
 */
export const terminate: Scenario = {
  name: "terminate",
  promise: "a shutdown while events flow exits with 0 within the grace time, and the next process repeats nothing",
  events: { soak: 12_000, test: 10_000 },
  async play(stage, extent, say) {
    const stops = extent === "soak" ? 2 : 1;
    const { events, random, servers } = stage;
    // Without merges every inserted row counts, also one that comes twice.
    await stage.client.command({ query: "SYSTEM STOP MERGES observations" });
    const withLongSession = {
      // A process that stops leaves the group immediately. A short session might expire on a busy machine.
      KAFKA_SESSION_TIMEOUT_SECONDS: "30",
    };
    const share = Math.ceil(events.length / (stops + 1));
    const flows: Promise<void>[] = [];
    let longestMs = 0;
    const assertCleanExit = ({ code, ms }: { code: number | null; ms: number }) => {
      longestMs = Math.max(longestMs, ms);
      if (code !== 0) throw new Error(`ingest ended with ${code} after a SIGTERM`);
      if (ms > GRACE_MS) throw new Error(`a stop took ${Math.round(ms / 1_000)} s`);
    };
    for (let number = 0; number < stops; number++) {
      const flowing = await waitForInserts(stage);
      flows.push(stage.publish(events.slice(number * share, (number + 1) * share)).done);
      const ingest = await stage.ingest(withLongSession);
      await flowing();
      await sleep(random.int(0, 800));
      assertCleanExit(await ingest.terminate());
      say(
        `${number + 1} of ${stops} stops; ${await countInserted(stage)} rows, committed ${await committedOffsets(stage.kafka)}`,
      );
    }
    await Promise.all(flows);
    const ingest = await stage.ingest(withLongSession);
    await stage.publish(events.slice(stops * share)).done;
    await stage.drained();
    const [rows, records] = [await countInserted(stage), stage.published()];
    const again = rows - records;
    // Each stop has stored and committed its open batches.
    if (again !== 0) throw new Error(`${rows} rows were inserted for ${records} records`);

    await servers.store.kill();
    await stage.publish(events.filter(({ observationId }) => observationId !== undefined).slice(0, 50)).done;
    await sleep(2_000);
    assertCleanExit(await ingest.terminate().finally(() => servers.store.start()));
    await stage.ingest();
    await stage.drained();
    await stage.verify();
    return `${stops + 1} SIGTERM, one without a store; the longest stop took ${(longestMs / 1_000).toFixed(1)} s`;
  },
};
