import { parseAllDocuments, stringify } from "yaml";
import { z } from "zod";
import { parseMatch } from "../rule-files/parse-match.ts";
import { readRuleFile } from "../rule-files/read-file.ts";
import { CrowdsecError } from "./error.ts";
import { exampleOf } from "./example.ts";
import { convertNode, type Node } from "./rules.ts";

const fileSchema = z.object({
  name: z.string().min(1),
  description: z.string().optional(),
  rules: z.array(z.unknown()).optional(),
  references: z.array(z.string()).optional(),
  labels: z
    .object({
      type: z.string().optional(),
      confidence: z.number().optional(),
      label: z.string().optional(),
      classification: z.array(z.string()).default([]),
      references: z.array(z.string()).default([]),
    })
    .default({ classification: [], references: [] }),
});

/** A file of ours that says the same as a rule of CrowdSec's application firewall. */
export type ConvertedRule = { readonly slug: string; readonly text: string };

/**
 * Converts a rule of CrowdSec's application firewall. Nothing is left out: a rule of which a part cannot be said in
 * ours is refused as a whole.
 * @returns why it is refused.
 */
export function convertCrowdsec(text: string): ConvertedRule | string {
  const [document, ...more] = parseAllDocuments(text);
  if (document === undefined || !("toJS" in document) || more.length > 0) return "takes files of one rule each";
  const [problem] = document.errors;
  if (problem !== undefined) return problem.message;
  const file = fileSchema.safeParse(document.toJS({ maxAliasCount: 20 }));
  if (!file.success) {
    const problems = file.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    return `is no rule of CrowdSec: ${problems.join("; ")}`;
  }
  const { rules } = file.data;
  if (rules === undefined || rules.length === 0)
    return "has no rules: it holds directives of another firewall, or data";
  try {
    const [only, ...others] = rules.map(convertNode);
    if (only === undefined) return "has no rules";
    return toRule(file.data, others.length === 0 ? only : { kind: "or", parts: [only, ...others] });
  } catch (error) {
    if (error instanceof CrowdsecError) return error.message;
    throw error;
  }
}

function toRule({ name, description, labels }: z.output<typeof fileSchema>, node: Node): ConvertedRule | string {
  const match = toMatch(node);
  const errors: string[] = [];
  if (parseMatch(match, { error: (message) => errors.push(message), warning: () => {} }) === undefined) {
    return errors.join("; ");
  }
  const words =
    name
      .split("/")
      .at(-1)
      ?.toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const slug = ["crowdsec", ...words].join("-").slice(0, 120).replace(/-$/, "");
  const isCertain = (labels.confidence ?? 0) >= 3;
  const text = stringify({
    slug,
    name: (labels.label ?? description ?? name).slice(0, 200),
    category: "activity",
    intention: labels.type === "exploit" && isCertain ? "malicious" : isCertain ? "suspicious" : "unknown",
    description: `${description ?? labels.label ?? name}\nImported from the CrowdSec rule ${name}.`.slice(0, 4_000),
    references: labels.references.filter((reference) => /^https?:\/\//.test(reference) && URL.canParse(reference)),
    cves: labels.classification.flatMap((one) => /^cve\.(CVE-\d{4}-\d{4,})$/i.exec(one)?.[1]?.toUpperCase() ?? []),
    match,
    examples: [exampleOf(node)],
  });
  const wrong = readRuleFile(`${slug}.yaml`, text).problems.filter(({ severity }) => severity === "error");
  return wrong.length === 0 ? { slug, text } : wrong.map(({ message }) => message).join("; ");
}

/** One map when all clauses are of different fields; else each clause is a selection, and a condition joins them. */
function toMatch(node: Node): unknown {
  const parts = node.kind === "and" ? node.parts : [node];
  const single = parts.flatMap((part) => (part.kind === "any" && part.clauses.length === 1 ? part.clauses : []));
  const keys = new Set(single.map(({ key }) => key));
  if (single.length === parts.length && keys.size === single.length) {
    return Object.fromEntries(single.map(({ key, values }) => [key, one(values)]));
  }
  const selections: Record<string, unknown> = {};
  const name = (part: Node): string => {
    if (part.kind !== "any") return `(${part.parts.map(name).join(` ${part.kind} `)})`;
    const selection = `part_${Object.keys(selections).length + 1}`;
    const maps = part.clauses.map(({ key, values }) => ({ [key]: one(values) }));
    selections[selection] = maps.length === 1 ? maps[0] : maps;
    return selection;
  };
  const condition = name(node).replace(/^\((.*)\)$/s, (whole, inner: string) => (isBalanced(inner) ? inner : whole));
  return { condition, ...selections };
}

/** Whether the brackets around a text belong together. */
function isBalanced(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === "(") depth++;
    if (character === ")" && --depth < 0) return false;
  }
  return depth === 0;
}

const one = (values: readonly string[]) => (values.length === 1 ? values[0] : values);
