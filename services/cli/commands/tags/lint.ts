import { relative } from "node:path";
import type { RuleProblem } from "@noisefloor/ingest/tagging/rule.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { type OutputOptions, printable } from "../../framework/output.ts";
import { lintRules } from "./rule-folders.ts";

/** `noisefloor tags lint`. @throws UserError when a file has an error. */
export async function runTagsLint(
  folders: readonly string[],
  context: CommandContext,
  { json }: Partial<OutputOptions> = {},
): Promise<void> {
  const { print } = context;
  const { files, tags, problems } = await lintRules(folders, context);
  const warnings = problems.filter(({ severity }) => severity === "warning");
  const errors = problems.filter(({ severity }) => severity === "error");
  const rules = tags.filter(({ rule }) => rule !== undefined);
  const counts = {
    ...{ files, tags: tags.length, rules: rules.length },
    ...{ warnings: warnings.length, errors: errors.length },
  };
  if (json) print(JSON.stringify({ ...counts, problems: problems.map(problemToJson) }));
  else {
    for (const problem of [...warnings, ...errors]) print(formatProblem(problem));
    if (problems.length > 0) print();
    for (const [name, count] of Object.entries(counts)) print(`${name.padEnd(8)}  ${count}`);
  }
  if (errors.length > 0) throw new UserError(`the files have ${errors.length} errors, listed above`);
}

/** `noisefloor tags test`. @throws UserError when an example fails, or a file has an error. */
export async function runTagsTest(
  folders: readonly string[],
  context: CommandContext,
  { json }: Partial<OutputOptions> = {},
): Promise<void> {
  const { print } = context;
  const { tags, problems } = await lintRules(folders, context);
  const errors = problems.filter(({ severity }) => severity === "error");
  const rules = tags.flatMap(({ rule }) => rule ?? []);
  const counts = {
    rules: rules.length,
    examples: rules.reduce((sum, { examples }) => sum + examples.length, 0),
    counterexamples: rules.reduce((sum, { counterexamples }) => sum + counterexamples.length, 0),
  };
  if (json) print(JSON.stringify({ ...counts, errors: errors.length, problems: errors.map(problemToJson) }));
  else {
    for (const error of errors) print(formatProblem(error));
    for (const [name, count] of Object.entries(counts)) print(`${name.padEnd(15)}  ${count}`);
  }
  if (errors.length > 0) throw new UserError(`the files have ${errors.length} errors, listed above`);
}

const problemToJson = ({ file, severity, message }: RuleProblem) => ({
  file: relative(process.cwd(), file),
  severity,
  message,
});

function formatProblem(problem: RuleProblem): string {
  const { file, severity, message } = problemToJson(problem);
  return printable(`${severity.padEnd(7)}  ${file}: ${message}`);
}
