import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readServerClock } from "@noisefloor/clickhouse/server/clock.ts";
import { readLastBackup } from "@noisefloor/clickhouse/tables/backups.ts";
import type { ServiceContext } from "./service-context.ts";

const POLL_MS = 60_000;

/** Registers what the alerts about the machine need: version, certificate, clock and last backup. */
export function startSelfReport(context: ServiceContext, client: ClickHouseClient, version: string): void {
  const { settings, metrics, log, closeStack } = context;
  metrics.gaugeOf(
    "noisefloor_build_info",
    "1, with the version of Noisefloor and of Node.js",
    ["version", "node"],
    () => [[[version, process.versions.node], 1]],
  );
  let [expiry, skew, backup]: (number | undefined)[] = [];
  const read = async () => {
    const { tls } = settings.http;
    expiry = tls && (await readExpiry(tls.certFile).catch(() => expiry));
    try {
      skew = (await readServerClock(client)).skewMs / 1_000;
      backup = (await readLastBackup(client))?.madeAt;
    } catch (error) {
      // Other lines say that ClickHouse is away; a user without the right to read the table has no such number.
      log.debug({ err: error }, "reading the clock or the last backup failed");
    }
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
  void read();
  const timer = setInterval(() => void read(), POLL_MS);
  timer.unref();
  closeStack.add(() => clearInterval(timer));
}

/** When the certificate in a PEM file expires, in milliseconds since 1970 UTC. */
export async function readExpiry(certFile: string): Promise<number> {
  return Date.parse(new X509Certificate(await readFile(certFile)).validTo);
}
