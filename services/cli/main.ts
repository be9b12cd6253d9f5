import { isTransient, missingRight, StoreError } from "@noisefloor/clickhouse/errors.ts";
import { ConfigError } from "@noisefloor/config/env.ts";
import { readSettings } from "@noisefloor/config/settings.ts";
import { observationJsonSchema } from "@noisefloor/domain/observation.ts";
import { ListenError } from "@noisefloor/http/connections.ts";
import { TlsFilesError } from "@noisefloor/http/tls.ts";
import { StreamError } from "@noisefloor/kafka/kafkajs-connection.ts";
import { createLogger } from "@noisefloor/telemetry/logger.ts";
import { Command } from "commander";
import { addAccessCommands } from "./access-commands.ts";
import { addCareCommands } from "./care-commands.ts";
import { type CommandContext, UserError } from "./commands/command.ts";
import { runNetworksImport, runTagsImport } from "./commands/reference.ts";
import { runReplay } from "./commands/replay.ts";
import { runSimulate } from "./commands/simulate.ts";
import { runServices, runStart } from "./commands/start.ts";
import { addDeadLetterCommands } from "./dead-letter-commands.ts";
import { positiveInteger } from "./positive-integer.ts";
import { stopSignal } from "./stop-signal.ts";
import { openStore } from "./store.ts";

const print = (line = ""): void => {
  process.stdout.write(`${line}\n`);
};

function createContext(): CommandContext {
  const settings = readSettings(process.env);
  let signal: AbortSignal | undefined;
  return {
    settings,
    log: createLogger("noisefloor", settings.logLevel),
    print,
    get signal() {
      signal ??= stopSignal();
      return signal;
    },
  };
}

// Whoever reads along has seen enough, as head has: that ends the command as it ends others, without a word.
process.stdout.on("error", (error: Error) => {
  if (!("code" in error) || error.code !== "EPIPE") throw error;
  process.exit(141);
});

const program = new Command("noisefloor")
  .description("Self-hosted Internet scan-noise intelligence. Settings come from environment variables; see README.md.")
  .showHelpAfterError();

program
  .command("start")
  .description("run intake and query in one process, on an embedded ClickHouse unless CLICKHOUSE_URL is set")
  .option("--demo", "also simulate 30 days of a sensor fleet", false)
  .action((options: { demo: boolean }) => runStart(options, createContext()));
program
  .command("ingest")
  .description("run the intake: the Kafka consumer, when brokers are configured, and POST /v1/observations")
  .action(() => runServices({ ingest: true, query: false }, createContext()));
program
  .command("query")
  .description("run the query interface")
  .action(() => runServices({ ingest: false, query: true }, createContext()));
program
  .command("migrate")
  .description("bring the schema up to date, set the retention, add missing starter tags; then end")
  .action(async () => {
    const { settings, log } = createContext();
    const store = await openStore(settings, log, "set");
    await store.close();
    print("The schema is up to date.");
  });
program
  .command("replay")
  .description('bring log files in (also .gz; "-" is standard input)')
  .argument("<file...>", "the files, in the order of their time")
  .requiredOption("--format <name>", "observations (our wire schema, NDJSON) or marx")
  .option("--shift-to <time>", 'move all times so that the newest falls on "now" or an RFC 3339 time')
  .option("--rate <n>", "observations per second at most", positiveInteger)
  .action((files: string[], options: { format: string; shiftTo?: string; rate?: number }) =>
    runReplay(files, options, createContext()),
  );
program
  .command("simulate")
  .description("store the observations of a made-up sensor fleet, for trying things out")
  .option("--days <n>", "how many days back", positiveInteger, 30)
  .action((options: { days: number }) => runSimulate(options.days, createContext()));
program
  .command("tags")
  .description("the tag catalogue")
  .command("import")
  .description("add or replace tags from a file: our YAML, or JSON in the wire shape of GET /v3/tags")
  .argument("<file>")
  .action((file: string) => runTagsImport(file, createContext()));
program
  .command("benign")
  .description("networks of known benign services (riot)")
  .command("import")
  .description("replace lists of networks from a MISP warninglist, or a folder of them")
  .argument("<path>")
  .action((path: string) => runNetworksImport("service", path, createContext()));
program
  .command("actors")
  .description("networks of known benign scan operators")
  .command("import")
  .description("replace lists of networks from a MISP warninglist, or a folder of them")
  .argument("<path>")
  .action((path: string) => runNetworksImport("actor", path, createContext()));

addAccessCommands(program, createContext);
addDeadLetterCommands(program, createContext);
addCareCommands(program, createContext);
program
  .command("schema")
  .description("print the JSON Schema of an observation")
  .action(() => print(JSON.stringify(observationJsonSchema(), null, 2)));

/** Errors that the user can put right are told in a sentence; all others with their stack, for they are ours. */
const TOLD_PLAINLY = [UserError, ConfigError, StoreError, StreamError, TlsFilesError, ListenError];

try {
  await program.parseAsync();
} catch (thrown) {
  const error = missingRight(thrown) ?? thrown;
  const isPlain = TOLD_PLAINLY.some((kind) => error instanceof kind) || isTransient(error);
  console.error(isPlain && error instanceof Error ? `noisefloor: ${error.message || String(error)}` : error);
  process.exitCode = 1;
}
// A clean end leaves nothing running; should something hang on, the process must still end.
setTimeout(() => process.exit(), 5_000).unref();
