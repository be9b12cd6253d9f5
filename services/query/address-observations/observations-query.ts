import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATION_COLUMNS, observationColumns } from "@noisefloor/clickhouse/observations/observation-columns.ts";
import { z } from "zod";
import { allRows } from "../scope-sql.ts";
import { OF_ADDRESS, ofAddress, SETTINGS } from "./queries.ts";

const TIE = "lower(hex(sipHash64(dataset, workspace_id, sensor_id, observation_id)))";
const AT = "toUnixTimestamp64Milli(observed_at)";
const NEWEST_FIRST = "ORDER BY at DESC, tie";
const AFTER_POSITION = `observed_at <= fromUnixTimestamp64Milli({at:Int64}, 'UTC')
    AND (observed_at < fromUnixTimestamp64Milli({at:Int64}, 'UTC') OR ${TIE} > {tie:String})`;

const page = ofAddress.extend({ at: z.int(), tie: z.string(), limit: z.int() });

/** The positions of the next `limit` observations of an address, newest first. Reads columns of the table's key only. */
export const readPositions = defineQuery({
  name: "address-observation-positions",
  sql: `SELECT ${AT} AS at, ${TIE} AS tie ${OF_ADDRESS} AND ${AFTER_POSITION} ${NEWEST_FIRST} LIMIT {limit:UInt32} ${SETTINGS}`,
  combine: (results) => `${allRows(results)} ${NEWEST_FIRST}`,
  params: page,
  row: z.object({ at: z.int(), tie: z.string() }),
});

/** A page ends early after this many bytes of stored text. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** The same observations, those not older than `oldest` (milliseconds); fewer than `limit` when they are large. */
export const readObservations = defineQuery({
  name: "address-observations",
  sql: `
    SELECT * EXCEPT (bytes, bytes_so_far) FROM (
      SELECT *, sum(bytes) OVER (${NEWEST_FIRST} ROWS UNBOUNDED PRECEDING) AS bytes_so_far
      FROM (
        SELECT ${AT} AS at, ${TIE} AS tie, ${OBSERVATION_COLUMNS},
          byteSize(credentials, commands, urls, labels, http_path, http_query, http_user_agent, http_referer,
            http_header_lines, http_body_head, ssh_banner) AS bytes
        ${OF_ADDRESS} AND ${AFTER_POSITION} AND observed_at >= fromUnixTimestamp64Milli({oldest:Int64}, 'UTC')
        ${NEWEST_FIRST} LIMIT {limit:UInt32}
      )
    )
    WHERE bytes_so_far - bytes < ${MAX_PAGE_BYTES} ${NEWEST_FIRST} ${SETTINGS}`,
  combine: (results) => `${allRows(results)} ${NEWEST_FIRST}`,
  params: page.extend({ oldest: z.int() }),
  row: observationColumns.extend({ at: z.int(), tie: z.string() }),
});
