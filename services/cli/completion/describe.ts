import type { Command, Option } from "commander";

/** What may follow an option: nothing, a path, one of some words, or any text. */
type Value = { readonly kind: "none" | "file" | "any" } | { readonly kind: "words"; readonly words: readonly string[] };

export type CompletedOption = { readonly name: string; readonly description: string; readonly value: Value };

/** A command as shells complete it. */
export type CompletedCommand = {
  /** From the program's name on: `noisefloor keys list`. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  readonly takesFiles: boolean;
  /** The words that its arguments take, where they are known. */
  readonly words: readonly string[];
};

const FILES = /\b(?:file|dir|path|place|event)\b/;

/** Describes a program with all its commands, in their order. */
export function describeCompletion(program: Command): CompletedCommand[] {
  const everywhere = [...program.options.map(describeOption), HELP];
  const describe = (command: Command, path: string): CompletedCommand[] => [
    {
      path,
      commands: command.commands.map((child) => ({ name: child.name(), description: child.description() })),
      options: [...(command === program ? [] : command.options.map(describeOption)), ...everywhere],
      takesFiles: command.registeredArguments.some((argument) => FILES.test(argument.name())),
      words: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    },
    ...command.commands.flatMap((child) => describe(child, `${path} ${child.name()}`)),
  ];
  return describe(program, program.name());
}

const HELP: CompletedOption = { name: "--help", description: "show what the command does", value: { kind: "none" } };

function describeOption({ long, flags, description, argChoices }: Option): CompletedOption {
  const [, placeholder] = /[<[](.+)[>\]]/.exec(flags) ?? [];
  const kind = placeholder === undefined ? "none" : FILES.test(placeholder) ? "file" : "any";
  return { name: long ?? flags, description, value: argChoices ? { kind: "words", words: argChoices } : { kind } };
}

/** The words `path option` of all options with a kind of value. */
export function optionsWith(commands: readonly CompletedCommand[], kind: Value["kind"]): string[] {
  return commands.flatMap(({ path, options }) =>
    options.filter(({ value }) => value.kind === kind).map(({ name }) => `${path} ${name}`),
  );
}

/** The paths of all commands but the program itself. */
export function subcommandPaths(commands: readonly CompletedCommand[]): string[] {
  return commands.slice(1).map(({ path }) => path);
}

/** A text as one word in single quotes, as bash and zsh read it. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
