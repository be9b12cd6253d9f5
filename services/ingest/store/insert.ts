import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import type { ClickHouseClient, ClickHouseSettings } from "@noisefloor/clickhouse/client/connect.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import type { ObservationRow } from "../rows/observation-row.ts";
import { ENCODED_COLUMNS } from "./columns.ts";
import { blockEncoder } from "./encode-blocks.ts";
import type { Insert } from "./insert-queue.ts";

/** A sender waits for an insert of at most this size, which takes tens of milliseconds. */
const URGENT_ROWS = 1_000;
/**
 * Large queries pause for it, for a little at a time. Most of its time goes into the views, which run side by side:
 * while the processors are busy, a single thread would wait for its turn again and again.
 */
const URGENT = { priority: "1", parallel_view_processing: 1 } as const;

/**
 * Inserts into ClickHouse; when it resolves, the rows and all that is derived from them can be read.
 * @param assertSpace throws while the store must not grow.
 */
export function insertObservations(
  client: ClickHouseClient,
  assertSpace: () => void = () => {},
): Insert<ObservationRow> {
  const encode = blockEncoder();
  return async (rows, token) => {
    assertSpace();
    await send(client, await encode(rows), {
      insert_deduplication_token: token,
      // Else an insert whose answer was lost would be repeated in the rollups, though not in the table itself.
      deduplicate_blocks_in_dependent_materialized_views: 1,
      // An observation that an insert has twice stays until a merge, as one that two inserts have: readers count it
      // once. To search each block for such rows takes a fifth of the server's time.
      optimize_on_insert: 0,
      ...(rows.length <= URGENT_ROWS ? URGENT : {}),
    });
  };
}

const INSERT = `INSERT INTO ${OBSERVATIONS} (${ENCODED_COLUMNS.join(", ")}) FORMAT Native`;

async function send(client: ClickHouseClient, blocks: readonly Buffer[], clickhouse_settings: ClickHouseSettings) {
  const { stream } = await client.exec({ query: INSERT, values: Readable.from(blocks), clickhouse_settings });
  await finished(stream.resume());
}
