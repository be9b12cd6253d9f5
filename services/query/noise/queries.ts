import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { z } from "zod";
import { IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** The observations of an address since `since` (milliseconds). FINAL: one that arrived twice counts once. */
const OF_ADDRESS = `FROM observations FINAL
    WHERE source_ip = {ip:IPv4} AND ${IN_SCOPES} AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`;
const ofAddress = z.object({ ip: z.string(), scopes: scopesParam, since: z.int() });
export type OfAddress = z.input<typeof ofAddress>;

/** Above this, ClickHouse groups and sorts on disk: an address may have sent as many texts as observations. */
const MAX_BYTES_IN_MEMORY = 64 * 1024 * 1024;
const SETTINGS = `SETTINGS do_not_merge_across_partitions_select_final = 1, optimize_move_to_prewhere_if_final = 1,
      max_bytes_before_external_group_by = ${MAX_BYTES_IN_MEMORY}, max_bytes_before_external_sort = ${MAX_BYTES_IN_MEMORY}`;

/** Each tag of an address, known or not, with its observations. Times in milliseconds since 1970 UTC. */
export const readTags = defineQuery({
  name: "address-tag-dates",
  sql: `
    SELECT toString(tag) AS id, count() AS observations,
      toUnixTimestamp64Milli(min(observed_at)) AS first_seen, toUnixTimestamp64Milli(max(observed_at)) AS last_seen
    FROM (SELECT observed_at, arrayJoin(arrayDistinct(tags)) AS tag ${OF_ADDRESS})
    GROUP BY tag ${SETTINGS}`,
  params: ofAddress,
  row: z.object({ id: z.string(), observations: z.int(), first_seen: z.int(), last_seen: z.int() }),
});

/** The most entries of each list of texts, as scanners could send any number. */
export const MAX_ENTRIES = 100;

/** An empty command or URL says nothing; an empty name or password is one that was tried. */
const filled = (column: string) => `arrayFilter(text -> text != '', ${column})`;

/** SQL for the entries of each list, as tuples of two texts. */
const ENTRIES = {
  credentials: "arrayMap(pair -> (pair.1, pair.2), credentials)",
  commands: `arrayMap(text -> (text, ''), ${filled("commands")})`,
  urls: `arrayMap(text -> (text, ''), ${filled("urls")})`,
  payloads: "arrayMap(text -> (text, ''), payload_sha256)",
} as const;
export type EntryList = keyof typeof ENTRIES;

const listed = Object.entries(ENTRIES).map(
  ([list, entries]) => `arrayMap(entry -> ('${list}', entry.1, entry.2), arrayDistinct(${entries}))`,
);

/** Of each list the entries that the most observations have, at most {@link MAX_ENTRIES}, ties in order of their bytes. */
export const readEntries = defineQuery({
  name: "address-interaction",
  sql: `
    SELECT entry.1 AS list, entry.2 AS first, entry.3 AS second, count() AS observations
    FROM (SELECT arrayJoin(arrayConcat(${listed.join(", ")})) AS entry ${OF_ADDRESS})
    GROUP BY entry ORDER BY list, observations DESC, first, second LIMIT ${MAX_ENTRIES} BY list
    ${SETTINGS}`,
  params: ofAddress,
  row: z.object({
    list: z.enum(Object.keys(ENTRIES).filter((name): name is EntryList => name in ENTRIES)),
    first: z.string(),
    second: z.string(),
    observations: z.int(),
  }),
});

/** The distinct entries of each list, also of those that are not listed, and all attempts to log in. */
export const countEntries = defineQuery({
  name: "address-interaction-totals",
  sql: `
    SELECT sum(login_attempts) AS login_attempts,
      ${Object.entries(ENTRIES)
        .map(([list, entries]) => `uniqExactArray(${entries}) AS ${list}_total`)
        .join(", ")}
    ${OF_ADDRESS} ${SETTINGS}`,
  params: ofAddress,
  row: z.object({
    login_attempts: z.int(),
    credentials_total: z.int(),
    commands_total: z.int(),
    urls_total: z.int(),
    payloads_total: z.int(),
  }),
});
