import { z } from "zod";
import { ConversionError, type ConvertedRule, convertRule, toRuleFile } from "../imported-rule.ts";
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

/** Converts a rule of CrowdSec's application firewall. @returns why it is refused. */
export function convertCrowdsec(text: string): ConvertedRule | string {
  return convertRule(text, fileSchema, "rule of CrowdSec", ({ rules = [], name, description, labels }) => {
    const [only, ...others] = rules.map(convertNode);
    if (only === undefined) {
      throw new ConversionError("has no rules: it holds directives of another firewall, or data");
    }
    const node: Node = others.length === 0 ? only : { kind: "or", parts: [only, ...others] };
    const isCertain = (labels.confidence ?? 0) >= 3;
    return toRuleFile({
      title: `crowdsec ${name.split("/").at(-1) ?? ""}`,
      name: labels.label ?? description ?? name,
      intention: labels.type === "exploit" && isCertain ? "malicious" : isCertain ? "suspicious" : "unknown",
      description: `${description ?? labels.label ?? name}\nImported from the CrowdSec rule ${name}.`,
      references: labels.references,
      cves: labels.classification.flatMap((one) => /^cve\.(CVE-\d{4}-\d{4,})$/i.exec(one)?.[1]?.toUpperCase() ?? []),
      match: toMatch(node),
    });
  });
}

/** One map when all clauses are of different fields; else each clause is a selection, and a condition joins them. */
function toMatch(node: Node): unknown {
  const parts = node.kind === "and" ? node.parts : [node];
  const single = parts.flatMap((part) => (part.kind === "any" && part.clauses.length === 1 ? part.clauses : []));
  const keys = new Set(single.map(({ key }) => key));
  if (single.length === parts.length && keys.size === single.length) {
    return Object.fromEntries(single.map(({ key, values }) => [key, unlisted(values)]));
  }
  const selections: Record<string, unknown> = {};
  const name = (part: Node): string => {
    if (part.kind !== "any") return `(${part.parts.map(name).join(` ${part.kind} `)})`;
    const selection = `part_${Object.keys(selections).length + 1}`;
    const maps = part.clauses.map(({ key, values }) => ({ [key]: unlisted(values) }));
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

const unlisted = (values: readonly string[]) => (values.length === 1 ? values[0] : values);
