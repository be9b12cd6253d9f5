// Run by commands.test.ts as a process: parses command lines with the real program, and runs no command.
// Standard input: a list of argument lists, as JSON. Standard output: the error of each, and all commands.
import { text } from "node:stream/consumers";
import { createProgram } from "@noisefloor/cli/program.ts";
import { Command, CommanderError } from "commander";
import { z } from "zod";

const lines = z.array(z.array(z.string())).parse(JSON.parse(await text(process.stdin)));

const { action } = Command.prototype;
Command.prototype.action = function () {
  return action.call(this, () => {});
};
const createContext = () => Promise.reject(new Error("no command is run"));
const program = await createProgram(createContext, () => true);
const commands = withSubcommands(program);
for (const command of commands) command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
const problems = lines.map((line) => problemOf(program, line));
const options = commands
  .filter((command) => command.commands.length === 0)
  .map((command) => [nameOf(command), command.options.map(({ long }) => long)]);
process.stdout.write(JSON.stringify({ problems, options: Object.fromEntries(options) }));

function withSubcommands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

/** Commander's error code; empty without an error. */
function problemOf(program: Command, args: readonly string[]): string {
  try {
    program.parse(args, { from: "user" });
    return "";
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.code === "commander.helpDisplayed" ? "" : error.code;
  }
}
