import { openTagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { openDiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { limitedDeadLetterStore } from "@noisefloor/ingest/dead-letters/quota.ts";
import { createSensorCounter } from "@noisefloor/ingest/sensor-counts/counter.ts";
import { storeSensorCounts } from "@noisefloor/ingest/sensor-counts/store.ts";
import type { SourceOptions } from "@noisefloor/ingest/sources/source-options.ts";
import type { CloseStack } from "../framework/close-stack.ts";
import type { CommandContext } from "../framework/command.ts";
import type { Store } from "../store/store.ts";
import { DRY_RUN, openTarget } from "./replay-target.ts";

export type FileSourceOptions = {
  /** Under which its records are counted. */
  readonly name: "file" | "follow";
  /** Stores nothing. */
  readonly dryRun?: boolean | undefined;
};

/** The way of records of files into the store, or into the topic when brokers are configured; `verb` says which. */
export async function openFileSource(
  store: Store,
  context: CommandContext,
  closeStack: CloseStack,
  { name, dryRun = false }: FileSourceOptions,
): Promise<SourceOptions & { readonly verb: string }> {
  const { settings, log } = context;
  const catalogue = await openTagCatalogue(store.client);
  closeStack.add(catalogue.stop);
  const disk = await openDiskGuard(store.client, { floorBytes: settings.minFreeDiskBytes });
  closeStack.add(disk.stop);
  // What goes to the brokers stays as it is in the file, and their consumer enriches.
  const { sink, verb, close } = dryRun ? DRY_RUN : await openTarget(context, store, catalogue, disk);
  closeStack.add(close);
  const counter = createSensorCounter(Date.now);
  if (!dryRun) closeStack.add(storeSensorCounts(counter, store.client, log).close);
  const deadLetters = limitedDeadLetterStore(store.client, {
    source: "file",
    bytesPerDay: settings.deadLetterBytesPerDay,
    now: Date.now,
    assertSpace: disk.assertSpace,
    log,
  });
  return {
    ...{ catalogue, sink, verb, log },
    retentionDays: () => store.retentionDays,
    now: Date.now,
    deadLetters: dryRun ? async () => {} : deadLetters,
    counts: counter.of(name),
  };
}
