import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { openEnricher } from "@noisefloor/ingest/enrichment/open-enricher.ts";
import type { RowOptions } from "@noisefloor/ingest/sinks/rows.ts";
import { assignTags } from "@noisefloor/ingest/tagging/assign-tags.ts";
import type { CommandContext } from "./framework/command.ts";
import { openRuleTagger } from "./reference/rule-tagger.ts";

export type OpenRows = { readonly rows: Omit<RowOptions, "sessions">; stop(): void };

/** How a command makes rows as the service does: with networks and countries, and with the tags of rules. */
export async function openRows(
  context: Pick<CommandContext, "settings" | "log">,
  client: ClickHouseClient,
  catalogue: TagCatalogue,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<OpenRows> {
  const { settings, log } = context;
  const tagger = await openRuleTagger(context, client, catalogue, { addTags: !dryRun });
  const enricher = await openEnricher({ mmdbPaths: settings.mmdbPaths, log });
  return {
    rows: {
      enrich: enricher.enrich,
      assignTags: (observation, tagIds) => assignTags(observation, tagIds, catalogue, tagger),
    },
    stop() {
      tagger.stop();
      enricher.stop();
    },
  };
}
