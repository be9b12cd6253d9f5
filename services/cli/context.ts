import { readSettings } from "@noisefloor/config/settings.ts";
import { createLogger } from "@noisefloor/telemetry/logger.ts";
import type { CommandContext } from "./commands/command.ts";
import { stopSignal } from "./stop-signal.ts";

/** @throws ConfigError with all that is wrong with the environment. */
export function createContext(env: NodeJS.ProcessEnv): CommandContext {
  const settings = readSettings(env);
  let signal: AbortSignal | undefined;
  return {
    settings,
    log: createLogger("noisefloor", settings.logLevel),
    print: (line = "") => void process.stdout.write(`${line}\n`),
    get signal() {
      signal ??= stopSignal();
      return signal;
    },
  };
}
