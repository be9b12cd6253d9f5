import { formatIssue } from "@noisefloor/domain/observation/format-issue.ts";
import type { WireObservation } from "@noisefloor/domain/observation/schema.ts";
import { slugSchema, tagSchema } from "@noisefloor/domain/tags/tag.ts";
import { z } from "zod";
import { holds } from "../holds.ts";
import { toEvent } from "../matching/event.ts";
import type { Expression, TaggingRule } from "../rule.ts";
import { toObservation } from "./example.ts";
import { parseMatch } from "./parse-match.ts";
import type { Report } from "./report.ts";

export const TAG_CATEGORIES = ["activity", "tool", "worm", "actor", "search_engine"] as const;

const MAX_EXAMPLES = 200;
const url = z.url({ protocol: /^https?$/, error: "takes http and https URLs" });

/** A tag of a file: what GET /v3/tags says of it, and its rule. */
const tagFileSchema = z.strictObject({
  id: tagSchema.shape.id.optional(),
  label: tagSchema.shape.label.optional(),
  slug: slugSchema,
  name: tagSchema.shape.name,
  category: z.enum(TAG_CATEGORIES),
  intention: tagSchema.shape.intention,
  description: tagSchema.shape.description.min(1),
  references: z.array(url).max(100).optional(),
  cves: tagSchema.shape.cves.optional(),
  recommend_block: tagSchema.shape.recommend_block.optional(),
  related: z.array(slugSchema).max(200).optional(),
  created_at: tagSchema.shape.created_at.optional(),
  match: z.unknown().optional(),
  examples: z.array(z.unknown()).max(MAX_EXAMPLES).optional(),
  counterexamples: z.array(z.unknown()).max(MAX_EXAMPLES).optional(),
});

/** The members of a tag that the catalogue has. */
export type TagEntry = Omit<z.output<typeof tagFileSchema>, "match" | "examples" | "counterexamples">;

/**
 * Whether examples are read and tried. Those of the rules that come with Noisefloor are tried by its tests, and a start
 * need not wait a second for them.
 */
export type ExampleCheck = "checked" | "skipped";

/** A tag without a rule comes from senders only. */
export type ParsedTag = {
  readonly entry: TagEntry;
  readonly rule: TaggingRule | undefined;
  /** What the file says that the rule matches. */
  readonly match?: unknown;
};

/** What belongs to the rule, of a tag of which other members may be wrong. */
const ruleSchema = tagFileSchema.pick({ match: true, examples: true, counterexamples: true }).extend({
  examples: z.array(z.unknown()).optional().catch(undefined),
  counterexamples: z.array(z.unknown()).optional().catch(undefined),
});

/**
 * Reads one tag of a file, and reports everything that is wrong with it. Nothing of a tag is used of which an error was
 * reported.
 */
export function parseTag(value: unknown, report: Report, examplesAre: ExampleCheck): ParsedTag | undefined {
  const parsed = tagFileSchema.safeParse(value, { error: formatIssue });
  for (const issue of parsed.error?.issues ?? []) report.error(describeIssue(issue));
  const members = ruleSchema.loose().safeParse(value).data ?? {};
  const rule = parseRule(members, report, examplesAre);
  if (!parsed.success) return undefined;
  const { match, examples: _examples, counterexamples: _counterexamples, ...entry } = parsed.data;
  if (match === undefined) return { entry, rule: undefined };
  return rule && { entry, match, rule: { slug: entry.slug, ...rule } };
}

/** @returns undefined without a rule, and when it cannot be used. */
function parseRule(
  { match, examples, counterexamples }: Partial<z.output<typeof ruleSchema>>,
  report: Report,
  examplesAre: ExampleCheck,
): Omit<TaggingRule, "slug"> | undefined {
  if (match === undefined && examples === undefined && counterexamples === undefined) return undefined;
  if (match === undefined) report.error("has examples, but no match: a rule needs both");
  const expression = match === undefined ? undefined : parseMatch(match, report);
  if (examplesAre === "skipped") return expression && { match: expression, examples: [], counterexamples: [] };
  const good = parseExamples("examples", examples ?? [], report);
  const bad = parseExamples("counterexamples", counterexamples ?? [], report);
  if (good.length === 0 && (examples ?? []).length === 0) report.error("examples: a rule needs at least one");
  if (bad.length === 0) report.warning("counterexamples: the rule has none");
  if (expression === undefined) return undefined;
  if (holds(expression, toEvent({}))) {
    report.error("match: it holds of an observation that says nothing, so nearly all would get the tag");
  }
  checkExamples(expression, good, bad, report);
  const observations = (list: readonly Example[]) => list.map(({ observation }) => observation);
  return { match: expression, examples: observations(good), counterexamples: observations(bad) };
}

type Example = { readonly name: string; readonly observation: WireObservation; readonly text: string };

function parseExamples(list: string, values: readonly unknown[], report: Report): Example[] {
  return values.flatMap((value, index) => {
    const name = `${list}[${index + 1}]`;
    const observation = toObservation(value);
    if (typeof observation !== "string") return { name, observation, text: JSON.stringify(value).slice(0, 200) };
    report.error(`${name}: ${observation}`);
    return [];
  });
}

function checkExamples(match: Expression, good: readonly Example[], bad: readonly Example[], report: Report): void {
  for (const { name, observation, text } of good) {
    if (!holds(match, toEvent(observation))) report.error(`${name}: the rule does not match ${text}`);
  }
  for (const { name, observation, text } of bad) {
    if (holds(match, toEvent(observation))) report.error(`${name}: the rule matches ${text}, which it must not`);
  }
}

const MEMBERS = Object.keys(tagFileSchema.shape).join(", ");

function describeIssue(issue: z.core.$ZodIssue): string {
  if (issue.code === "unrecognized_keys") return `${issue.message}; a tag has ${MEMBERS}`;
  return `${issue.path.length === 0 ? "the tag" : issue.path.join(".")}: ${issue.message}`;
}
