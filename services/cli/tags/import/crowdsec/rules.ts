import { z } from "zod";
import { ConversionError } from "../imported-rule.ts";
import { type Comparison, MATCH_TYPES, type MatchType } from "./value.ts";
import { type Clause, convertZone } from "./zones.ts";

/** A rule of a file, as it stands there. */
const nodeSchema = z.strictObject({
  name: z.string().optional(),
  and: z.array(z.unknown()).optional(),
  or: z.array(z.unknown()).optional(),
  zones: z.array(z.string()).optional(),
  variables: z.array(z.string()).nullish(),
  transform: z.array(z.string()).nullish(),
  match: z
    .strictObject({
      type: z.string(),
      value: z.union([z.string(), z.number(), z.boolean()]).optional(),
      not: z.boolean().optional(),
    })
    .optional(),
});

/** A rule in ours: clauses of which each or one must hold. */
export type Node =
  | { readonly kind: "any"; readonly clauses: readonly Clause[] }
  | { readonly kind: "and" | "or"; readonly parts: readonly Node[] };

/** What a transformation does that ours do to every text anyway, or do not do. */
const FOLDS_CASE = "lowercase";
const HARMLESS = new Set([FOLDS_CASE, "urldecode"]);

/** @throws ConversionError */
export function convertNode(value: unknown): Node {
  const parsed = nodeSchema.safeParse(value);
  if (!parsed.success) throw new ConversionError(parsed.error.issues.map(({ message }) => message).join("; "));
  const { and, or, zones, variables, transform, match } = parsed.data;
  if (and !== undefined) return { kind: "and", parts: and.map(convertNode) };
  if (or !== undefined) return { kind: "or", parts: or.map(convertNode) };
  if (zones === undefined || zones.length === 0 || match === undefined) {
    throw new ConversionError("a rule has neither and, or, nor zones with a match");
  }
  const comparison = convertMatch(match, transform ?? []);
  const names = variables === null || variables === undefined || variables.length === 0 ? [undefined] : variables;
  return {
    kind: "any",
    clauses: zones.flatMap((zone) => names.map((variable) => convertZone(zone, variable, comparison))),
  };
}

function convertMatch(
  { type, value, not }: NonNullable<z.output<typeof nodeSchema>["match"]>,
  transform: readonly string[],
): Comparison {
  const odd = transform.find((name) => !HARMLESS.has(name));
  if (odd !== undefined) throw new ConversionError(`the transformation ${odd} has no counterpart`);
  if (not === true) throw new ConversionError("match.not has no counterpart");
  if (!isMatchType(type)) throw new ConversionError(`the match ${type} has no counterpart`);
  const text = String(value ?? "");
  if (text === "") throw new ConversionError("a match has an empty value");
  if (/%[0-9a-f]{2}/i.test(text)) throw new ConversionError(`the value ${text} is URL-encoded, and ours are decoded`);
  return { type, value: text, isCased: !transform.includes(FOLDS_CASE) };
}

function isMatchType(text: string): text is MatchType {
  return MATCH_TYPES.some((type) => type === text);
}
