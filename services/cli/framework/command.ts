import type { Settings } from "@noisefloor/config/settings.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";

/** What every command works with. */
export type CommandContext = {
  readonly settings: Settings;
  readonly log: Logger;
  /**
   * Aborts at the first Ctrl-C or SIGTERM. Until a command asks for it, these end the process where it stands; from then
   * on it is the command that has to.
   */
  readonly signal: AbortSignal;
  /** A line on standard output. */
  readonly print: (line?: string) => void;
  /** Whether standard output is a terminal. Anywhere else a secret that nobody asked for would end up in a log. */
  readonly isTerminal: boolean;
  /** Asks a question to be answered with yes or no; undefined when there is no terminal to ask on. */
  readonly ask: ((question: string) => Promise<boolean>) | undefined;
};

/** Something the user can put right: its message is printed without a stack. */
export class UserError extends Error {
  override name = "UserError";
}
