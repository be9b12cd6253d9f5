import type { Scenario } from "./scenario.ts";

/** One process takes everything in without a fault, then another group reads it all again. */
export const replay: Scenario = {
  name: "replay",
  promise: "a replay with other batch edges changes no answer, and memory stays flat",
  events: { soak: 1_000_000, test: 30_000 },
  async play(stage, extent, say) {
    const { events } = stage;
    const first = await stage.ingest();
    const start = performance.now();
    await stage.publish(events).done;
    await stage.drained();
    const rate = Math.round(events.length / ((performance.now() - start) / 1_000));
    await stage.verify();
    const peak = Math.max(...first.memory);
    say(`stored ${rate} events/s, memory by the second in MiB: ${first.memory.join(" ")}`);
    if (extent === "soak") requireFlat(first.memory);
    await first.terminate();

    const groupId = `${stage.kafka.groupId}-again`;
    const again = performance.now();
    const two = [await stage.ingest({ KAFKA_GROUP_ID: groupId }), await stage.ingest({ KAFKA_GROUP_ID: groupId })];
    await stage.drained(groupId);
    const replayed = Math.round(events.length / ((performance.now() - again) / 1_000));
    await stage.verify();
    for (const one of two) await one.terminate();
    return `one replay; ${rate} events/s in one process and ${replayed} in two, peak memory ${peak} MiB`;
  },
};

/** After a warm-up of a quarter of the time, memory may breathe but not grow. */
function requireFlat(memory: readonly number[]): void {
  const quarter = Math.floor(memory.length / 4);
  const [early, late] = [Math.max(...memory.slice(quarter, 2 * quarter)), Math.max(...memory.slice(-quarter))];
  if (late > early * 1.25 + 32) throw new Error(`memory grows: ${early} MiB early, ${late} MiB at the end`);
}
