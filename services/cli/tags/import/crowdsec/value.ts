import { ConversionError } from "../imported-rule.ts";

export const MATCH_TYPES = ["equals", "contains", "startsWith", "endsWith", "regex"] as const;
export type MatchType = (typeof MATCH_TYPES)[number];

/** A comparison of a rule with one value. */
export type Comparison = { readonly type: MatchType; readonly value: string; readonly isCased: boolean };

/** How a value stands inside a longer text: like an argument's in a query. */
export type Frame = {
  /** A regular expression of what stands right before the value. */
  readonly before: string;
  /** The same for what stands right after it. */
  readonly after: string;
  /** The character that ends the value, for a class. */
  readonly end: string;
};

/** The field and the value that compare a whole text. */
export function wholeClause(field: string, { type, value, isCased }: Comparison): readonly [string, string] {
  const cased = isCased ? "|cased" : "";
  switch (type) {
    case "equals":
      return [`${field}${cased}`, value.replaceAll(/[\\*?]/g, "\\$&")];
    case "regex":
      return [`${field}|re${cased}`, value];
    default:
      return [`${field}|${type.toLowerCase()}${cased}`, value];
  }
}

/** A regular expression of a value inside a longer text, which is compared as the whole value would be. */
export function framedRegex({ before, after, end }: Frame, { type, value }: Comparison): string {
  const anything = `[^${end}]*`;
  switch (type) {
    case "equals":
      return `${before}${quote(value)}${after}`;
    case "contains":
      return `${before}${anything}${quote(value)}`;
    case "startsWith":
      return `${before}${quote(value)}`;
    case "endsWith":
      return `${before}${anything}${quote(value)}${after}`;
    case "regex":
      return framePattern({ before, after, end }, value);
  }
}

/** A text as a regular expression of itself. */
export const quote = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");

function framePattern({ before, after, end }: Frame, pattern: string): string {
  const isStart = pattern.startsWith("^");
  const isEnd = /(?<!\\)\$$/.test(pattern);
  const inner = pattern.slice(isStart ? 1 : 0, isEnd ? -1 : undefined);
  const anchors = /(?:^|[^\\[])[\^$]/.test(inner.replaceAll(/\[(?:\\.|[^\]\\])*\]/g, "[]"));
  if (anchors || ((isStart || isEnd) && hasAlternatives(inner))) {
    throw new ConversionError(`the regular expression ${pattern} anchors a part of itself only`);
  }
  return `${before}${isStart ? "" : `[^${end}]*`}(?:${within(inner, end)})${isEnd ? after : ""}`;
}

function hasAlternatives(pattern: string): boolean {
  let text = pattern.replaceAll(/\\./g, "").replaceAll(/\[[^\]]*\]/g, "");
  for (let next = text; ; text = next) {
    next = text.replaceAll(/\([^()]*\)/g, "");
    if (next === text) return text.includes("|");
  }
}

/** The same expression where a dot or a negated class does not run on into what follows the value. */
function within(pattern: string, end: string): string {
  return pattern.replaceAll(/\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\./g, (token) => {
    if (token.startsWith("[^")) return `[^${end}${token.slice(2)}`;
    return token === "." ? `[^${end}]` : token;
  });
}
