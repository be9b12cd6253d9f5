import { Argument, type Command } from "commander";
import { bashCompletion } from "../completion/bash.ts";
import { describeCompletion } from "../completion/describe.ts";
import { fishCompletion } from "../completion/fish.ts";
import { zshCompletion } from "../completion/zsh.ts";
import type { DefineCommand } from "../framework/define-command.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** @param loadProgram loads every command, so that the script is made of the program's own definition. */
export function defineCompletion(loadProgram: () => Promise<Command>): DefineCommand {
  return (command) => {
    command
      .addArgument(new Argument("<shell>", "whose completion to print").choices(SHELLS))
      .action(async (shell: (typeof SHELLS)[number]) => {
        process.stdout.write(SCRIPTS[shell](describeCompletion(await loadProgram())));
      });
  };
}
