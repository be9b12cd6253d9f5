import { Command } from "commander";
import type { CommandContext } from "./framework/command.ts";
import type { DefineCommand } from "./framework/define-command.ts";

type Entry = {
  readonly name: string;
  readonly description: string;
  /** Loads the file that gives the command its options, help and action. */
  readonly load: () => Promise<{ readonly define: DefineCommand }>;
};

/** Every command, in the order of the help. */
const COMMANDS: readonly Entry[] = [
  {
    name: "start",
    description: "run intake and query in one process, on an embedded ClickHouse unless CLICKHOUSE_URL is set",
    load: () => import("./commands/start.ts"),
  },
  {
    name: "ingest",
    description: "run the intake: the Kafka consumer, when brokers are configured, and POST /v1/observations",
    load: () => import("./commands/ingest.ts"),
  },
  { name: "query", description: "run the query interface", load: () => import("./commands/query.ts") },
  {
    name: "migrate",
    description: "bring the schema up to date, set the retention, add what a new store starts with; then end",
    load: () => import("./commands/migrate.ts"),
  },
  {
    name: "replay",
    description: 'store log files (also .gz; "-" is standard input)',
    load: () => import("./commands/replay.ts"),
  },
  {
    name: "enrich",
    description: "fill in the networks and countries that stored observations lack",
    load: () => import("./commands/enrich.ts"),
  },
  {
    name: "simulate",
    description: "send or store the observations of a simulated sensor fleet, for trying things out",
    load: () => import("./commands/simulate.ts"),
  },
  {
    name: "tags",
    description: "the tag catalogue, and the rules that give observations tags",
    load: () => import("./commands/tags/command.ts"),
  },
  {
    name: "benign",
    description: "networks of known benign services (riot)",
    load: async () => ({ define: (await import("./commands/networks.ts")).defineNetworks("service") }),
  },
  {
    name: "actors",
    description: "networks of known benign scan operators",
    load: async () => ({ define: (await import("./commands/networks.ts")).defineNetworks("actor") }),
  },
  {
    name: "workspaces",
    description: "who may ask, on which plan",
    load: () => import("./commands/workspaces.ts"),
  },
  { name: "keys", description: "keys of workspaces", load: () => import("./commands/keys.ts") },
  {
    name: "sensors",
    description: "keys of sensors: each fixes where its observations go",
    load: () => import("./commands/sensors.ts"),
  },
  {
    name: "dead-letters",
    description: "records that could not be stored: list, show and retry them",
    load: () => import("./commands/dead-letters/command.ts"),
  },
  {
    name: "retention",
    description: "show what each table holds from when to when, its size, and how long it is kept; changes nothing",
    load: () => import("./commands/retention.ts"),
  },
  {
    name: "backup",
    description: "make a backup of everything that is stored",
    load: () => import("./commands/backup.ts"),
  },
  {
    name: "restore",
    description: "put a backup in the place of the store",
    load: () => import("./commands/restore.ts"),
  },
  {
    name: "schema",
    description: "print the JSON Schema of an observation",
    load: () => import("./commands/schema.ts"),
  },
];

/**
 * Creates the command line.
 * @param isCalled whether to load a command. Loading all of them takes seconds, and `--help` needs none of them.
 */
export async function createProgram(
  createContext: () => Promise<CommandContext>,
  isCalled: (name: string) => boolean,
): Promise<Command> {
  const program = new Command("noisefloor")
    .description(
      "Self-hosted Internet scan-noise intelligence. Settings come from environment variables; see docs/configuration.md.",
    )
    .showHelpAfterError();
  for (const { name, description, load } of COMMANDS) {
    const command = program.command(name).description(description);
    if (isCalled(name)) (await load()).define(command, createContext);
  }
  return program;
}
