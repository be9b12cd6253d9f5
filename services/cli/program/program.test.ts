import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "./program.ts";

/** What a wrong command line prints, without running anything. */
async function usageError(line: string): Promise<string> {
  let printed = "";
  const args = line.split(" ");
  const program = await createProgram(
    () => Promise.reject(new Error("no command runs")),
    (name) => args.includes(name),
  );
  const quieten = (command: Command) => {
    command.exitOverride().configureOutput({
      writeErr: (text) => {
        printed += text;
      },
    });
    command.commands.forEach(quieten);
  };
  quieten(program);
  await expect(program.parseAsync(args, { from: "user" })).rejects.toThrow();
  return printed;
}

test("only the command that is called is loaded, and all are in the help", async () => {
  const program = await createProgram(
    () => Promise.reject(new Error("no command runs")),
    (name) => name === "schema",
  );
  const help = program.helpInformation();
  const own = (name: string) => program.commands.find((command) => command.name() === name);
  expect(help).toMatch(/^ {2}schema +print the JSON Schema of an observation$/m);
  expect(help).toMatch(/^ {2}keys +keys of workspaces$/m);
  expect(own("keys")?.commands, "not loaded").toEqual([]);
  await expect(own("schema")?.parseAsync([], { from: "user" })).rejects.toThrow("no command runs");
});

test.each([
  ["strat", "error: unknown command 'strat' (Did you mean start?)\nSee: noisefloor --help\n"],
  ["keys list --jsn", "error: unknown option '--jsn' (Did you mean --json?)\nSee: noisefloor keys list --help\n"],
  ["keys create", "error: missing required argument 'workspace'\nSee: noisefloor keys create --help\n"],
  [
    "schema extra",
    "error: too many arguments for 'schema'. Expected 0 arguments but got 1.\nSee: noisefloor schema --help\n",
  ],
  ["--config", "error: option '--config <file>' argument missing\nSee: noisefloor --help\n"],
])("the usage error of %j takes two lines", async (line, printed) => {
  expect(await usageError(line)).toBe(printed);
});

test("--config may stand before and after the command", async () => {
  for (const line of ["--config a.yaml schema", "schema --config a.yaml", "keys list --config=a.yaml --json"]) {
    const args = line.split(" ");
    const program = await createProgram(
      ({ config }) => Promise.reject(new Error(`the file is ${config}`)),
      (name) => args.includes(name),
    );
    await expect(program.parseAsync(args, { from: "user" })).rejects.toThrow("the file is a.yaml");
  }
});

test("--json reaches a command whose parent has the option, too", async () => {
  const program = await createProgram(
    () => Promise.reject(new Error("no command runs")),
    (name) => name === "tags",
  );
  const line = ["tags", "import", "sigma", "rule.yml", "--to", "rules", "--json"];
  await expect(program.parseAsync(line, { from: "user" })).rejects.toThrow("no command runs");
  const find = (command: Command, name: string) => command.commands.find((child) => child.name() === name) ?? command;
  expect(find(find(find(program, "tags"), "import"), "sigma").optsWithGlobals()).toEqual({ to: "rules", json: true });
});

test("every command that prints a result takes --json, and those that run on do not", async () => {
  const program = await createProgram(
    () => Promise.reject(new Error("no command runs")),
    () => true,
  );
  const takesJson = (path: string) =>
    path
      .split(" ")
      .reduce<Command | undefined>((command, name) => command?.commands.find((child) => child.name() === name), program)
      ?.options.some(isJson);
  const paths = ["keys create", "tags import", "tags import sigma", "search", "status", "dead-letters show", "schema"];
  expect(paths.filter(takesJson)).toEqual(paths.slice(0, -1));
  const without = program.commands.filter(({ commands, options }) => commands.length === 0 && !options.some(isJson));
  expect(without.map((command) => command.name())).toEqual(["start", "ingest", "query", "follow", "schema"]);
}, 60_000);

const isJson = ({ flags }: { readonly flags: string }) => flags === "--json";
