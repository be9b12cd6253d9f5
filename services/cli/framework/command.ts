import type { Readable } from "node:stream";
import type { Settings } from "@noisefloor/config/settings.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";

/** Options of the program, which every command takes. */
export type GlobalOptions = {
  /** The path of a configuration file. */
  readonly config?: string | undefined;
};

/** What every command is given. */
export type CommandContext = {
  readonly settings: Settings;
  readonly log: Logger;
  /**
   * Aborts at the first Ctrl-C or SIGTERM. Until a command reads it, a signal ends the process immediately; from then
   * on the command has to end.
   */
  readonly signal: AbortSignal;
  /** A line on standard output. */
  readonly print: (line?: string) => void;
  /** Standard input, which "-" names in the place of a file. */
  readonly stdin: Readable;
  /** Whether standard output is a terminal. If not, it may be a log, which must not get an unrequested secret. */
  readonly isTerminal: boolean;
  /** Asks a question to be answered with yes or no; undefined when there is no terminal to ask on. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
};

/** An error that the user can fix: its message is printed without a stack. */
export class UserError extends Error {
  override name = "UserError";
}
