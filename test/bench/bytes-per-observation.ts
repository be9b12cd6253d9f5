import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { DERIVED_TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { readTableStatistics } from "@noisefloor/clickhouse/storage/table-statistics.ts";

export type BytesPerObservation = {
  /** Bytes on disk for each stored observation, by table: the observations, and each table that views fill. */
  readonly byTable: ReadonlyMap<string, number>;
  readonly sum: number;
};

export async function readBytesPerObservation(client: ClickHouseClient): Promise<BytesPerObservation> {
  const statistics = new Map((await readTableStatistics(client)).map((one) => [one.table, one]));
  const observations = statistics.get("observations")?.rows ?? 0;
  const byTable = new Map(
    ["observations", ...DERIVED_TABLES].map((table) => [
      table,
      (statistics.get(table)?.bytesOnDisk ?? 0) / observations,
    ]),
  );
  return { byTable, sum: [...byTable.values()].reduce((sum, bytes) => sum + bytes, 0) };
}
