import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { countInserted, type Scenario, untilFlowing } from "./scenario.ts";

const TRIED_AGAIN = 'noisefloor_insert_duration_seconds_count{outcome="transient"}';

/** ClickHouse is there and refuses inserts for now: too many parts, then too little memory. */
export const overLimit: Scenario = {
  name: "limit",
  promise: "while ClickHouse is over a limit ingest waits, says why, and goes on when it is over",
  events: { soak: 60_000, test: 12_000 },
  async play(stage, extent) {
    const { events, client } = stage;
    const waitMs = extent === "soak" ? 15_000 : 3_000;
    const ingest = await stage.ingest();
    const limits = [
      {
        code: "TOO_MANY_PARTS",
        set: "ALTER TABLE observations MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1",
        reset: "ALTER TABLE observations RESET SETTING parts_to_throw_insert, parts_to_delay_insert",
      },
      {
        code: "QUOTA_EXCEEDED",
        set: "CREATE QUOTA soak FOR INTERVAL 1 hour MAX query_inserts = 1 TO noisefloor",
        reset: "DROP QUOTA soak",
      },
    ];
    const share = Math.ceil(events.length / limits.length);
    for (const [number, { code, set, reset }] of limits.entries()) {
      const flow = stage.publish(events.slice(number * share, (number + 1) * share));
      await untilFlowing(stage);
      await client.command({ query: set });
      const before = await ingest.figure(TRIED_AGAIN);
      await stage.publish([]).done;
      await eventually(async () => {
        if (!ingest.log().includes(code))
          throw new Error(`the log does not say ${code}: ${ingest.log().slice(-2_000)}`);
      });
      await flow.done;
      const stood = await countInserted(stage);
      await sleep(waitMs);
      if ((await countInserted(stage)) > stood + 1) throw new Error(`rows were stored in spite of ${code}`);
      if ((await ingest.figure(TRIED_AGAIN)) <= before)
        throw new Error("/metrics does not tell that inserts are tried again");
      await client.command({ query: reset });
    }
    await stage.drained();
    await stage.verify();
    return limits.map(({ code }) => code).join(", ");
  },
};
