import { holdStoreLock } from "@noisefloor/clickhouse/backup/server-lock.ts";
import { openTagCatalogue, type TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { type ClickHouseClient, LONG_REQUEST_MS } from "@noisefloor/clickhouse/client/connect.ts";
import { openDiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { connectStore, serverOf } from "@noisefloor/clickhouse-cluster/store.ts";
import { findCallbacks } from "@noisefloor/domain/callbacks/find-callbacks.ts";
import { tagIdFromSlug } from "@noisefloor/domain/tags/tag.ts";
import { DAY_MS, retentionStart } from "@noisefloor/domain/time/window.ts";
import type { RulesInUse } from "@noisefloor/ingest/reapply/decide.ts";
import { type ReapplySummary, reapplyRules } from "@noisefloor/ingest/reapply/reapply.ts";
import { loadRules } from "@noisefloor/ingest/tagging/open-tagger.ts";
import { createCloseStack } from "../../framework/close-stack.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { type OutputOptions, printable, show } from "../../framework/output.ts";
import { fractionBar } from "../../framework/progress.ts";
import { readSince } from "../../framework/since.ts";
import { asCommand, closingAfter, openPreparedStore, type Store } from "../../store/store.ts";
import { ownAddressTest } from "../../formats.ts";
import { addTags, ruleFolders, tagsOfFiles } from "../../tags/starter-tags.ts";

export type ReapplyCommandOptions = OutputOptions & {
  readonly since: string;
  readonly until?: string | undefined;
  readonly tag: readonly string[];
  readonly dryRun: boolean;
};

/** `noisefloor tags reapply`. */
export async function runTagsReapply(options: ReapplyCommandOptions, context: CommandContext): Promise<void> {
  const { settings, signal } = context;
  const now = Date.now();
  const from = readSince(options.since, now);
  const to = options.until === undefined ? now + DAY_MS : readSince(options.until, now, "--until");
  if (from >= to) throw new UserError("--since is not before --until");
  const store = await openPreparedStore(settings, options.dryRun ? undefined : asCommand(context, signal));
  await closingAfter(store, async () => {
    // Rows that have expired may still be there. Inserted again, they would only be deleted again.
    const times = { from: Math.max(from, retentionStart(now, store.retentionDays)), to: Math.max(from + 1, to) };
    await reapply(store, { ...options, times }, context);
  });
}

type Work = ReapplyCommandOptions & { readonly times: { readonly from: number; readonly to: number } };

async function reapply({ server }: Store, options: Work, context: CommandContext): Promise<void> {
  const { settings, signal } = context;
  const { dryRun, times } = options;
  const closeStack = createCloseStack();
  try {
    const client = connectStore(server.connection, "noisefloor-reapply", LONG_REQUEST_MS);
    closeStack.add(() => client.close());
    if (!dryRun) closeStack.add(await holdStoreLock(serverOf(server.connection), "restore"));
    const catalogue = await openTagCatalogue(client);
    closeStack.add(catalogue.stop);
    const rules = await openRules(client, catalogue, options, context);
    const disk = await openDiskGuard(client, { floorBytes: settings.minFreeDiskBytes });
    closeStack.add(disk.stop);
    const bars = openBars(settings.logLevel !== "silent");
    closeStack.add(bars.end);
    const { assertSpace } = disk;
    const work = { rules, times, dryRun, now: Date.now, signal, onProgress: bars.show, assertSpace };
    const summary = await reapplyRules(client, work);
    bars.end();
    report(summary, options, catalogue, context);
    if (!summary.isComplete) process.exitCode = 130;
  } finally {
    await closeStack.closeAll();
  }
}

/** Reads the rules and adds their tags to the catalogue, as a start of the intake does. */
async function openRules(
  client: ClickHouseClient,
  catalogue: TagCatalogue,
  { dryRun, tag }: ReapplyCommandOptions,
  { settings }: CommandContext,
): Promise<RulesInUse> {
  const { tagger, rules, tagsByFolder } = await loadRules(ruleFolders(settings));
  const now = Date.now();
  if (!dryRun && (await addTags(client, tagsOfFiles(tagsByFolder, now), now)) > 0) await catalogue.refresh();
  // A dry run also shows what a tag would come to that is not in the catalogue yet.
  const idOf = (slug: string) => catalogue.resolve(slug)?.id ?? (dryRun ? tagIdFromSlug(slug) : undefined);
  const slugs = new Set(rules.map(({ slug }) => slug));
  const ids = tag.map((reference) => {
    const id = catalogue.resolve(reference)?.id ?? (slugs.has(reference) ? tagIdFromSlug(reference) : undefined);
    // Observations may have a tag that is no longer in the catalogue.
    if (id === undefined && isTagId(reference)) return reference.toLowerCase();
    if (id === undefined) throw new UserError(`there is no tag "${printable(reference)}": see "noisefloor tags list"`);
    return id;
  });
  if (ids.length > 0) return { tagger, rules, idOf, only: new Set(ids) };
  const isOwnAddress = ownAddressTest(settings);
  return { tagger, rules, idOf, findCallbacks: (source) => findCallbacks(source, isOwnAddress) };
}

const isTagId = (text: string) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** A bar for each of the two steps. */
function openBars(isShown: boolean) {
  const labels = { observations: "Reading observations", rollups: "Making rollups" } as const;
  let step: keyof typeof labels | undefined;
  let bar: ReturnType<typeof fractionBar> | undefined;
  return {
    show(next: keyof typeof labels, done: number, total: number) {
      if (next !== step) {
        bar?.end();
        bar = fractionBar(labels[next], isShown);
        step = next;
      }
      bar?.show(done, total);
    },
    end: () => bar?.end(),
  };
}

function report(
  { tags, ...summary }: ReapplySummary,
  options: ReapplyCommandOptions,
  catalogue: TagCatalogue,
  context: CommandContext,
): void {
  const { print } = context;
  const nameOf = (id: string) => catalogue.byId(id)?.slug ?? id;
  const rows = [...tags]
    .map(([id, { added, removed }]) => ({ tag: nameOf(id), added, removed }))
    .toSorted((one, other) => (one.tag < other.tag ? -1 : 1));
  if (options.json) {
    const { isComplete, keptForBody, keptForSession, ...counts } = summary;
    const kept = { kept_for_body: keptForBody, kept_for_session: keptForSession };
    print(JSON.stringify({ dry_run: options.dryRun, is_complete: isComplete, ...counts, ...kept, tags: rows }));
    return;
  }
  if (!summary.isComplete) print("Stopped before the end. The same command again does what is left.");
  if (options.dryRun) print("Nothing was changed. The results would be:");
  if (rows.length > 0) {
    show(rows, options, context);
    print();
  }
  print(`observations  ${summary.observations} read, ${summary.changed} with other tags or callbacks`);
  if (summary.callbacks > 0) print(`callbacks     found in ${summary.callbacks} that had none`);
  print(`rollups       ${summary.rollups}`);
  if (summary.keptForBody > 0) {
    print(
      `kept          a tag of ${summary.keptForBody}: its rule looks at the body, of which the head alone is stored`,
    );
  }
  if (summary.keptForSession > 0) {
    print(`kept          a tag of ${summary.keptForSession}: an earlier state of the session may have earned it`);
  }
  if (summary.unreadable > 0) print(`unreadable    ${summary.unreadable}: left as they are`);
}
