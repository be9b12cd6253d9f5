import { z } from "zod";
import { ConversionError, type ConvertedRule, convertRule, toRuleFile } from "../imported-rule.ts";
import { convertDetection } from "./detection.ts";
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

const INTENTIONS: Readonly<Record<string, string>> = { critical: "malicious", high: "malicious", medium: "suspicious" };

/** Converts a Sigma rule about requests to web servers or proxies. @returns why it is refused. */
export function convertSigma(text: string): ConvertedRule | string {
  return convertRule(text, sigmaSchema, "Sigma rule", ({ logsource, detection, ...rule }) => {
    const fields = fieldsOf(logsource);
    if (fields === undefined) {
      const source = [logsource.category, logsource.product, logsource.service].filter((part) => part !== undefined);
      throw new ConversionError(
        `its log source is ${source.join(", ")}; it takes the categories webserver and proxy, and zeek's http`,
      );
    }
    const author = rule.author === undefined ? "" : ` by ${rule.author}`;
    return toRuleFile({
      title: `sigma ${rule.title}`,
      name: rule.title,
      intention: INTENTIONS[rule.level ?? ""] ?? "unknown",
      description: `${rule.description ?? rule.title}\nImported from the Sigma rule ${rule.id ?? rule.title}${author}.`,
      references: rule.references,
      cves: rule.tags.flatMap((tag) => {
        const [, year, number] = /^cve\.(\d{4})[-.](\d{4,})$/i.exec(tag) ?? [];
        return number === undefined ? [] : [`CVE-${year}-${number}`];
      }),
      match: convertDetection(detection, fields),
    });
  });
}
