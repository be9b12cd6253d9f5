import { parseAllDocuments, stringify } from "yaml";
import { z } from "zod";
import { parseMatch } from "../rule-files/parse-match.ts";
import { readRuleFile } from "../rule-files/read-file.ts";
import { convertDetection, SigmaError } from "./detection.ts";
import { exampleOf } from "./example.ts";
import { fieldsOf } from "./fields.ts";

const sigmaSchema = z.object({
  title: z.string().min(1),
  id: z.string().optional(),
  description: z.string().optional(),
  author: z.string().optional(),
  references: z.array(z.string()).default([]),
  tags: z.array(z.string()).default([]),
  level: z.string().optional(),
  logsource: z.object({
    category: z.string().optional(),
    product: z.string().optional(),
    service: z.string().optional(),
  }),
  detection: z.record(z.string(), z.unknown()),
});

/** A file of ours that says the same as a Sigma rule. */
export type ConvertedRule = { readonly slug: string; readonly text: string };

/**
 * Converts a Sigma rule about requests to web servers or proxies. Nothing is left out: a rule of which a part cannot be
 * said in ours is refused as a whole.
 * @returns why it is refused.
 */
export function convertSigma(text: string): ConvertedRule | string {
  const [document, ...more] = parseAllDocuments(text);
  if (document === undefined || !("toJS" in document) || more.length > 0) return "takes files of one rule each";
  const [problem] = document.errors;
  if (problem !== undefined) return problem.message;
  const rule = sigmaSchema.safeParse(document.toJS({ maxAliasCount: 20 }));
  if (!rule.success) {
    return `is no Sigma rule: ${rule.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")}`;
  }
  const { logsource, detection } = rule.data;
  const fields = fieldsOf(logsource);
  if (fields === undefined) {
    const named = [logsource.category, logsource.product, logsource.service].filter((part) => part !== undefined);
    return `its log source is ${named.join(", ")}; it takes the categories webserver and proxy, and zeek's http`;
  }
  try {
    return toRule(rule.data, convertDetection(detection, fields));
  } catch (error) {
    if (error instanceof SigmaError) return error.message;
    throw error;
  }
}

const INTENTIONS: Readonly<Record<string, string>> = { critical: "malicious", high: "malicious", medium: "suspicious" };

function toRule(rule: z.output<typeof sigmaSchema>, match: unknown): ConvertedRule | string {
  const errors: string[] = [];
  const expression = parseMatch(match, { error: (message) => errors.push(message), warning: () => {} });
  if (expression === undefined) return errors.join("; ");
  const example = exampleOf(expression);
  if (example === undefined) return "no example could be made of it";
  const words = rule.title.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const slug = ["sigma", ...words].join("-").slice(0, 120).replace(/-$/, "");
  const origin = `Imported from the Sigma rule ${rule.id ?? rule.title}${rule.author === undefined ? "" : ` by ${rule.author}`}.`;
  const text = stringify({
    slug,
    name: rule.title.slice(0, 200),
    category: "activity",
    intention: INTENTIONS[rule.level ?? ""] ?? "unknown",
    description: `${rule.description ?? rule.title}\n${origin}`.slice(0, 4_000),
    references: rule.references.filter((reference) => /^https?:\/\//.test(reference) && URL.canParse(reference)),
    cves: rule.tags.flatMap((tag) => {
      const [, year, number] = /^cve\.(\d{4})[-.](\d{4,})$/i.exec(tag) ?? [];
      return number === undefined ? [] : [`CVE-${year}-${number}`];
    }),
    match,
    examples: [example],
  });
  const wrong = readRuleFile(`${slug}.yaml`, text).problems.filter(({ severity }) => severity === "error");
  return wrong.length === 0 ? { slug, text } : wrong.map(({ message }) => message).join("; ");
}
