import type { Settings } from "@noisefloor/config/settings.ts";
import { isLoopback } from "@noisefloor/http/requests/cross-site.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";

/** Warns at the start of what the settings let every client do that can reach the service. */
export function warnOfExposure(
  { host, metricsToken, corsOrigins }: Settings["http"],
  { isIntakeOpen }: { readonly isIntakeOpen: boolean },
  log: Pick<Logger, "warn">,
): void {
  if (isIntakeOpen && corsOrigins.includes("*")) {
    log.warn(
      "CORS_ORIGINS lets every web page store observations through its visitors: set SENSOR_KEYS, or list the origins",
    );
  }
  if (isLoopback(host)) return;
  if (isIntakeOpen) {
    log.warn(
      { host },
      'every client that reaches this address can store observations: set SENSOR_KEYS, or make keys with "noisefloor sensors create"',
    );
  }
  if (metricsToken === undefined) {
    log.warn({ host }, "every client that reaches this address can read /metrics: set METRICS_TOKEN");
  }
}
