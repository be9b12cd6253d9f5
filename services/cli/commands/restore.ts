import { connect } from "@noisefloor/clickhouse/client.ts";
import { openClickHouse } from "@noisefloor/clickhouse/open.ts";
import { HoldsDataError, restoreDatabase } from "@noisefloor/clickhouse/restore.ts";
import { readStoredTables } from "@noisefloor/clickhouse/stored-tables.ts";
import { formatTimestamp } from "@noisefloor/domain/window.ts";
import { readBackupPlace } from "../backup-place.ts";
import { MIGRATIONS_DIRECTORY } from "../paths.ts";
import { fractionBar } from "../progress.ts";
import { type CommandContext, UserError } from "./command.ts";

/** `noisefloor restore`. */
export async function runRestore(
  source: string,
  { replace }: { readonly replace: boolean },
  context: CommandContext,
): Promise<void> {
  const { settings, signal, print } = context;
  const place = readBackupPlace(source, settings.clickhouse.server === undefined, settings);
  const server = await openClickHouse(settings.clickhouse);
  let progress = fractionBar("", false);
  try {
    if (server.origin === "running") {
      throw new UserError("another process works with this data directory: stop it, then restore");
    }
    const rows = await restoreDatabase(server.connection, place, {
      migrations: MIGRATIONS_DIRECTORY,
      replace,
      signal,
      onProgress: (done, total) => progress.show(done, total),
      onStep: (step) => {
        progress.end();
        progress = fractionBar(`Restoring (${step})`, settings.logLevel !== "silent");
      },
    }).catch((error: unknown) => {
      if (error instanceof HoldsDataError) throw new UserError(`${error.message}. With --replace it does`);
      throw error;
    });
    progress.end();
    if (rows === undefined) {
      process.exitCode = 130;
      return print("The restore was cancelled; the database is as it was.");
    }
    const client = connect(server.connection, "noisefloor-restore");
    try {
      const observations = (await readStoredTables(client)).find(({ table }) => table === "observations");
      const { from, to, retentionDays } = observations ?? {};
      const span =
        from === undefined || to === undefined ? "" : ` from ${formatTimestamp(from)} to ${formatTimestamp(to)}`;
      print(`Restored ${rows} observations${span}, kept for ${retentionDays} days.`);
      if (settings.retentionDays !== undefined && settings.retentionDays !== retentionDays) {
        print(
          `RETENTION_DAYS is ${settings.retentionDays}: that will hold once a service or noisefloor migrate starts.`,
        );
      }
    } finally {
      await client.close();
    }
  } finally {
    progress.end();
    await server.close();
  }
}
