import { createInterface } from "node:readline";
import { readSettings } from "@noisefloor/config/settings.ts";
import { createLogger } from "@noisefloor/telemetry/logger.ts";
import type { CommandContext } from "./command.ts";
import { stopSignal } from "./stop-signal.ts";

/** @throws ConfigError that lists every setting that is wrong. */
export function createContext(env: NodeJS.ProcessEnv): CommandContext {
  const settings = readSettings(env);
  let signal: AbortSignal | undefined;
  return {
    settings,
    log: createLogger("noisefloor", settings.logLevel),
    print: (line = "") => void process.stdout.write(`${line}\n`),
    isTerminal: process.stdout.isTTY === true,
    ask: process.stdin.isTTY && process.stderr.isTTY ? askOnTerminal : undefined,
    get signal() {
      signal ??= stopSignal();
      return signal;
    },
  };
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
