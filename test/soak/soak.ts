import { tmpdir } from "node:os";
import { keepTemporaryFilesInMemory } from "../support/temporary-folder.ts";
import { startSoakServers } from "../support/worlds/soak-stage.ts";
import { ALL_SCENARIOS } from "./all.ts";
import { DEFAULTS, readSoakOptions, type SoakOptions } from "./options.ts";
import { runScenario } from "./scenario.ts";

const HELP = `Kills the intake, ClickHouse and the broker while known events flow.
Then compares every answer with the events.

  npm run soak
  npm run soak -- --only kill --events 50000 --seed 7

Options:
  --only SCENARIO   one scenario, or several when given again
  --events NUMBER   of each scenario, instead of its own number
  --quick           the numbers of events that the tests take
  --minutes NUMBER  ends the soak after so long (default ${DEFAULTS.minutes})
  --seed NUMBER     of the events and the faults (default ${DEFAULTS.seed})
  --shards NUMBER   shards of the ClickHouse cluster (default ${DEFAULTS.shards})
  --replicas NUMBER servers of each shard (default ${DEFAULTS.replicas})
  --help            this text

The servers keep their data in memory (/dev/shm) where 4 GiB are free. TMPDIR names another folder.

Scenarios:
${ALL_SCENARIOS.map(({ name, promise }) => `  ${name.padEnd(16)}  ${promise}`).join("\n")}`;

const { scenarios, seed, minutes, shards, replicas, help, ...options } = readOptions();
if (help) {
  console.log(HELP);
  process.exit(0);
}

// Child processes are only killed at an exit of our own.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const extent = options.quick ? "test" : "soak";
const start = performance.now();
const say = (text: string) => {
  console.log(`${((performance.now() - start) / 1_000).toFixed(0).padStart(4)} s  ${text}`);
};
const table: Record<string, string | number>[] = [];
keepTemporaryFilesInMemory();
const overtime = new Promise<never>((_, fail) => {
  setTimeout(() => fail(new Error(`the ${minutes} minutes are over`)), minutes * 60_000).unref();
});
overtime.catch(() => {});
const servers = await startSoakServers(undefined, { shards, replicas });
try {
  say(`seed ${seed}; the servers' data are in ${tmpdir()}`);
  for (const scenario of ALL_SCENARIOS.filter(({ name }) => scenarios.includes(name))) {
    const { name, promise } = scenario;
    const events = options.events ?? scenario.events[extent];
    say(`${name}: ${promise} (${events} events)`);
    const began = performance.now();
    const elapsed = () => (performance.now() - began) / 1_000;
    const row = { scenario: name, events };
    try {
      const told = { extent, seed, events, say: (text: string) => say(`  ${text}`) } as const;
      const { summary, seconds } = await Promise.race([runScenario(servers, scenario, told), overtime]);
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
  await servers.close().catch((error: unknown) => say(`could not remove the servers' data: ${String(error)}`));
}

function readOptions(): SoakOptions {
  try {
    return readSoakOptions(
      process.argv.slice(2),
      ALL_SCENARIOS.map(({ name }) => name),
    );
  } catch (error) {
    console.error(`soak: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(2);
  }
}

/** Includes both sides of a failed comparison. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!("actual" in error && "expected" in error)) return error.message;
  return `${error.message}\n  is       ${JSON.stringify(error.actual)}\n  expected ${JSON.stringify(error.expected)}`;
}

// Ends whatever an interrupted scenario has started.
process.exit();
