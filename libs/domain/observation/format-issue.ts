import type { z } from "zod";

const NOUNS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
};

/**
 * Formats what is wrong with a value: the `error` option of a schema's parse. Error responses and dead letters quote
 * the text, so it must not depend on zod's wording. A check with a message of its own keeps that message.
 */
export function formatIssue(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${NOUNS[issue.expected] ?? issue.expected}`;
    case "too_big":
      return `must ${formatLimit("at most", Number(issue.maximum), issue.origin)}`;
    case "too_small":
      return `must ${formatLimit("at least", Number(issue.minimum), issue.origin)}`;
    case "invalid_value":
      return `must be one of ${issue.values.join(", ")}`;
    case "unrecognized_keys":
      return `has unknown members: ${issue.keys.map((name) => `"${name}"`).join(", ")}`;
    default:
      return "does not match the schema";
  }
}

function formatLimit(limit: "at most" | "at least", of: number, origin: string): string {
  if (origin === "string") return `have ${limit} ${of} ${of === 1 ? "character" : "characters"}`;
  if (origin === "array") return `have ${limit} ${of} ${of === 1 ? "entry" : "entries"}`;
  return `be ${limit} ${of}`;
}
