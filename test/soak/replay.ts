import type { Stage } from "../support/worlds/soak-stage.ts";
import type { Extent } from "./scenario.ts";

/**
 * One process of another group reads the whole topic again, as fast as it can and in batches of its own.
 * @throws when an answer changes or, in a soak that is long enough to tell, when memory grows.
 * @returns its pace and peak memory, as text.
 */
export async function replayAll(stage: Stage, extent: Extent): Promise<string> {
  const groupId = `${stage.kafka.groupId}-again`;
  const start = performance.now();
  const ingest = await stage.ingest({ KAFKA_GROUP_ID: groupId });
  await stage.drained(groupId);
  const seconds = (performance.now() - start) / 1_000;
  const isLong = ingest.memory.length >= LEAST_SAMPLES;
  if (extent === "soak" && isLong) assertFlat(ingest.memory);
  await ingest.terminate();
  await stage.verify();
  const peak = Math.max(...ingest.memory);
  const pace = `replayed at ${Math.round(stage.published() / seconds)} events/s with at most ${peak} MiB`;
  return isLong ? pace : `${pace}, too short to see a leak`;
}

/** One a second. A process that has just started grows, whatever it holds later. */
const LEAST_SAMPLES = 20;

/** Memory rises and falls with each garbage collection; a leak raises the peaks. */
function assertFlat(memory: readonly number[]): void {
  const [half, quarter] = [Math.floor(memory.length / 2), Math.floor(memory.length / 4)];
  const [early, late] = [Math.max(...memory.slice(0, half)), Math.max(...memory.slice(-quarter))];
  if (late > early * 1.25 + 32) {
    throw new Error(`memory grows: ${early} MiB early, ${late} MiB at the end, by the second: ${memory.join(" ")}`);
  }
}
