import type { Command } from "commander";
import type { CommandContext } from "./command.ts";

/** Gives a command its options, help and action. The action creates the context, as `--help` needs no settings. */
export type DefineCommand = (command: Command, createContext: () => Promise<CommandContext>) => void;
