import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { forgetDeleted } from "@noisefloor/clickhouse/feeds/forget-deleted.ts";
import type { ServiceContext } from "./service-context.ts";

const HOUR_MS = 3_600_000;
/** A start is busy enough. */
const FIRST_MS = 5 * 60_000;

/** Forgets what was deleted long ago, beside the service, once a day and after a start. A failure is tried again. */
export function startForgetting(client: ClickHouseClient, { log }: Pick<ServiceContext, "log">): { stop(): void } {
  const forget = async () => {
    try {
      const forgotten = await forgetDeleted(client, Date.now());
      if (forgotten > 0) log.info({ forgotten }, "feeds, tokens and guarded networks deleted long ago are forgotten");
    } catch (error) {
      log.debug({ err: error }, "forgetting what was deleted long ago failed; trying again in a day");
    }
  };
  const first = setTimeout(() => void forget(), FIRST_MS).unref();
  const daily = setInterval(() => void forget(), 24 * HOUR_MS).unref();
  return {
    stop() {
      clearTimeout(first);
      clearInterval(daily);
    },
  };
}
