import type { ParsedTag } from "@noisefloor/ingest/tagging/rule-files/parse-tag.ts";
import { stringify } from "yaml";

/** Of our rules the longest has a fortieth of it. Pages show the text as a whole. */
const MAX_LENGTH = 32_768;

/** What the rule of each tag matches, by slug, as YAML. Of two with a slug the later one counts. */
export function ruleTexts(tags: readonly ParsedTag[]): Map<string, string> {
  const withRules = new Map(tags.map((tag) => [tag.entry.slug, tag]));
  return new Map(
    [...withRules].flatMap(([slug, { rule, match }]) => (rule === undefined ? [] : [[slug, textOf(match)] as const])),
  );
}

function textOf(match: unknown): string {
  const text = stringify(match, { lineWidth: 100 });
  if (text.length <= MAX_LENGTH) return text;
  const kept = text.slice(0, text.lastIndexOf("\n", MAX_LENGTH) + 1);
  return `${kept}# and ${text.length - kept.length} more characters\n`;
}
