import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/eventually.ts";
import { countInserted, type Scenario, watchFlow } from "./scenario.ts";

const TRIED_AGAIN = 'noisefloor_insert_duration_seconds_count{outcome="transient"}';

/** ClickHouse is there and refuses inserts for now: too many parts, then a full disk. */
export const overLimit: Scenario = {
  name: "limit",
  promise: "while ClickHouse is over a limit ingest waits, says why, and goes on when it is over",
  events: { soak: 16_000, test: 12_000 },
  async play(stage, extent) {
    const { events, client } = stage;
    const waitMs = extent === "soak" ? 4_000 : 3_000;
    const ingest = await stage.ingest();
    const limits = [
      { name: "TOO_MANY_PARTS", code: "252", settings: ["parts_to_throw_insert = 1", "parts_to_delay_insert = 1"] },
      { name: "NOT_ENOUGH_SPACE", code: "243", settings: [`min_free_disk_bytes_to_perform_insert = ${2 ** 60}`] },
    ];
    const share = Math.ceil(events.length / (2 * limits.length));
    for (const [number, { name, code, settings }] of limits.entries()) {
      const flowing = await watchFlow(stage);
      const before = stage.publish(events.slice(2 * number * share, (2 * number + 1) * share));
      await flowing();
      await client.command({ query: `ALTER TABLE observations MODIFY SETTING ${settings.join(", ")}` });
      const tries = await ingest.figure(TRIED_AGAIN);
      // Something has to come in now, however quickly the first half was stored.
      const meanwhile = stage.publish(events.slice((2 * number + 1) * share, (2 * number + 2) * share));
      await eventually(async () => {
        const log = ingest.log();
        if (!log.includes(`"code":"${code}"`)) throw new Error(`the log does not say ${name}: ${log.slice(-2_000)}`);
      });
      await Promise.all([before.done, meanwhile.done]);
      const stood = await countInserted(stage);
      await sleep(waitMs);
      if ((await countInserted(stage)) > stood + 1) throw new Error(`rows were stored in spite of ${name}`);
      if ((await ingest.figure(TRIED_AGAIN)) <= tries)
        throw new Error("/metrics does not tell that inserts are tried again");
      const names = settings.map((setting) => setting.split(" ")[0]);
      await client.command({ query: `ALTER TABLE observations RESET SETTING ${names.join(", ")}` });
    }
    await stage.drained();
    await stage.verify();
    return limits.map(({ name }) => name).join(", ");
  },
};
