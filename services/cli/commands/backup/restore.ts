import { resolve } from "node:path";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { formatHolder } from "@noisefloor/clickhouse/embedded/embedded-files.ts";
import { readNewestReceipt } from "@noisefloor/clickhouse/observations/observations.ts";
import { HoldsDataError, type Restored } from "@noisefloor/clickhouse/restore/restore.ts";
import { openClickHouse } from "@noisefloor/clickhouse/server/open.ts";
import { connectStore, restoreStore } from "@noisefloor/clickhouse-cluster/store.ts";
import type { Settings } from "@noisefloor/config/settings.ts";
import { DAY_MS, formatTimestamp, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { readBackupPlace } from "../../backup/backup-place.ts";
import { PLACE_HELP } from "../../backup/backup-place-help.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import type { DefineCommand } from "../../framework/define-command.ts";
import type { OutputOptions } from "../../framework/output.ts";
import { fractionBar } from "../../framework/progress.ts";
import { MIGRATIONS_DIRECTORY } from "../../paths.ts";

const RESTORE_HELP = `
Stop the services first. The backup is read and checked beside the database, its rollups are rebuilt, and then its tables
are exchanged with the database's: if it is damaged or missing, or Ctrl-C cancels it, the database stays as it was.
Meanwhile it needs as much space again. If it is interrupted in its last moment, no service starts until it was run
again, which then needs no --replace.
The retention becomes the backup's. Keys revoked since the backup stay revoked if the store still knows of it, and keys
made since are gone; in an empty store the backup's keys are valid again. What came over Kafka since then must be read
again: the restore prints how.
The backup of a cluster goes into one of as many shards, in the same order and with the same weights, under the name that it
was made with: the endings -shard1of2 and so on are added.`;

export const define: DefineCommand = (restore, createContext) => {
  restore
    .argument("<place>", "where from")
    .option("--replace", "also when the store holds data, which are lost", false)
    .addHelpText("after", PLACE_HELP + RESTORE_HELP)
    .action(async (place: string, options: RestoreCommandOptions) => runRestore(place, options, await createContext()));
};

type RestoreCommandOptions = { readonly replace: boolean } & Partial<OutputOptions>;

/** `noisefloor restore`. */
export async function runRestore(
  source: string,
  { replace, json }: RestoreCommandOptions,
  context: CommandContext,
): Promise<void> {
  const { settings, signal, print } = context;
  const place = readBackupPlace(source, settings.clickhouse.server === undefined, settings);
  const server = await openClickHouse(settings.clickhouse, { purpose: "restore" });
  let progress = fractionBar("", false);
  try {
    if (server.origin === "running") {
      const { dataDir } = settings.clickhouse;
      throw new UserError(
        `${resolve(dataDir)} is in use by ${await formatHolder(dataDir)}. Stop it first, then restore`,
      );
    }
    const restored = await restoreStore(server.connection, place, {
      migrations: MIGRATIONS_DIRECTORY,
      replace,
      retentionDays: settings.retentionDays,
      signal,
      onProgress: (done, total) => progress.show(done, total),
      onStep: (step) => {
        progress.end();
        progress = fractionBar(`Restoring (${step})`, settings.logLevel !== "silent");
      },
    }).catch((error: unknown) => {
      if (error instanceof HoldsDataError) throw new UserError(`${error.message}. Use --replace to overwrite it`);
      throw error;
    });
    progress.end();
    if (restored === undefined) {
      process.exitCode = 130;
      return print(
        json ? JSON.stringify({ is_complete: false }) : "The restore was cancelled; the database is as it was.",
      );
    }
    const client = connectStore(server.connection, "noisefloor-restore");
    try {
      const newestReceipt = await readNewestOfAll(client);
      if (json) return print(JSON.stringify(restoredToJson(restored, newestReceipt)));
      for (const line of formatObservations(restored, settings)) print(line);
      for (const line of formatKeys(restored)) print(line);
      for (const line of formatCatchUp(newestReceipt, settings)) print(line);
    } finally {
      await client.close();
    }
  } finally {
    progress.end();
    await server.close();
  }
}

/**
 * When the newest observation of the backup was received, in milliseconds since 1970 UTC. The shards were copied side
 * by side, so it is that of the shard whose newest observation is the oldest. Undefined without observations.
 */
async function readNewestOfAll(client: ClickHouseClient): Promise<number | undefined> {
  const shards = await client.owners();
  const receipts = await Promise.all(shards.map((shard) => readNewestReceipt(shard)));
  const times = receipts.filter((receipt) => receipt !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

const timeOf = (time: number | undefined) => (time === undefined ? null : formatTimestamp(time));

/** `newest_receipt` is until when the topic was read. */
function restoredToJson(
  { observations, from, to, retentionDays, expired, keys }: Restored,
  newestReceipt: number | undefined,
) {
  return {
    ...{ is_complete: true, observations, from: timeOf(from), to: timeOf(to) },
    ...{ retention_days: retentionDays, expired, revoked_keys: keys.revoked, lost_keys: keys.lost },
    newest_receipt: timeOf(newestReceipt),
  };
}

function formatObservations(
  { observations, from, to, retentionDays, expired }: Restored,
  settings: Settings,
): string[] {
  const span = from === undefined || to === undefined ? "" : ` from ${formatTimestamp(from)} to ${formatTimestamp(to)}`;
  const lines = [`Restored ${observations} observations${span}, kept for ${retentionDays} days.`];
  if (expired > 0 && from !== undefined) {
    const enough = Math.ceil((Date.now() - from) / DAY_MS) + 1;
    lines.push(
      `${expired} of them are older than that and are deleted with the next merges. The backup still has them:`,
      `to keep them, restore it again with --replace and RETENTION_DAYS=${enough}, and leave that set.`,
    );
  }
  if (settings.retentionDays !== undefined && settings.retentionDays !== retentionDays) {
    lines.push(
      `RETENTION_DAYS is ${settings.retentionDays}: that will hold once a service or noisefloor migrate starts.`,
    );
  }
  return lines;
}

function formatKeys({ keys: { revoked, lost } }: Restored): string[] {
  const lines = [];
  if (revoked > 0) lines.push(`Keys that were revoked since the backup stay revoked: ${revoked}.`);
  if (lost > 0) lines.push(`Keys that were made since the backup are gone, to be made again: ${lost}.`);
  return lines;
}

/**
 * The consumer group has read on since the backup. The messages are still in the topic for as long as that keeps them,
 * and must be read again; ids keep anything from counting twice.
 */
function formatCatchUp(newestReceipt: number | undefined, { kafka }: Settings): string[] {
  if (newestReceipt === undefined) return [];
  const newest = `The newest observation was received at ${formatTimestamp(newestReceipt)}.`;
  if (kafka === undefined) return [newest];
  const since = new Date(newestReceipt - HOUR_MS).toISOString().slice(0, 23);
  return [
    newest,
    "Messages that the intake has read from the topic since then are missing. Before it starts, reset its group to read",
    "them again, from an hour earlier (UTC), or earlier if the intake lagged more than that. Nothing counts twice.",
    ...(kafka.instanceId === undefined
      ? []
      : [
          `An intake with KAFKA_INSTANCE_ID stays a member for ${kafka.sessionTimeoutMs / 1_000} s after it has stopped:`,
          "until then the command changes nothing.",
        ]),
    `  kafka-consumer-groups.sh --bootstrap-server ${kafka.connection.brokers.join(",")} --group ${kafka.groupId} \\`,
    `    --topic ${kafka.topic} --reset-offsets --to-datetime ${since} --execute`,
  ];
}
