import { relative } from "node:path";
import type { RuleProblem } from "@noisefloor/ingest/tagging/rule.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { printable } from "../../framework/output.ts";
import { lintRules } from "./rule-folders.ts";

/** `noisefloor tags lint`. @throws UserError when a file has an error. */
export async function runTagsLint(folders: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const { files, tags, problems } = await lintRules(folders, context);
  const warnings = problems.filter(({ severity }) => severity === "warning");
  const errors = problems.filter(({ severity }) => severity === "error");
  for (const problem of [...warnings, ...errors]) print(formatProblem(problem));
  if (problems.length > 0) print();
  print(`files     ${files}`);
  print(`tags      ${tags.length}`);
  print(`rules     ${tags.filter(({ rule }) => rule !== undefined).length}`);
  print(`warnings  ${warnings.length}`);
  print(`errors    ${errors.length}`);
  if (errors.length > 0) throw new UserError(`the files have ${errors.length} errors, listed above`);
}

/** `noisefloor tags test`. @throws UserError when an example fails, or a file has an error. */
export async function runTagsTest(folders: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const { tags, problems } = await lintRules(folders, context);
  const errors = problems.filter(({ severity }) => severity === "error");
  for (const error of errors) print(formatProblem(error));
  const rules = tags.flatMap(({ rule }) => rule ?? []);
  print(`rules            ${rules.length}`);
  print(`examples         ${rules.reduce((sum, { examples }) => sum + examples.length, 0)}`);
  print(`counterexamples  ${rules.reduce((sum, { counterexamples }) => sum + counterexamples.length, 0)}`);
  if (errors.length > 0) throw new UserError(`the files have ${errors.length} errors, listed above`);
}

function formatProblem({ file, severity, message }: RuleProblem): string {
  return printable(`${severity.padEnd(7)}  ${relative(process.cwd(), file)}: ${message}`);
}
