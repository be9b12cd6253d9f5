import type { Reporter, TestModule } from "vitest/node";

const PRINTED = 10;

/** Prints the slowest files at the end of a run, so that a change that slows one down is noticed. */
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slowest = modules
      .map((module) => ({ name: module.relativeModuleId, seconds: module.diagnostic().duration / 1_000 }))
      .sort((one, other) => other.seconds - one.seconds)
      .slice(0, PRINTED);
    console.log(`The ${slowest.length} slowest files (seconds):`);
    for (const { name, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(7)}  ${name}`);
  }
}
