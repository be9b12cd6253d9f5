import { parseArgs } from "node:util";
import { startSoakServers } from "../support/worlds/soak-stage.ts";
import { ALL_SCENARIOS } from "./all.ts";
import { runScenario } from "./scenario.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true },
    seed: { type: "string", default: "20261121" },
    events: { type: "string" },
    quick: { type: "boolean", default: false },
    minutes: { type: "string", default: "15" },
    shards: { type: "string", default: "1" },
    replicas: { type: "string", default: "1" },
  },
});
const known = ALL_SCENARIOS.map(({ name }) => name);
const unknown = values.only?.filter((name) => !known.includes(name)) ?? [];
if (unknown.length > 0) {
  console.error(`soak: there is no scenario ${unknown.join(", ")}; there are ${known.join(", ")}`);
  process.exit(2);
}

// Child processes are only killed at an exit of our own.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const seed = Number(values.seed);
const extent = values.quick ? "test" : "soak";
const start = performance.now();
const say = (text: string) => {
  console.log(`${((performance.now() - start) / 1_000).toFixed(0).padStart(4)} s  ${text}`);
};
const table: Record<string, string | number>[] = [];
const minutes = Number(values.minutes);
const overtime = new Promise<never>((_, fail) => {
  setTimeout(() => fail(new Error(`the ${minutes} minutes are over`)), minutes * 60_000).unref();
});
overtime.catch(() => {});
const servers = await startSoakServers(undefined, { shards: Number(values.shards), replicas: Number(values.replicas) });
try {
  say(`seed ${seed}`);
  for (const scenario of ALL_SCENARIOS.filter(({ name }) => values.only?.includes(name) ?? true)) {
    const { name, promise } = scenario;
    const events = values.events === undefined ? scenario.events[extent] : Number(values.events);
    say(`${name}: ${promise} (${events} events)`);
    const began = performance.now();
    const elapsed = () => (performance.now() - began) / 1_000;
    const row = { scenario: name, events };
    try {
      const options = { extent, seed, events, say: (text: string) => say(`  ${text}`) } as const;
      const { summary, seconds } = await Promise.race([runScenario(servers, scenario, options), overtime]);
      const pace = { seconds: Math.round(seconds), "events/s": Math.round(events / seconds) };
      table.push({ ...row, faults: summary, ...pace, result: "kept" });
    } catch (error) {
      say(`  ${describe(error).slice(0, 4_000)}`);
      table.push({ ...row, faults: "", seconds: Math.round(elapsed()), "events/s": 0, result: "BROKEN" });
      process.exitCode = 1;
    }
  }
} finally {
  console.table(table);
  // An interrupted scenario may still use them.
  await servers.close().catch((error: unknown) => say(`the servers' data are left behind: ${String(error)}`));
}
/** Includes both sides of a failed comparison. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!("actual" in error && "expected" in error)) return error.message;
  return `${error.message}\n  is       ${JSON.stringify(error.actual)}\n  expected ${JSON.stringify(error.expected)}`;
}

// Ends whatever an interrupted scenario has started.
process.exit();
