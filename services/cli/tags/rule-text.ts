import type { ParsedTag } from "@noisefloor/ingest/tagging/rule-files/parse-tag.ts";
import { stringify } from "yaml";

/** Of our rules the longest has a fortieth of it. Pages show the text as a whole. */
const MAX_LENGTH = 32_768;

/** What the rule of each tag matches, by slug, as YAML. Of two with a slug the later one counts. */
export function ruleTexts(tags: readonly ParsedTag[]): Map<string, string> {
  const withRules = new Map(tags.map((tag) => [tag.entry.slug, tag]));
  return new Map(
    [...withRules].flatMap(([slug, tag]) => (tag.rule === undefined ? [] : [[slug, textOf(tag)] as const])),
  );
}

/** Tags of files that have not changed stay the same objects, and need to be written only once. */
const known = new WeakMap<ParsedTag, string>();

function textOf(tag: ParsedTag): string {
  const text = known.get(tag) ?? shorten(stringify(tag.match, { lineWidth: 100 }));
  known.set(tag, text);
  return text;
}

function shorten(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  const kept = text.slice(0, text.lastIndexOf("\n", MAX_LENGTH) + 1);
  return `${kept}# and ${text.length - kept.length} more characters\n`;
}
