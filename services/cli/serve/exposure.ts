import type { Settings } from "@noisefloor/config/settings.ts";
import { isLoopback } from "@noisefloor/http/cross-site.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";

/** Says at the start what the settings leave open to everybody who can reach the service. */
export function warnOfExposure(
  { host, metricsToken, corsOrigins }: Settings["http"],
  { isIntakeOpen }: { readonly isIntakeOpen: boolean },
  log: Pick<Logger, "warn">,
): void {
  if (isIntakeOpen && corsOrigins.includes("*")) {
    log.warn("any web page can have its visitors store observations: set SENSOR_KEYS, or list origins in CORS_ORIGINS");
  }
  if (isLoopback(host)) return;
  if (isIntakeOpen) {
    log.warn(
      { host },
      'everybody who reaches this address can store observations: set SENSOR_KEYS, or make keys with "noisefloor sensors create"',
    );
  }
  if (metricsToken === undefined) {
    log.warn({ host }, "everybody who reaches this address can read /metrics: set METRICS_TOKEN");
  }
}
