import type { TaggingRule } from "@noisefloor/ingest/tagging/rule.ts";
import type { ParsedTag } from "@noisefloor/ingest/tagging/rule-files/parse-tag.ts";
import type { Trace } from "@noisefloor/ingest/tagging/trace.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { type OutputOptions, printable } from "../../framework/output.ts";

/** @throws UserError when no file without errors has a rule for the tag. */
export function findRule(slug: string, tags: readonly ParsedTag[]): TaggingRule {
  const tag = tags.find(({ entry }) => entry.slug === slug);
  if (tag?.rule !== undefined) return tag.rule;
  throw new UserError(
    tag === undefined
      ? `no file has the tag "${printable(slug)}" without an error: see "noisefloor tags lint"`
      : `the tag ${slug} has no rule: only senders give it`,
  );
}

/** Shows each clause of a rule, whether it holds, and what the observation has in its field. */
export function showTrace(slug: string, trace: Trace, { json }: OutputOptions, { print }: CommandContext): void {
  if (json) {
    print(JSON.stringify({ slug, matches: trace.holds, rule: trace }));
    return;
  }
  print(`${slug}: ${trace.holds ? "matches" : "does not match"}`);
  const parts = trace.kind === "and" ? trace.parts : [trace];
  for (const line of parts.flatMap((part) => formatTrace(part, "  "))) print(printable(line));
}

const GROUPS = { and: "all of these:", or: "one of these:", not: "not this:" } as const;

function formatTrace(trace: Trace, indent: string): string[] {
  const mark = `${indent}${trace.holds ? "holds  " : "missing"}  `;
  if (trace.kind !== "clause") {
    return [`${mark}${GROUPS[trace.kind]}`, ...trace.parts.flatMap((part) => formatTrace(part, `${indent}  `))];
  }
  const { key, values, found } = trace;
  const has = found.length === 0 ? "none" : formatList(found);
  return [`${mark}${key}: ${formatList(values)}; the observation has ${has}`];
}

/** A rule may have hundreds of values. */
const MAX_VALUES = 5;

export function formatList(values: readonly string[]): string {
  const more = values.length > MAX_VALUES ? ` and ${values.length - MAX_VALUES} more` : "";
  return `${values
    .slice(0, MAX_VALUES)
    .map((value) => JSON.stringify(value))
    .join(", ")}${more}`;
}
