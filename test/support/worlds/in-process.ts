import { Readable } from "node:stream";
import type { GlobalOptions } from "@noisefloor/cli/framework/command.ts";
import { createContext } from "@noisefloor/cli/framework/context.ts";
import { formatFailure } from "@noisefloor/cli/framework/failure.ts";
import { createProgram } from "@noisefloor/cli/program/program.ts";
import type { Finished } from "./command-line.ts";

/**
 * Runs a command line in this process, which saves the start of another: for what a command prints. Not for commands
 * that handle signals or write to standard output themselves.
 */
export async function runInProcess(
  args: readonly string[],
  env: Record<string, string>,
  { isTerminal = false } = {},
): Promise<Finished> {
  let stdout = "";
  const context = async (options: GlobalOptions) => {
    const { settings, log } = await createContext({ LOG_LEVEL: "silent", ...env }, options);
    const print = (line = "") => {
      stdout += `${line}\n`;
    };
    const { signal } = new AbortController();
    return { settings, log, print, signal, stdin: Readable.from([]), isTerminal, ask: undefined };
  };
  const program = await createProgram(context, (name) => args.includes(name));
  try {
    await program.parseAsync([...args], { from: "user" });
    return { code: 0, stdout, stderr: "" };
  } catch (error) {
    // As the program prints it: an error that is no message for a user comes with its stack.
    const failure = formatFailure(error);
    const stderr = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
    return { code: 1, stdout, stderr: `${stderr}\n` };
  }
}
