import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { replaceRows } from "../records/replace-rows.ts";

const allRules = defineQuery({
  name: "all-tag-rules",
  sql: "SELECT slug, rule FROM tag_rules FINAL WHERE rule != ''",
  params: z.object({}),
  row: z.object({ slug: z.string(), rule: z.string() }),
});

/** The rule of a tag as YAML, for people to read; no row when it has none. */
export const ruleOfTag = defineQuery({
  name: "tag-rule",
  sql: "SELECT rule FROM tag_rules FINAL WHERE slug = {slug:String} AND rule != ''",
  params: z.object({ slug: z.string() }),
  row: z.object({ rule: z.string() }),
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
  const known = new Map((await run(client, allRules, {})).map(({ slug, rule }) => [slug, rule]));
  const changed = [...rules].filter(([slug, rule]) => known.get(slug) !== rule);
  const gone = [...known.keys()].filter((slug) => !rules.has(slug));
  const rows = [...changed, ...gone.map((slug) => [slug, ""] as const)].map(([slug, rule]) => ({ slug, rule }));
  await replaceRows(client, { table: "tag_rules", idColumn: "slug", rows }, now);
}
