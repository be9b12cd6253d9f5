import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { readLastBackup } from "@noisefloor/clickhouse/backup/made-backups.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readServerClock } from "@noisefloor/clickhouse/server/clock.ts";
import { type ReplicaReport, readReplicas } from "@noisefloor/clickhouse-cluster/client/report.ts";
import { REPLICA_STATES } from "@noisefloor/clickhouse-cluster/replicas/choose.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import type { ServiceContext } from "../service-context.ts";

const POLL_MS = 60_000;

/** Registers what the alerts about the machine need: version, certificate, clock, last backup and replicas. */
export function startSelfReport(context: ServiceContext, client: ClickHouseClient, version: string): void {
  const { settings, metrics, log, closeStack } = context;
  metrics.gaugeOf(
    "noisefloor_build_info",
    "1, with the version of Noisefloor and of Node.js",
    ["version", "node"],
    () => [[[version, process.versions.node], 1]],
  );
  let [expiry, skew, backup]: (number | undefined)[] = [];
  let replicas: readonly ReplicaReport[] = [];
  const read = async () => {
    const { tls } = settings.http;
    expiry = tls && (await readExpiry(tls.certFile).catch(() => expiry));
    skew = (await readServerClock(client)).skewMs / 1_000;
    backup = (await readLastBackup(client))?.madeAt;
    replicas = await readReplicas(client);
  };
  metrics.gauge(
    "noisefloor_tls_certificate_expiry_timestamp_seconds",
    "When the certificate in TLS_CERT_FILE expires, in seconds since 1970; absent without one",
    () => expiry && expiry / 1_000,
  );
  metrics.gauge(
    "noisefloor_clock_skew_seconds",
    "By how much ClickHouse's clock is ahead of this process's; negative when it is behind",
    () => skew,
  );
  metrics.gauge(
    "noisefloor_backup_timestamp_seconds",
    "When the last backup was made with noisefloor backup, in seconds since 1970; absent when none was",
    () => backup && backup / 1_000,
  );
  metrics.gaugeOf(
    "noisefloor_store_replicas",
    "Servers of a ClickHouse cluster with replicas: complete, behind, alone (without Keeper) or away; 0 without replicas",
    ["state"],
    () =>
      REPLICA_STATES.map((state) => [[state], replicas.filter((replica) => replica.state === state).length] as const),
  );
  const { run, stop } = repeatEvery(read, {
    everyMs: POLL_MS,
    // Other lines say that ClickHouse is away; a user without the right to read the table has no such number.
    onError: (error) => log.debug({ err: error }, "reading the clock, the last backup or the replicas failed"),
  });
  void run();
  closeStack.add(() => void stop());
}

/** When the certificate in a PEM file expires, in milliseconds since 1970 UTC. */
export async function readExpiry(certFile: string): Promise<number> {
  return Date.parse(new X509Certificate(await readFile(certFile)).validTo);
}
