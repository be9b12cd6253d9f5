import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { CommandContext } from "./command.ts";

/** The argument that means standard input, wherever a command takes a file. */
export const STANDARD_INPUT = "-";

/** The text of a file, or of standard input. */
export function readInput(path: string, context: Pick<CommandContext, "stdin">): Promise<string> {
  return path === STANDARD_INPUT ? text(context.stdin) : readFile(path, "utf8");
}
