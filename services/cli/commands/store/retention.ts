import { readLoss } from "@noisefloor/clickhouse/storage/retention-loss.ts";
import { countOlderRows, readTableStatistics } from "@noisefloor/clickhouse/storage/table-statistics.ts";
import { formatBytes } from "@noisefloor/domain/text/bytes.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { CommandContext } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import { type OutputOptions, show } from "../../framework/output.ts";
import { positiveInteger } from "../../framework/positive-integer.ts";
import { isMuch } from "../../store/retention-loss.ts";
import { closingAfter, openPreparedStore } from "../../store/store.ts";

export const define: DefineCommand = (retention, createContext) => {
  retention
    .option("--days <n>", "also what this retention would delete (default: RETENTION_DAYS)", positiveInteger)
    .action(async (options: { days?: number; json: boolean }) => runRetention(options, await createContext()));
};

/** `noisefloor retention`. */
export async function runRetention(
  options: OutputOptions & { readonly days?: number | undefined },
  context: CommandContext,
): Promise<void> {
  const { settings, print } = context;
  const store = await openPreparedStore(settings);
  await closingAfter(store, async () => {
    const current = store.retentionDays;
    const days = options.days ?? settings.retentionDays;
    const tables = await readTableStatistics(store.client);
    const older = await countOlderRows(store.client, days ?? current);
    if (options.json) {
      const rows = tables.map(({ table, rows, bytesOnDisk, from, to, retentionDays }) => ({
        table,
        rows,
        bytes_on_disk: bytesOnDisk,
        from: timeOf(from),
        to: timeOf(to),
        retention_days: retentionDays ?? null,
        older_rows: older === undefined ? null : (older.get(table) ?? 0),
      }));
      return print(JSON.stringify({ retention_days: current, asked_days: days ?? current, tables: rows }));
    }
    const rows = tables.map(({ table, rows, bytesOnDisk, from, to, retentionDays }) => ({
      table,
      from: timeOf(from) ?? "-",
      to: timeOf(to) ?? "-",
      rows,
      "on disk": formatBytes(bytesOnDisk),
      kept: retentionDays === undefined ? "for ever" : `${retentionDays} days`,
    }));
    show(rows, options, context);
    print();
    if (older === undefined) {
      return print("Older rows were not counted: the server takes too long or its user may not read them.");
    }
    const nonEmpty = [...older].filter(([, count]) => count > 0).sort();
    for (const line of formatEffect(current, days ?? current, nonEmpty)) print(line);
    if (days !== undefined && days < current && isMuch(await readLoss(store.client, current, days))) {
      print(
        `That is more than a tenth: to confirm, set RETENTION_CONFIRM=${days} for a service, or pass --yes to noisefloor migrate.`,
      );
    }
  });
}

const timeOf = (time: number | undefined) => (time === undefined ? null : formatTimestamp(time));

/** What a retention of `asked` instead of `current` days would do. @param older rows by table. */
function formatEffect(current: number, asked: number, older: readonly (readonly [string, number])[]): string[] {
  const effect = "It takes effect when a service or noisefloor migrate starts with it.";
  if (asked > current) {
    const lost = "what is deleted by then does not come back";
    return [`RETENTION_DAYS=${asked} would keep new data ${asked - current} days longer; ${lost}. ${effect}`];
  }
  const lines = older.map(([table, rows]) => `  ${table}: ${rows} rows`);
  if (asked < current) {
    if (lines.length === 0) return [`RETENTION_DAYS=${asked} would delete nothing that is stored now. ${effect}`];
    return [`RETENTION_DAYS=${asked} would delete for good:`, ...lines, effect];
  }
  if (lines.length === 0) return [`Nothing is older than the ${current} days for which it is kept.`];
  return [`Older than the ${current} days for which it is kept, to be deleted with one of the next merges:`, ...lines];
}
