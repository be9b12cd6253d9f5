import { setTimeout as sleep } from "node:timers/promises";
import { type Scenario, untilFlowing } from "./scenario.ts";

/** SIGKILL to the ingest process again and again, at the start, in the middle of inserts and before commits. */
export const kill: Scenario = {
  name: "kill",
  promise: "ingest killed at random moments loses nothing and counts nothing twice",
  events: { soak: 1_000_000, test: 40_000 },
  async play(stage, extent, say) {
    const { events, random } = stage;
    const kills = extent === "soak" ? 30 : 5;
    const share = Math.ceil(events.length / (kills + 1));
    const flows: Promise<void>[] = [];
    for (let number = 0; number <= kills; number++) {
      // Each kill gets its share of the flow, else all would be over before the last of them.
      flows.push(stage.publish(events.slice(number * share, (number + 1) * share)).done);
      // A static member is back at once; what of one that is not was handed out waits for its session to end.
      const ingest = await stage.ingest(number > kills / 5 ? { KAFKA_INSTANCE_ID: "soak" } : {});
      if (number === kills) break;
      if (random.chance(0.3)) await sleep(random.int(0, 3_000));
      else {
        await untilFlowing(stage);
        await sleep(random.int(0, 800));
      }
      await ingest.kill();
      if (number % 5 === 4) say(`${number + 1} of ${kills} kills`);
    }
    await Promise.all(flows);
    await stage.drained();
    await stage.verify();
    return `${kills} SIGKILL`;
  },
};
