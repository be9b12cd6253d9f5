import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Command, Option } from "commander";
import { beforeAll, expect, test } from "vitest";
import { createProgram } from "../program/program.ts";
import { bashCompletion } from "./bash.ts";
import { type CompletedCommand, describeCompletion } from "./describe.ts";
import { fishCompletion } from "./fish.ts";
import { zshCompletion } from "./zsh.ts";

let commands: CompletedCommand[];

beforeAll(async () => {
  const noContext = () => Promise.reject(new Error("no command runs"));
  commands = describeCompletion(await createProgram(noContext, () => true));
}, 60_000);

/** What bash offers for the last word of a command line. */
async function completeInBash(script: string, line: string): Promise<string[]> {
  const typed = line.split(" ");
  const ask = `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _noisefloor; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)("bash", ["--norc", "-c", ask, "bash", ...typed]);
  return stdout.split("\n").filter((word) => word !== "");
}

test("every command and option is offered, with its descriptions", () => {
  const paths = commands.map(({ path }) => path);
  expect(paths.slice(0, 2)).toEqual(["noisefloor", "noisefloor start"]);
  for (const path of ["noisefloor keys create", "noisefloor tags import sigma", "noisefloor completion"]) {
    expect(paths).toContain(path);
  }
  const [bash, zsh, fish] = [bashCompletion, zshCompletion, fishCompletion].map((make) => make(commands));
  for (const { path, options } of commands) {
    expect(options.map(({ name }) => name)).toEqual(expect.arrayContaining(["--config", "--help"]));
    for (const script of [bash, zsh]) expect(script).toContain(`'${path}')\n`);
    for (const { name } of options) expect(fish).toContain(`'__noisefloor_is ${path}' -l '${name.slice(2)}'`);
  }
});

/** Commands that print something without `--json`, and why. */
const WITHOUT_JSON: Readonly<Record<string, string>> = {
  "noisefloor start": "a service: it logs JSON",
  "noisefloor ingest": "a service: it logs JSON",
  "noisefloor query": "a service: it logs JSON",
  "noisefloor schema": "prints JSON anyway",
  "noisefloor completion": "prints a script for a shell",
};

test("every command that prints something takes --json", () => {
  // Only "tags import" has an action of its own beside its subcommands.
  const printing = commands.filter(({ commands: below, takesFiles }) => below.length === 0 || takesFiles);
  const lacking = printing.filter(
    ({ options }) => !options.some(({ name, value }) => name === "--json" && value.kind === "none"),
  );
  expect(printing.map(({ path }) => path)).toEqual(expect.arrayContaining(["noisefloor tags import"]));
  expect(lacking.map(({ path }) => path)).toEqual(Object.keys(WITHOUT_JSON));
});

test.each([
  ["noisefloor k", ["keys"]],
  ["noisefloor keys ", ["create", "list", "revoke"]],
  ["noisefloor keys list --j", ["--json"]],
  ["noisefloor --config x.yaml keys l", ["list"]],
  ["noisefloor completion ", ["bash", "zsh", "fish"]],
  ["noisefloor tags import ", ["sigma", "crowdsec"]],
  // Files, which bash itself completes.
  ["noisefloor replay ", []],
  ["noisefloor --config ", []],
  ["noisefloor replay --rate ", []],
])("bash completes %j", async (line, words) => {
  expect(await completeInBash(bashCompletion(commands), line)).toEqual(words);
});

test("no description ends its quote", async () => {
  const hostile = `it's "$(touch /tmp/no)" \`no\` \\ ' ; :`;
  const program = new Command("noisefloor").description(hostile);
  program
    .command("one")
    .description(hostile)
    .addOption(new Option("--kind <name>", hostile).choices(["a", "b-c"]));
  const described = describeCompletion(program);
  expect(await completeInBash(bashCompletion(described), "noisefloor one --kind ")).toEqual(["a", "b-c"]);
  expect(zshCompletion(described)).toContain(`'one:${hostile.replaceAll("'", `'\\''`)}'`);
  expect(fishCompletion(described)).toContain(String.raw`it\'s "$(touch /tmp/no)" ${"`no`"} \\ \' ; :'`);
});
