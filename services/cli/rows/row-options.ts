import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { findCallbacks } from "@noisefloor/domain/callbacks/find-callbacks.ts";
import { type EnricherOptions, openEnricher } from "@noisefloor/ingest/rows/enrichment/open-enricher.ts";
import { createReverseDns } from "@noisefloor/ingest/rows/enrichment/reverse-dns.ts";
import type { RowOptions } from "@noisefloor/ingest/rows/make-rows.ts";
import { assignTags } from "@noisefloor/ingest/tagging/assign-tags.ts";
import type { CommandContext } from "../framework/command.ts";
import { ownAddressTest } from "../formats.ts";
import { openRuleTagger } from "../tags/rule-tagger.ts";

export type OpenRows = {
  readonly rows: Omit<RowOptions, "sessions">;
  stop(): void;
};

export type OpenRowsOptions = Pick<EnricherOptions, "metrics"> & {
  /** Adds no tags to the catalogue. */
  readonly dryRun?: boolean;
};

/** How the service and the commands make rows: with networks and countries, and with the tags of rules. */
export async function openRows(
  context: Pick<CommandContext, "settings" | "log">,
  client: ClickHouseClient,
  catalogue: TagCatalogue,
  { dryRun = false, metrics }: OpenRowsOptions = {},
): Promise<OpenRows> {
  const { settings, log } = context;
  const tagger = await openRuleTagger(context, client, catalogue, { addTags: !dryRun });
  const enricher = await openEnricher({ mmdbPaths: settings.mmdbPaths, log, metrics });
  const names = settings.reverseDns === undefined ? undefined : createReverseDns(settings.reverseDns);
  const isOwnAddress = ownAddressTest(settings);
  return {
    rows: {
      findCallbacks: (observation) => findCallbacks(observation, isOwnAddress),
      prepare: names?.prepare,
      enrich: (observation) => {
        enricher.enrich(observation);
        names?.fill(observation);
      },
      assignTags: (observation, tagIds) => assignTags(observation, tagIds, catalogue, tagger),
    },
    stop() {
      tagger.stop();
      enricher.stop();
      names?.stop();
    },
  };
}
