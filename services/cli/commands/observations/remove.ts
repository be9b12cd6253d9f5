import { holdStoreLock } from "@noisefloor/clickhouse/backup/server-lock.ts";
import { LONG_REQUEST_MS } from "@noisefloor/clickhouse/client/connect.ts";
import { countFiltered, type FilteredObservations } from "@noisefloor/clickhouse/observations/observation-filter.ts";
import { removeObservations } from "@noisefloor/clickhouse/rollups/remove-observations.ts";
import { readStaleRollups } from "@noisefloor/clickhouse/rollups/stale-marker.ts";
import { connectStore, serverOf } from "@noisefloor/clickhouse-cluster/store.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { createCloseStack } from "../../framework/close-stack.ts";
import type { CommandContext } from "../../framework/command.ts";
import { confirm } from "../../framework/confirm.ts";
import type { OutputOptions } from "../../framework/output.ts";
import { fractionBar } from "../../framework/progress.ts";
import { asCommand, closingAfter, openPreparedStore, type Store } from "../../store/store.ts";
import { assertNamesExist, type ConditionOptions, readConditions } from "./conditions.ts";

export type RemoveOptions = ConditionOptions & OutputOptions & { readonly dryRun: boolean; readonly yes: boolean };

/** `noisefloor observations remove`. */
export async function runObservationsRemove(options: RemoveOptions, context: CommandContext): Promise<void> {
  const filter = readConditions(options, Date.now());
  const store = await openPreparedStore(context.settings, options.dryRun ? undefined : asCommand(context));
  await closingAfter(store, () => remove(store, filter, options, context));
}

async function remove(
  store: Store,
  filter: ReturnType<typeof readConditions>,
  options: RemoveOptions,
  context: CommandContext,
): Promise<void> {
  const closeStack = createCloseStack();
  try {
    const client = connectStore(store.server.connection, "noisefloor-remove", LONG_REQUEST_MS);
    closeStack.add(() => client.close());
    // After an interrupted removal the rows may be gone, and with them the names.
    const wasInterrupted = (await readStaleRollups(client)) !== undefined;
    if (!wasInterrupted) await assertNamesExist(client, filter);
    const matching = await countFiltered(client, filter);
    if (options.dryRun) return report(matching, { isComplete: true, wasInterrupted }, options, context);
    if (matching.observations > 0) await confirm(`${describe(matching)} would be deleted for good`, options, context);
    else if (!wasInterrupted) return report(matching, { isComplete: true, wasInterrupted }, options, context);
    closeStack.add(await holdStoreLock(serverOf(store.server.connection), "restore"));
    const bar = fractionBar("Making rollups", context.settings.logLevel !== "silent");
    closeStack.add(bar.end);
    // Read only now: at the question, Ctrl-C ends the command.
    const { signal } = context;
    const { isComplete, ...removed } = await removeObservations(client, filter, { signal, onProgress: bar.show });
    bar.end();
    report(removed, { isComplete, wasInterrupted }, options, context);
    if (!isComplete) process.exitCode = 130;
  } finally {
    await closeStack.closeAll();
  }
}

function describe({ observations, addresses, hours, first, last }: FilteredObservations): string {
  const times = `seen in ${hours} hours from ${formatTimestamp(first)} to ${formatTimestamp(last)}`;
  return `${observations} observations of ${addresses} addresses, ${times},`;
}

type Result = { readonly isComplete: boolean; readonly wasInterrupted: boolean };

function report(found: FilteredObservations, result: Result, options: RemoveOptions, { print }: CommandContext): void {
  const lines = options.json ? [JSON.stringify(toJson(found, result, options))] : format(found, result, options);
  for (const line of lines) print(line);
}

function toJson(found: FilteredObservations, { isComplete }: Result, { dryRun }: RemoveOptions) {
  const { observations, addresses, hours } = found;
  const timeOf = (at: number) => (observations === 0 ? null : formatTimestamp(at));
  const times = { first_seen: timeOf(found.first), last_seen: timeOf(found.last) };
  return { dry_run: dryRun, is_complete: isComplete, observations, addresses, hours, ...times };
}

function format(found: FilteredObservations, result: Result, { dryRun }: RemoveOptions): string[] {
  const lines: string[] = [];
  if (found.observations === 0) lines.push("No observation meets the conditions.");
  else if (dryRun) return [`${describe(found)} would be deleted; nothing was changed.`];
  else lines.push(`Deleted ${describe(found).slice(0, -1)}.`);
  if (!result.isComplete) {
    lines.push("Stopped before the end: counts still have them. The same command again does what is left.");
  } else if (result.wasInterrupted && !dryRun) lines.push("What an interrupted command had left to do is done, too.");
  if (found.observations > 0)
    lines.push("Backups still have them, and what is sent or replayed again is stored again.");
  return lines;
}
