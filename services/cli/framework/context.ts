import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { ConfigError, type ConfigFile } from "@noisefloor/config/env.ts";
import { findUnknownVariables } from "@noisefloor/config/nearest.ts";
import { readSettings, SETTINGS, type Settings } from "@noisefloor/config/settings.ts";
import { createLogger, type Logger } from "@noisefloor/telemetry/logger.ts";
import type { CommandContext, GlobalOptions } from "./command.ts";
import { STANDARD_INPUT } from "./input.ts";
import { stopSignal } from "./stop-signal.ts";

/** @throws ConfigError that lists every setting that is wrong. */
export async function createContext(env: NodeJS.ProcessEnv, { config }: GlobalOptions = {}): Promise<CommandContext> {
  const settings = readSettings(env, config === undefined ? undefined : await readConfigFile(config));
  const log = await openLog(settings);
  warnOfUnknownVariables(env, log);
  let signal: AbortSignal | undefined;
  return {
    settings,
    log,
    print: (line = "") => void process.stdout.write(`${line}\n`),
    get stdin() {
      return process.stdin;
    },
    isTerminal: process.stdout.isTTY === true,
    ask: process.stdin.isTTY && process.stderr.isTTY ? askOnTerminal : undefined,
    get signal() {
      signal ??= stopSignal();
      return signal;
    },
  };
}

/** Lines for people are made by a package that only a terminal needs: loading it takes time at every start. */
async function openLog({ logLevel }: Settings): Promise<Logger> {
  if (!process.stderr.isTTY) return createLogger("noisefloor", logLevel);
  const { createTerminalLogger } = await import("@noisefloor/telemetry/terminal-logger.ts");
  return createTerminalLogger("noisefloor", logLevel);
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  EACCES: "this user may not read it",
  EISDIR: "it is a folder",
};

async function readConfigFile(path: string): Promise<ConfigFile> {
  let text: string;
  try {
    text = readFileSync(path === STANDARD_INPUT ? 0 : path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    throw new ConfigError(`cannot read the configuration file ${path}: ${UNREADABLE[code] ?? String(error)}`);
  }
  // Its parser of YAML would take as long to load as all else that a command without a file needs of settings.
  const { parseConfigFile } = await import("@noisefloor/config/config-file.ts");
  return parseConfigFile(text, path, SETTINGS);
}

/** A misspelled variable would otherwise leave its setting at the default without a word. */
function warnOfUnknownVariables(env: NodeJS.ProcessEnv, log: Logger): void {
  for (const { name, nearest } of findUnknownVariables(Object.keys(env), SETTINGS)) {
    const question = nearest === undefined ? "see docs/configuration.md" : `did you mean ${nearest}?`;
    log.warn({ variable: name, nearest }, `the environment variable ${name} is no setting and is ignored: ${question}`);
  }
}

/** Asks on standard error, as a script may read standard output. The end of the input means no. */
function askOnTerminal(question: string): Promise<boolean> {
  // With terminal: true, Ctrl-C would close the question instead of ending the process.
  const lines = createInterface({ input: process.stdin, terminal: false });
  process.stderr.write(`${question} [y/N] `);
  return new Promise((settle) => {
    lines.once("line", (line) => {
      settle(/^y(es)?$/i.test(line.trim()));
      lines.close();
    });
    lines.once("close", () => settle(false));
  });
}
