import { DEFAULT_PLANS, planSchema } from "@noisefloor/domain/access/plan.ts";
import { formatIssue } from "@noisefloor/domain/observation/format-issue.ts";
import { z } from "zod";

const TAKES = 'takes JSON like {"standard":{"lookups_per_day":10000,"reach_days":30}}';

/** Plans as a JSON object by name; default plans that it does not name stay as they are. */
export function plans() {
  return z
    .string()
    .transform((text, context) => {
      const parsed = z.record(z.string(), planSchema).safeParse(parseJson(text), { error: formatIssue });
      if (parsed.success) return new Map([...DEFAULT_PLANS, ...Object.entries(parsed.data)]);
      const errors = parsed.error.issues.map(({ path, message }) => `${path.join(".")} ${message}`.trim());
      const isObject = parsed.error.issues.every(({ path }) => path.length > 0);
      context.addIssue(isObject ? `${TAKES}: ${errors.join("; ")}` : TAKES);
      return z.NEVER;
    })
    .default(new Map(DEFAULT_PLANS));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
