import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { ALL_SCENARIOS } from "../soak/all.ts";
import { readSoakOptions } from "../soak/options.ts";
import { listDocuments, readItems, readSpans, readText, splitDocument } from "./documents.ts";
import { type ParsedCommands, parseCommands } from "./parse-commands.ts";

/** A command line in a document. Within a sentence it may leave out required arguments. */
type Line = { readonly document: string; readonly text: string; readonly isWhole: boolean };

/** The ways in which documents call the command line, each followed by its arguments. */
const CALLS = [
  /^(?:.*\s)?\.\/noisefloor (.+)$/,
  /^noisefloor (.+)$/,
  /\/noisefloor\.js (.+)$/,
  /^docker compose run --rm migrate (.+)$/,
  /^npm (start(?: -- .+)?)$/,
];
const NPM_SCRIPT = /^npm (?:run )?([a-z][a-z:-]*)(?: -- (.+))?$/;

let lines: readonly Line[];
let checked: ParsedCommands;

function argumentsIn({ text: line }: Line): string[] | undefined {
  const given = CALLS.map((call) => call.exec(line)?.[1]).find((found) => found !== undefined);
  // Without what the shell does with the output.
  const words = given
    ?.replace(/ [>|] .*$/, "")
    .match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)
    ?.map((word) => word.replaceAll(/["']/g, ""));
  return words?.filter((word) => word !== "--");
}

beforeAll(async () => {
  const found: Line[] = [];
  for (const document of await listDocuments()) {
    const { code, prose } = splitDocument(await readText(document));
    const add = (isWhole: boolean) => (line: string) =>
      found.push({ document, text: line.replace(/\s+#.*$/, "").trim(), isWhole });
    code.forEach(add(true));
    readSpans(prose).forEach(add(false));
  }
  lines = found;
  const args = lines.map((line) => argumentsIn(line) ?? ["--help"]);
  checked = await parseCommands(args);
  // Loading every command takes seconds, many more on a busy machine.
}, 60_000);

test("every command in the documents exists, with its options and arguments", () => {
  const commands = lines.filter((line) => argumentsIn(line) !== undefined);
  expect(commands.length).toBeGreaterThan(50);
  // An argument takes certain words; a placeholder such as SHELL is not among them.
  const incomplete = ["help", "missingArgument", "invalidArgument", "missingMandatoryOptionValue"].map(
    (code) => `commander.${code}`,
  );
  const wrong = lines
    .map((line, index) => ({ ...line, problem: checked.problems[index] ?? "" }))
    .filter(({ isWhole, problem }) => problem !== "" && (isWhole || !incomplete.includes(problem)));
  expect(wrong).toEqual([]);
});

test("no document has npm fetch a package of another's, and a line to copy names the command of the checkout", () => {
  const fetching = lines.filter(({ text }) => /\bnp(?:x|m exec)\b.*\bnoisefloor\b/.test(text));
  const elsewhere = lines.filter(({ text, isWhole }) => isWhole && /^noisefloor /.test(text));
  expect([...fetching, ...elsewhere]).toEqual([]);
});

test("docs/cli.md has every command with every option, and no other", async () => {
  const items = readItems(await readText("docs/cli.md")).map(({ item }) => item);
  const sections = items.filter((item) => item.startsWith("`noisefloor "));
  const everywhere = ["--json", "--reason", "--source", "--since", "--before", "--origin", "--key", "--url"];
  const documented = sections.map((row) => {
    const name = /^`(noisefloor(?: [a-z-]+)+)/.exec(row)?.[1] ?? row;
    const options = [...row.matchAll(/`(--[a-z-]+)`/g)].flatMap(([, option]) => option ?? []);
    return [name, options.filter((option) => !everywhere.includes(option)).toSorted()] as const;
  });
  const defined = Object.entries(checked.options).map(([name, options]) => {
    return [name, options.filter((option) => !everywhere.includes(option)).toSorted()] as const;
  });
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(defined));
});

test("every npm script in the documents exists, and takes its options", async () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(await readText("package.json")));
  const calls = lines.map((line) => NPM_SCRIPT.exec(line.text)).filter((call) => call !== null);
  expect(calls.length).toBeGreaterThan(10);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining([...new Set(calls.map(([, script]) => script))]));
  const known = ALL_SCENARIOS.map(({ name }) => name);
  const soaks = calls.flatMap(([, script, given]) => (script === "soak" && given ? [given.split(" ")] : []));
  expect(soaks.length).toBeGreaterThan(2);
  for (const given of soaks) expect(readSoakOptions(given, known).scenarios.length).toBeGreaterThan(0);
  expect(() => readSoakOptions(["--only", "none"], known)).toThrow("there is no scenario none;");
});
