import { parseMatch } from "@noisefloor/ingest/tagging/rule-files/parse-match.ts";
import { readRuleFile } from "@noisefloor/ingest/tagging/rule-files/read-file.ts";
import { parseAllDocuments, stringify } from "yaml";
import type { z } from "zod";
import { exampleOf } from "./example.ts";

/** A file of ours that says the same as another program's rule. */
export type ConvertedRule = { readonly slug: string; readonly text: string };

/** Why a rule cannot be said in ours. */
export class ConversionError extends Error {
  override name = "ConversionError";
}

/**
 * Converts a text of one rule. Nothing is left out: a rule of which a part cannot be said in ours is refused as a whole.
 * @param what the text should be. @param convert may throw a ConversionError.
 * @returns why it is refused.
 */
export function convertRule<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  what: string,
  convert: (rule: z.output<Schema>) => ConvertedRule,
): ConvertedRule | string {
  const [document, ...more] = parseAllDocuments(text);
  if (document === undefined || !("toJS" in document) || more.length > 0) return "takes files of one rule each";
  const [problem] = document.errors;
  if (problem !== undefined) return problem.message;
  const rule = schema.safeParse(document.toJS({ maxAliasCount: 20 }));
  if (!rule.success) {
    return `is no ${what}: ${rule.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")}`;
  }
  try {
    return convert(rule.data);
  } catch (error) {
    if (error instanceof ConversionError) return error.message;
    throw error;
  }
}

type RuleFile = {
  /** The words of the slug, the program's name first. */
  readonly title: string;
  readonly name: string;
  readonly intention: string;
  readonly description: string;
  readonly references: readonly string[];
  readonly cves: readonly string[];
  readonly match: unknown;
};

/** The file of a rule. @throws ConversionError when it would have an error. */
export function toRuleFile({ title, match, ...file }: RuleFile): ConvertedRule {
  const errors: string[] = [];
  const expression = parseMatch(match, { error: (message) => errors.push(message), warning: () => {} });
  if (expression === undefined) throw new ConversionError(errors.join("; "));
  const example = exampleOf(expression);
  if (example === undefined) throw new ConversionError("no example could be made of it");
  const words = title.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const slug = words.join("-").slice(0, 120).replace(/-$/, "");
  const text = stringify({
    slug,
    name: file.name.slice(0, 200),
    category: "activity",
    intention: file.intention,
    description: file.description.slice(0, 4_000),
    references: file.references.filter((reference) => /^https?:\/\//.test(reference) && URL.canParse(reference)),
    cves: file.cves,
    match,
    examples: [example],
  });
  const wrong = readRuleFile(`${slug}.yaml`, text).problems.filter(({ severity }) => severity === "error");
  if (wrong.length > 0) throw new ConversionError(wrong.map(({ message }) => message).join("; "));
  return { slug, text };
}
