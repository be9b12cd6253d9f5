import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { deleteStoredSince, hasAny, type ObservationKey } from "@noisefloor/clickhouse/observations/stored-keys.ts";
import { markRollupsStale } from "@noisefloor/clickhouse/rollups/stale-marker.ts";
import { chunksOf } from "@noisefloor/domain/chunks.ts";
import { type RetryOptions, retry } from "@noisefloor/domain/time/retry.ts";
import type { ObservationRow } from "../rows/observation-row.ts";
import type { Leftovers } from "./insert-queue.ts";

/** Keys in one query, whose text the server bounds. */
const PER_QUERY = { items: 300, bytes: 100_000 };
/** Rows of a failed insert that are looked for: some of all. */
const MAX_SOUGHT = 1_000;
/** For how long a store that is away is waited for, before its rollups are taken to be as they were. */
const SEEK_FOR_MS = 3_600_000;

const keyOf = ({ source_ip, dataset, workspace_id = "", observed_at, ...row }: ObservationRow): ObservationKey => ({
  ...{ source_ip, dataset, workspace_id, observed_at },
  ...{ sensor_id: row.sensor_id, observation_id: row.observation_id },
});
const chunk = (keys: readonly ObservationKey[]) =>
  chunksOf(keys, ({ sensor_id, observation_id }) => sensor_id.length + observation_id.length + 120, PER_QUERY);

/**
 * Looks after what failed inserts have left in the observations of one owner: where a row stays or goes that not all
 * views have seen alike, the rollups of its time are made anew.
 * @param client of the whole store.
 */
export function observationLeftovers(
  client: ClickHouseClient,
  owner: ClickHouseClient,
  options: RetryOptions,
): Leftovers<ObservationRow> {
  const mark = (keys: readonly ObservationKey[]) => {
    const times = keys.map(({ observed_at }) => observed_at);
    const from = times.reduce((one, other) => Math.min(one, other));
    return markRollupsStale(client, { from, to: times.reduce((one, other) => Math.max(one, other)) + 1 });
  };
  let sought: ObservationKey[] = [];
  let isSeeking = false;
  const seek = async () => {
    isSeeking = true;
    try {
      while (sought.length > 0) {
        const keys = sought;
        sought = [];
        for (const some of chunk(keys)) {
          if (!(await retry(() => hasAny(owner, some), { ...options, forMs: SEEK_FOR_MS }))) continue;
          await retry(() => mark(keys), { ...options, forMs: SEEK_FOR_MS });
          break;
        }
      }
    } finally {
      isSeeking = false;
    }
  };
  return {
    async remove(rows, startedAt) {
      for (const keys of chunk(rows.map(keyOf))) {
        await retry(() => deleteStoredSince(owner, keys, startedAt, () => mark(keys)), options);
      }
    },
    keep(rows) {
      const step = Math.ceil(rows.length / MAX_SOUGHT);
      const last = rows.length - 1;
      sought.push(...rows.filter((_row, index) => index % step === 0 || index === last).map(keyOf));
      sought = sought.slice(-MAX_SOUGHT);
      // Their callers hear of the failure itself.
      if (!isSeeking) void seek().catch(() => {});
    },
  };
}
