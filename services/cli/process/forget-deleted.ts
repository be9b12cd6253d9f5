import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { forgetDeleted } from "@noisefloor/clickhouse/feeds/forget-deleted.ts";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { ServiceContext } from "./service-context.ts";

/** A start is busy enough. */
const FIRST_MS = 5 * 60_000;

/** Forgets what was deleted long ago, beside the service, once a day and after a start. A failure is tried again. */
export function startForgetting(
  client: ClickHouseClient,
  { log, closeStack }: Pick<ServiceContext, "log" | "closeStack">,
) {
  const forget = async () => {
    const forgotten = await forgetDeleted(client, Date.now());
    if (forgotten > 0) log.info({ forgotten }, "feeds, tokens and guarded networks deleted long ago are forgotten");
  };
  const { stop } = repeatEvery(forget, {
    everyMs: DAY_MS,
    firstMs: FIRST_MS,
    onError: (error) => log.debug({ err: error }, "forgetting what was deleted long ago failed; trying again in a day"),
  });
  closeStack.add(() => void stop());
}
