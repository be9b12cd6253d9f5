// A program of its own, run by commands.test.ts: parses command lines as the real command line does, and runs none.
// Standard input: a list of argument lists, as JSON. Standard output: what is wrong with each, and all commands.
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

/** Commander's code for what is wrong; empty when nothing is. */
function problemOf(program: Command, args: readonly string[]): string {
  try {
    program.parse(args, { from: "user" });
    return "";
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.code === "commander.helpDisplayed" ? "" : error.code;
  }
}
