import { createProgram } from "@noisefloor/cli/program/program.ts";
import { Command, CommanderError } from "commander";

export type ParsedCommands = {
  /** Commander's code for what is wrong with each command line; empty when nothing is. */
  readonly problems: readonly string[];
  /** The long options of each command. */
  readonly options: Readonly<Record<string, readonly string[]>>;
};

/** Parses command lines as the real command line does, and runs none of them. */
export async function parseCommands(lines: readonly (readonly string[])[]): Promise<ParsedCommands> {
  const program = await createWithoutActions();
  const commands = withSubcommands(program);
  for (const command of commands) command.exitOverride().configureOutput({ writeOut: () => {}, writeErr: () => {} });
  const options = commands
    // `tags import FILE` does something by itself, and so does `tags import sigma FILE`.
    .filter((command) => command.commands.length === 0 || command.registeredArguments.length > 0)
    .map((command) => [nameOf(command), command.options.map(({ long }) => long ?? "")] as const);
  return { problems: lines.map((line) => problemOf(program, line)), options: Object.fromEntries(options) };
}

async function createWithoutActions(): Promise<Command> {
  const { action } = Command.prototype;
  Command.prototype.action = function () {
    return action.call(this, () => {});
  };
  try {
    const createContext = () => Promise.reject(new Error("no command is run"));
    return await createProgram(createContext, () => true);
  } finally {
    Command.prototype.action = action;
  }
}

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
