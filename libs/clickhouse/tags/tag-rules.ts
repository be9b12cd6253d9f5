import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery } from "../client/query.ts";
import { defineRecords } from "../records/define-records.ts";

const ruleSchema = z.object({ slug: z.string(), rule: z.string() });

export const tagRules = defineRecords({
  table: "tag_rules",
  row: ruleSchema,
  id: "slug",
  forget: { afterDays: 90 },
});

/** The rule of a tag as YAML, for people to read; no row when it has none. */
export const ruleOfTag = defineQuery({
  name: "tag-rule",
  sql: "SELECT slug, rule FROM tag_rules FINAL WHERE slug = {slug:String}",
  params: z.object({ slug: z.string() }),
  row: ruleSchema,
});

/**
 * Makes these the rules of all tags, by slug. Writes only what changes.
 * @param now milliseconds since 1970 UTC.
 */
export async function replaceTagRules(
  client: ClickHouseClient,
  rules: ReadonlyMap<string, string>,
  now: number,
): Promise<void> {
  const stored = await tagRules.read(client);
  const current = new Map(stored.map(({ slug, rule }) => [slug, rule]));
  const all = Array.from(rules, ([slug, rule]) => ({ slug, rule }));
  const changed = all.filter(({ slug, rule }) => current.get(slug) !== rule);
  await tagRules.write(client, changed, now);
  const gone = stored.filter(({ slug }) => !rules.has(slug));
  await tagRules.delete(client, gone, now);
}
