import { join } from "node:path";
import { type LookupLimit, localLookupLimit, sharedLookupLimit } from "@noisefloor/query/rate-limit/limit.ts";
import type { ServiceContext } from "./service-context.ts";

/**
 * Opens the count of each caller's lookups: in Redis for all processes when that is configured, else in a file of this
 * process. The port names the file, as no process beside this one has it and a restarted one has it again.
 */
export async function openLookupLimit({ settings, log, metrics, closeStack }: ServiceContext): Promise<LookupLimit> {
  const { redisUrl, clickhouse, http } = settings;
  const file = join(clickhouse.dataDir, `lookups-${http.port}.json`);
  const limit =
    redisUrl === undefined
      ? await localLookupLimit(file, Date.now, log)
      : await sharedLookupLimit(redisUrl, Date.now, log);
  closeStack.add(limit.close);
  metrics.gauge(
    "noisefloor_lookup_counter_up",
    "1 while lookups are counted where they are configured to be; 0 while Redis is down and this process counts alone",
    () => (limit.state() === "shared-down" ? 0 : 1),
  );
  return limit;
}
