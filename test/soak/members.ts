import { setTimeout as sleep } from "node:timers/promises";
import type { IngestProcess } from "../support/worlds/ingest-process.ts";
import { type Scenario, waitForInserts } from "./scenario.ts";

/** Instances come and go, so that partitions move while their batches are stored. */
export const members: Scenario = {
  name: "members",
  promise: "instances that join and leave while events flow share the work and lose nothing",
  events: { soak: 30_000, test: 30_000 },
  async play(stage, extent, say) {
    const { events, random } = stage;
    const turns = extent === "soak" ? 4 : 3;
    const share = Math.ceil(events.length / turns);
    const flows: Promise<void>[] = [];
    const running: IngestProcess[] = [await stage.ingest()];
    for (let turn = 0; turn < turns; turn++) {
      const flowing = await waitForInserts(stage);
      flows.push(stage.publish(events.slice(turn * share, (turn + 1) * share)).done);
      while (running.length < 3) running.push(await stage.ingest());
      await flowing();
      await sleep(random.int(0, 1_000));
      const [leaving] = running.splice(random.int(0, running.length - 1), 1);
      // Every third one is killed.
      if (turn % 3 === 2) await leaving?.kill();
      else await leaving?.terminate();
      say(`${turn + 1} of ${turns} instances have left`);
    }
    await Promise.all(flows);
    await stage.drained();
    await stage.verify();
    return `3 instances, ${turns} left and as many joined`;
  },
};
