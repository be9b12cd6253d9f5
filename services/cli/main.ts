import { Command } from "commander";
import { addAccessCommands } from "./access-commands.ts";
import { addCareCommands } from "./care-commands.ts";
import type { ReplayOptions } from "./commands/replay.ts";
import { addDeadLetterCommands } from "./dead-letter-commands.ts";
import { positiveInteger } from "./framework/positive-integer.ts";
import { addReferenceCommands } from "./reference-commands.ts";

// What a command needs is loaded when it is called: all of it takes a second that "--help" or a small command need not wait.
const createContext = async () => (await import("./framework/context.ts")).createContext(process.env);

// Whoever reads along has seen enough, as head has: that ends the command as it ends others, without a word.
process.stdout.on("error", (error: Error) => {
  if ("code" in error && error.code === "EPIPE") process.exit(141);
  console.error(`noisefloor: the output cannot be written: ${error.message}`);
  process.exit(1);
});

const program = new Command("noisefloor")
  .description(
    "Self-hosted Internet scan-noise intelligence. Settings come from environment variables; see docs/configuration.md.",
  )
  .showHelpAfterError();

program
  .command("start")
  .description("run intake and query in one process, on an embedded ClickHouse unless CLICKHOUSE_URL is set")
  .option("--demo", "also simulate 30 days of a sensor fleet", false)
  .action(async (options: { demo: boolean }) =>
    (await import("./commands/start.ts")).runStart(options, await createContext()),
  );
program
  .command("ingest")
  .description("run the intake: the Kafka consumer, when brokers are configured, and POST /v1/observations")
  .action(async () =>
    (await import("./commands/start.ts")).runServices({ ingest: true, query: false }, await createContext()),
  );
program
  .command("query")
  .description("run the query interface")
  .action(async () =>
    (await import("./commands/start.ts")).runServices({ ingest: false, query: true }, await createContext()),
  );
program
  .command("migrate")
  .description("bring the schema up to date, set the retention, add missing starter tags; then end")
  .option("--yes", "also when a shorter RETENTION_DAYS deletes more than a tenth of what is stored", false)
  .action(async (options: { yes: boolean }) =>
    (await import("./commands/migrate.ts")).runMigrate(options, await createContext()),
  );
program
  .command("replay")
  .description('bring log files in (also .gz; "-" is standard input)')
  .argument("<file...>", "the files, in the order of their time")
  .requiredOption("--format <name>", "observations (our wire schema, NDJSON) or marx")
  .option("--shift-to <time>", 'move all times so that the newest falls on "now" or an RFC 3339 time')
  .option("--rate <n>", "observations per second at most", positiveInteger)
  .option("--dry-run", "say what would become of the records, and change nothing", false)
  .option("--keep-going", "also when none of the first 10,000 records is accepted", false)
  .action(async (files: string[], options: ReplayOptions) =>
    (await import("./commands/replay.ts")).runReplay(files, options, await createContext()),
  );
program
  .command("simulate")
  .description("store the observations of a made-up sensor fleet, for trying things out")
  .option("--days <n>", "how many days back", positiveInteger, 30)
  .action(async (options: { days: number }) =>
    (await import("./commands/simulate.ts")).runSimulate(options.days, await createContext()),
  );
addReferenceCommands(program, createContext);
addAccessCommands(program, createContext);
addDeadLetterCommands(program, createContext);
addCareCommands(program, createContext);
program
  .command("schema")
  .description("print the JSON Schema of an observation")
  .action(async () => (await import("./commands/schema.ts")).runSchema(await createContext()));

try {
  await program.parseAsync();
} catch (error) {
  console.error((await import("./framework/failure.ts")).tellFailure(error));
  process.exitCode = 1;
}
// A clean end leaves nothing running; should something hang on, the process must still end.
setTimeout(() => process.exit(), 5_000).unref();
