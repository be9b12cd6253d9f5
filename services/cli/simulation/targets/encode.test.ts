import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { valueWriter } from "@noisefloor/clickhouse/client/value-writer.ts";
import { tagIdFromSlug } from "@noisefloor/domain/tags/tag.ts";
import { openEnricher } from "@noisefloor/ingest/rows/enrichment/open-enricher.ts";
import { makeRows } from "@noisefloor/ingest/rows/make-rows.ts";
import { writeRow } from "@noisefloor/ingest/store/columns.ts";
import { assignTags } from "@noisefloor/ingest/tagging/assign-tags.ts";
import { createTagger } from "@noisefloor/ingest/tagging/compiled/tagger.ts";
import type { TaggingRule } from "@noisefloor/ingest/tagging/rule.ts";
import { readFolder } from "@noisefloor/ingest/tagging/rule-files/lint.ts";
import { parseMatch } from "@noisefloor/ingest/tagging/rule-files/parse-match.ts";
import { expect, test } from "vitest";
import { noTags } from "../../../../test/support/ingest/no-tags.ts";
import { STARTER_FOLDER } from "../../reference/starter-tags.ts";
import { toObservation } from "../observation.ts";
import { openInternet } from "../open.ts";
import { type SimulatedInternet, simulate } from "../simulate.ts";
import { simulatedEncoder } from "./encode.ts";

const NOW = Date.parse("2026-11-20T14:23:45Z");
/** Enough for several rows of each kind of source. */
const PER_DAY = 800;

const databases = await openEnricher({ mmdbPaths: [], log: { warn: () => {} } });
const internet = await openInternet({ seed: 3, sources: 500, databases });
const starterRules = (await readFolder(STARTER_FOLDER)).flatMap((file) => file.tags.flatMap(({ rule }) => rule ?? []));

function ruleOf(slug: string, match: unknown): TaggingRule {
  const expression = parseMatch(match, { error: () => {}, warning: () => {} });
  if (expression === undefined) throw new Error(`the rule ${slug} is wrong`);
  return { slug, match: expression, examples: [], counterexamples: [] };
}

const tagOf = (slug: string) => ({
  ...{ id: tagIdFromSlug(slug), label: "", slug, name: slug, category: "activity", intention: "unknown" as const },
  ...{ description: "", references: [], recommend_block: false, cves: [], related: [] },
  ...{ created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z" },
});
const catalogue: TagCatalogue = { ...noTags, resolve: tagOf };

/** The bytes of the rows that the intake makes of what the sensors send. */
async function usualBytes(from: SimulatedInternet, rules: readonly TaggingRule[], perDay: number) {
  const tagger = createTagger(rules);
  const accepted = simulated(from, perDay).map((one) => {
    const valid = toObservation(from, one);
    const tagIds = valid.observation.tags.map(tagIdFromSlug);
    return { record: { bytes: Buffer.alloc(0), fallbackId: "" }, valid, tagIds };
  });
  const { rows } = await makeRows(accepted, {
    enrich: databases.enrich,
    assignTags: (observation, tagIds) => assignTags(observation, tagIds, catalogue, tagger),
  });
  const to = valueWriter();
  for (const row of rows) writeRow(to, row);
  return to.copy().toString("latin1");
}

const simulated = (from: SimulatedInternet, perDay: number) => [
  ...simulate(from, { from: NOW - 86_400_000, to: NOW, perDay }),
];

async function bytes(from: SimulatedInternet, rules: readonly TaggingRule[], perDay: number) {
  const tagger = createTagger(rules);
  const encoder = simulatedEncoder({
    ...{ internet: from, rows: { enrich: databases.enrich }, catalogue },
    ...{ currentRules: () => tagger, hasChanged: () => false },
  });
  return Buffer.concat(await encoder.encode(simulated(from, perDay))).toString("latin1");
}

test.each([
  ["of the starter catalogue", []],
  ["that ask for a sensor", [ruleOf("tokyo", { sensor: "demo-tokyo-01", transport: "tcp" })]],
  ["that ask for source ports", [ruleOf("high", { "source_port|gt": 40_000 }), ruleOf("some", { source_port: 2_000 })]],
  [
    "that ask for sources",
    [
      ruleOf("named", { "rdns|exists": true }),
      ruleOf("american", { country: "US", "organization|contains": "a" }),
      ruleOf("confirmed", { "validated_rdns|endswith": ".com" }),
    ],
  ],
])("with rules %s each row has the bytes of the row that the intake makes", async (_, more) => {
  const rules = [...starterRules, ...more];
  expect(await bytes(internet, rules, PER_DAY)).toBe(await usualBytes(internet, rules, PER_DAY));
});

test("so it has without databases, when sensors send countries themselves", async () => {
  const none = { ranges: () => undefined, factsOf: () => ({}) };
  const from = await openInternet({ seed: 3, sources: 500, databases: none });
  expect(await bytes(from, starterRules, PER_DAY)).toBe(await usualBytes(from, starterRules, PER_DAY));
});

test("a change of the rules shows in the next batch", async () => {
  let rules = createTagger([]);
  let hasChanged = false;
  const making = { currentRules: () => rules, hasChanged: () => hasChanged };
  const encoder = simulatedEncoder({ internet, rows: {}, catalogue, ...making });
  const batch = simulated(internet, 500);
  const before = Buffer.concat(await encoder.encode(batch));
  rules = createTagger(starterRules);
  hasChanged = true;
  expect(Buffer.concat(await encoder.encode(batch)).length).toBeGreaterThan(before.length);
});
