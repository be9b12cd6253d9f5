import { Command } from "commander";
import type { CommandContext, GlobalOptions } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { readVersion } from "../version.ts";

type Entry = {
  readonly name: string;
  readonly description: string;
  /** Loads the file that gives the command its options, help and action. */
  readonly load: () => Promise<{ readonly define: DefineCommand }>;
  /** It prints no result, or JSON anyway. All other commands take `--json`. */
  readonly isWithoutJson?: true;
};

/** Every command, in the order of the help. */
const COMMANDS: readonly Entry[] = [
  {
    name: "start",
    description: "run intake and query in one process, on an embedded ClickHouse unless CLICKHOUSE_URL is set",
    load: () => import("../commands/run/start.ts"),
    isWithoutJson: true,
  },
  {
    name: "ingest",
    description: "run the intake: the Kafka consumer, when brokers are configured, and POST /v1/observations",
    load: () => import("../commands/run/ingest.ts"),
    isWithoutJson: true,
  },
  {
    name: "query",
    description: "run the query interface",
    load: () => import("../commands/run/query.ts"),
    isWithoutJson: true,
  },
  {
    name: "migrate",
    description: "bring the schema up to date, set the retention, add what a new store starts with; then end",
    load: () => import("../commands/store/migrate.ts"),
  },
  {
    name: "replay",
    description: 'store log files (also .gz; "-" is standard input)',
    load: () => import("../commands/replay.ts"),
  },
  {
    name: "follow",
    description: "store what is written to files while it runs, here or by another intake: a shipper",
    load: () => import("../commands/follow.ts"),
    isWithoutJson: true,
  },
  {
    name: "formats",
    description: "the log formats that are read, and a test of field maps",
    load: () => import("../commands/formats.ts"),
  },
  {
    name: "enrich",
    description: "fill in the networks and countries that stored observations lack",
    load: () => import("../commands/enrich.ts"),
  },
  {
    name: "simulate",
    description: "send or store the observations of a simulated sensor fleet, for trying things out",
    load: () => import("../commands/simulate.ts"),
  },
  {
    name: "tags",
    description: "the tag catalogue, and the rules that give observations tags",
    load: () => import("../commands/tags/command.ts"),
  },
  {
    name: "search",
    description: "the addresses that match a query: a table, how many, what they have in common, JSON or CSV",
    load: () => import("../commands/search/command.ts"),
  },
  {
    name: "today",
    description: "what is new since yesterday, as text or as a mail",
    load: () => import("../commands/today/command.ts"),
  },
  {
    name: "callbacks",
    description: "the hosts that visitors told sensors to fetch from, and the well-known ones among them",
    load: () => import("../commands/callbacks/command.ts"),
  },
  {
    name: "feeds",
    description:
      "lists of addresses for firewalls and other consumers: searches with a name, their tokens, their guard",
    load: () => import("../commands/feeds/command.ts"),
  },
  {
    name: "watches",
    description: "be told when something happens: watches, their events, and where these are delivered",
    load: () => import("../commands/watches/command.ts"),
  },
  {
    name: "fingerprints",
    description: "HASSH, JA3 and JA4 of clients, with the SSH banners and user agents that they were seen with",
    load: () => import("../commands/fingerprints.ts"),
  },
  {
    name: "benign",
    description: "networks of known benign services (riot)",
    load: async () => ({ define: (await import("../commands/networks.ts")).defineNetworks("service") }),
  },
  {
    name: "actors",
    description: "networks of known benign scan operators",
    load: async () => ({ define: (await import("../commands/networks.ts")).defineNetworks("actor") }),
  },
  {
    name: "workspaces",
    description: "who may ask, on which plan",
    load: () => import("../commands/access/workspaces.ts"),
  },
  { name: "keys", description: "keys of workspaces", load: () => import("../commands/access/keys.ts") },
  {
    name: "sensors",
    description: "keys of sensors: each fixes where its observations go",
    load: () => import("../commands/access/sensors.ts"),
  },
  {
    name: "observations",
    description: "remove stored observations: of a wrong sensor, of wrong dates, of an address",
    load: () => import("../commands/observations/command.ts"),
  },
  {
    name: "dead-letters",
    description: "records that could not be stored: list, show and retry them",
    load: () => import("../commands/dead-letters/command.ts"),
  },
  {
    name: "status",
    description: "what runs, what is full, what is old: services, ClickHouse, disk, clock, lag, sensors, backup",
    load: () => import("../commands/diagnosis/status.ts"),
  },
  {
    name: "doctor",
    description: "the same as checks, each fault with its remedy; the exit code says how bad it is",
    load: () => import("../commands/diagnosis/doctor.ts"),
  },
  {
    name: "retention",
    description: "show what each table holds from when to when, its size, and how long it is kept; changes nothing",
    load: () => import("../commands/store/retention.ts"),
  },
  {
    name: "cluster",
    description:
      "the shards of the ClickHouse cluster that CLICKHOUSE_CLUSTER names: check them, spread data over others",
    load: () => import("../commands/cluster/command.ts"),
  },
  {
    name: "backup",
    description: "make a backup of everything that is stored",
    load: () => import("../commands/backup/backup.ts"),
  },
  {
    name: "restore",
    description: "put a backup in the place of the store",
    load: () => import("../commands/backup/restore.ts"),
  },
  {
    name: "schema",
    description: "print the JSON Schema of an observation",
    load: () => import("../commands/schema.ts"),
    isWithoutJson: true,
  },
];

/**
 * Creates the command line.
 * @param createContext is called with the options of the program itself, by a command that runs.
 * @param isCalled whether to load a command. Loading all of them takes seconds, and `--help` needs none of them.
 */
export async function createProgram(
  createContext: (options: GlobalOptions) => Promise<CommandContext>,
  isCalled: (name: string) => boolean,
): Promise<Command> {
  const program = new Command("noisefloor")
    .description(
      "Self-hosted Internet scan-noise intelligence. Settings come from environment variables and from the file " +
        "that --config names; see docs/configuration.md.",
    )
    .version(readVersion(), "-V, --version", "print the version")
    .option("--config <file>", "a YAML file of settings; environment variables win")
    .configureOutput({ outputError: (text, write) => write(onOneLine(text)) });
  for (const { name, description, load, isWithoutJson } of COMMANDS) {
    const command = program.command(name).description(description);
    if (!isCalled(name)) continue;
    (await load()).define(command, () => createContext(program.opts<GlobalOptions>()));
    if (!isWithoutJson) addJsonOption(command);
  }
  pointToHelp(program, program.name());
  return program;
}

/** Adds `--json` to the commands that have an action, unless they say themselves what it prints. */
function addJsonOption(command: Command): void {
  const hasAction = command.commands.length === 0 || command.registeredArguments.length > 0;
  const isDescribed = command.options.some(({ long }) => long === "--json");
  if (hasAction && !isDescribed) command.option("--json", "as JSON", false);
  for (const child of command.commands) addJsonOption(child);
}

/** After a usage error comes one line, as the whole help would push the error off the screen. */
function pointToHelp(command: Command, path: string): void {
  command.showHelpAfterError(`See: ${path} --help`);
  for (const child of command.commands) pointToHelp(child, `${path} ${child.name()}`);
}

/** Commander writes what was probably meant on a line of its own. */
function onOneLine(text: string): string {
  return text.replace(/\n(?=\(Did you mean)/, " ");
}
