import type { z } from "zod";

const NOUNS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/**
 * What is wrong with a value, in words of ours: answers and dead letters quote it, and what a library calls things must
 * not become part of them. To be handed to a schema's parse; a check that brings its own message keeps that.
 */
export function inOurWords(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${NOUNS[issue.expected] ?? issue.expected}`;
    case "too_big":
      return `must ${amount("at most", Number(issue.maximum), issue.origin)}`;
    case "too_small":
      return `must ${amount("at least", Number(issue.minimum), issue.origin)}`;
    case "invalid_value":
      return `must be one of ${issue.values.join(", ")}`;
    case "unrecognized_keys":
      return `has no place for ${issue.keys.map((name) => `"${name}"`).join(", ")}`;
    default:
      return "is not as the schema says";
  }
}

function amount(limit: "at most" | "at least", of: number, origin: string): string {
  if (origin === "string") return `have ${limit} ${of} ${of === 1 ? "character" : "characters"}`;
  if (origin === "array") return `have ${limit} ${of} ${of === 1 ? "entry" : "entries"}`;
  return `be ${limit} ${of}`;
}
