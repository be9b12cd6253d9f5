import { startLoadClient } from "./load/client.ts";
import type { Part, Run } from "./part.ts";
import { measureQuietness } from "./quiet.ts";
import type { PartReport } from "./report/report.ts";
import type { HeavyTag } from "./shape.ts";
import { openWorld, type World } from "./world.ts";

export type RunOptions = Pick<Run, "clickhouse" | "broker" | "size" | "smaller" | "seed" | "pace" | "say">;

/** A run that makes its world when a part first asks for it. */
export function openRun(options: RunOptions): { readonly run: Run; close(): Promise<void> } {
  const { clickhouse, size, smaller, seed, say } = options;
  const load = startLoadClient();
  const open = (ofSize: number, heavyTag: HeavyTag) =>
    openWorld(clickhouse, { size: ofSize, smallest: size * Math.min(...smaller), seed, heavyTag, say });
  const worlds = new Map<HeavyTag, Promise<World>>();
  const run: Run = {
    ...options,
    load,
    openWorld: (ofSize) => open(ofSize, "changing"),
    world(heavyTag = "changing") {
      const world = worlds.get(heavyTag) ?? open(size, heavyTag);
      worlds.set(heavyTag, world);
      return world;
    },
  };
  return {
    run,
    async close() {
      await load.close();
      for (const world of worlds.values()) await (await world.catch(() => undefined))?.close();
    },
  };
}

/** Measures a part, once its data are there and the machine was watched for `watchMs`. */
export async function measurePart(part: Part, run: Run, watchMs: number): Promise<PartReport> {
  const { name } = part;
  // Making data would make the machine look busy.
  if (part.usesWorld) await run.world();
  const before = await measureQuietness(watchMs);
  const start = performance.now();
  const { lines, notes = [], failures = [] } = await part.measure(run);
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  return { name, seconds, before, lines: [...lines], notes: [...notes], failures: [...failures] };
}
