import { retentionStart } from "@noisefloor/domain/time/window.ts";
import { type FillSummary, fillStored } from "@noisefloor/ingest/rows/enrichment/fill-stored.ts";
import { openEnricher } from "@noisefloor/ingest/rows/enrichment/open-enricher.ts";
import { type CommandContext, UserError } from "../framework/command.ts";
import type { DefineCommand } from "../framework/define-command.ts";
import { fractionBar } from "../framework/progress.ts";
import { readSince } from "../framework/since.ts";
import { asCommand, closingAfter, openPreparedStore } from "../store/store.ts";

export const define: DefineCommand = (enrich, createContext) => {
  enrich
    .option("--since <time>", "only observations from an RFC 3339 time on, or from 5m, 12h or 7d ago on (default: all)")
    .option("--dry-run", "count what would be filled in, and change nothing", false)
    .action(async (options: EnrichOptions) => runEnrich(options, await createContext()));
};

export type EnrichOptions = {
  readonly since?: string | undefined;
  readonly dryRun: boolean;
  readonly json?: boolean;
};

/** `noisefloor enrich`: fills in the networks and countries that stored observations lack. */
export async function runEnrich(
  { since, dryRun, json = false }: EnrichOptions,
  context: CommandContext,
): Promise<void> {
  const { settings, signal, log, print } = context;
  const now = Date.now();
  const from = since === undefined ? undefined : readSince(since, now);
  const store = await openPreparedStore(settings, dryRun ? undefined : asCommand(context, signal));
  await closingAfter(store, async () => {
    const enricher = await openEnricher({ mmdbPaths: settings.mmdbPaths, log });
    const progress = fractionBar("Looking up sources", settings.logLevel !== "silent");
    try {
      if (enricher.databases().length === 0) {
        throw new UserError("there is no database of networks and countries: see docs/enrichment.md");
      }
      const oldest = retentionStart(now, store.retentionDays);
      const summary = await fillStored(store.client, {
        factsOf: enricher.factsOf,
        // Expired rows may still be there. Inserted again, they would only be deleted again.
        since: Math.max(oldest, from ?? oldest),
        dryRun,
        signal,
        onProgress: progress.show,
      });
      progress.end();
      const { isComplete, ...counts } = summary;
      if (json) print(JSON.stringify({ dry_run: dryRun, is_complete: isComplete, ...counts }));
      else for (const line of formatSummary(summary, dryRun)) print(line);
      if (!summary.isComplete) process.exitCode = 130;
    } finally {
      progress.end();
      enricher.stop();
    }
  });
}

function formatSummary({ filled, unknown, isComplete }: FillSummary, dryRun: boolean): string[] {
  const lines = [
    `filled    ${filled.observations} observations of ${filled.sources} sources`,
    `unknown   ${unknown.observations} observations of ${unknown.sources} sources`,
  ];
  if (dryRun) lines.unshift("Nothing was changed. The results would be:");
  if (!isComplete) lines.unshift("Stopped before the end. The same command again goes on with the rest.");
  return lines;
}
