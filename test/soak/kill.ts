import { setTimeout as sleep } from "node:timers/promises";
import { replayAll } from "./replay.ts";
import { type Scenario, waitForInserts } from "./scenario.ts";

/**
 * SIGKILL to the ingest process again and again, at its start, during inserts and before commits. Then the whole
 * topic is read once more.
 */
export const kill: Scenario = {
  name: "kill",
  promise: "ingest killed at random moments loses nothing and counts nothing twice, and a replay changes no answer",
  events: { soak: 1_000_000, test: 10_000 },
  async play(stage, extent, say) {
    const { events, random } = stage;
    const kills = extent === "soak" ? 30 : 2;
    const share = Math.ceil(events.length / (kills + 1));
    const flows: Promise<void>[] = [];
    // Each process gets its share of the events, else all would be stored before the last kill.
    const begin = async (number: number) => {
      flows.push(stage.publish(events.slice(number * share, (number + 1) * share)).done);
      // A static member gets its partitions back immediately; those of another one wait until its session expires.
      return stage.ingest(number > kills / 5 ? { KAFKA_INSTANCE_ID: "soak" } : {});
    };
    for (let number = 0; number < kills; number++) {
      const flowing = await waitForInserts(stage);
      const ingest = await begin(number);
      if (random.chance(0.3)) await sleep(random.int(0, 3_000));
      else {
        await flowing();
        await sleep(random.int(0, 800));
      }
      await ingest.kill();
      if (number % 5 === 4) say(`${number + 1} of ${kills} kills`);
    }
    const last = await begin(kills);
    await Promise.all(flows);
    await stage.drained();
    say("all is stored");
    // In a test the answers are compared once, after all was read twice.
    await stage.verify(extent === "soak" ? 5 : 0);
    await last.terminate();
    say("all rows and answers are right; reading the topic again");
    const replayed = await replayAll(stage, extent);
    return `${kills} SIGKILL, ${replayed}`;
  },
};
