import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";
import { z } from "zod";
import { IS_FULL } from "../volume.ts";
import { costlier, type Timings } from "./costlier.ts";
import { NOTHING } from "./counts.ts";

const FILE = new URL("../../timings.json", import.meta.url);
const PRINTED = 10;
/** Files that take less and start nothing are not listed. */
const MIN_LISTED_SECONDS = 1;

/** Seconds, processor seconds of the test's own process, processes, databases, inserts. */
const costSchema = z
  .tuple([z.number(), z.number(), z.int(), z.int(), z.int()])
  .transform(([seconds, cpu, starts, worlds, inserts]) => ({ seconds, cpu, starts, worlds, inserts }));
const timingsSchema = z.record(z.string(), costSchema);

/**
 * Prints the slowest files at the end of a run and compares each with its line in test/timings.json, which
 * UPDATE_TIMINGS=1 writes. A file that starts twice as much fails the run; one that only takes longer is named.
 */
export default class TimingsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const timings = Object.fromEntries(modules.map((module) => [module.relativeModuleId, costOf(module)]));
    const slowest = Object.entries(timings).sort(([, one], [, other]) => other.seconds - one.seconds);
    console.log(
      `The slowest files (seconds, of its own processor seconds; processes started, databases taken, inserts):`,
    );
    for (const [name, { seconds, cpu, starts, worlds, inserts }] of slowest.slice(0, PRINTED)) {
      console.log(
        `${seconds.toFixed(1).padStart(7)}  ${cpu.toFixed(1).padStart(6)}  ${name} (${starts}, ${worlds}, ${inserts})`,
      );
    }
    if (IS_FULL) return;
    if (process.env.UPDATE_TIMINGS) {
      writeTimings(timings);
      return;
    }
    const { named, failed } = costlier(readTimings(), timings);
    for (const line of [...named, ...failed]) console.log(line);
    if (failed.length > 0) {
      console.log("Make them cheaper, or write what they cost now: UPDATE_TIMINGS=1 npm test");
      process.exitCode = 1;
    }
  }
}

function costOf(module: TestModule) {
  const { cpu, starts, worlds, inserts } = module.meta().counts ?? NOTHING;
  return { seconds: Math.round(module.diagnostic().duration / 100) / 10, cpu, starts, worlds, inserts };
}

function readTimings(): Timings {
  return timingsSchema.parse(JSON.parse(readFileSync(FILE, "utf8")));
}

/** Files that this run left out keep their lines, unless they are gone. */
function writeTimings(timings: Timings): void {
  const lines = Object.entries({ ...readTimings(), ...timings })
    .filter(([name]) => existsSync(new URL(`../../../${name}`, import.meta.url)))
    .filter(
      ([, { seconds, starts, worlds, inserts }]) => seconds >= MIN_LISTED_SECONDS || starts + worlds + inserts > 0,
    )
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, { seconds, cpu, starts, worlds, inserts }]) => {
      const cost = [seconds, cpu, starts, worlds, inserts].join(", ");
      return `  ${JSON.stringify(name)}: [${cost}]`;
    });
  writeFileSync(FILE, `{\n${lines.join(",\n")}\n}\n`);
}
