import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_TAGS } from "@noisefloor/clickhouse/client/table-names.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { z } from "zod";
import { allRows, IN_SCOPES, scopesParam } from "../scope-sql.ts";

const NIL_TAG = `toUUID('${NIL_TAG_ID}')`;

/** What is known of each address in rows of `address_tags`, grouped by it. */
export const RECORD_COLUMNS = `toString(source_ip) AS ip, toUnixTimestamp64Milli(max(last_seen)) AS latest,
      groupUniqArrayIf(tag_id, tag_id != ${NIL_TAG}) AS tag_ids`;

/**
 * When addresses were last seen since `since`, and the tags they were seen with since then, known or not, and those of
 * attacks and of contact. Times in milliseconds. Addresses that were not seen have no row. One table and no join, which would have to be planned: what
 * is joined to the rows is in memory anyway.
 */
export const lookUpAddresses = defineQuery({
  name: "address-lookup",
  sql: `
    SELECT ${RECORD_COLUMNS}
    FROM ${ADDRESS_TAGS}
    WHERE source_ip IN {ips:Array(IPv4)} AND ${IN_SCOPES}
      AND last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY source_ip`,
  combine: allRows,
  params: z.object({ ips: z.array(z.string()), scopes: scopesParam, since: z.int() }),
  row: z.object({ ip: z.string(), latest: z.int(), tag_ids: z.array(z.string()) }),
});
export type LookupRow = z.output<(typeof lookUpAddresses)["row"]>;
