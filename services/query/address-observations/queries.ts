import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { OBSERVATIONS } from "@noisefloor/clickhouse/client/table-names.ts";
import type { NamesOf } from "@noisefloor/domain/observation/member.ts";
import { MEMBERS, namesOf } from "@noisefloor/domain/observation/members.ts";
import { z } from "zod";
import { allRows, IN_SCOPES, scopesParam } from "../scope-sql.ts";

/** The observations of an address since `since` (milliseconds). FINAL: one that arrived twice counts once. */
export const OF_ADDRESS = `FROM ${OBSERVATIONS} FINAL
    WHERE source_ip = {ip:IPv4} AND ${IN_SCOPES} AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')`;
export const ofAddress = z.object({ ip: z.string(), scopes: scopesParam, since: z.int() });
export type OfAddress = z.input<typeof ofAddress>;

/** Above this, ClickHouse groups and sorts on disk: an address may have sent as many texts as observations. */
const MAX_BYTES_IN_MEMORY = 64 * 1024 * 1024;
export const SETTINGS = `SETTINGS do_not_merge_across_partitions_select_final = 1, optimize_move_to_prewhere_if_final = 1,
      max_bytes_before_external_group_by = ${MAX_BYTES_IN_MEMORY},
      max_bytes_before_external_sort = ${MAX_BYTES_IN_MEMORY}`;

/** Each tag of an address, known or not, with its observations. Times in milliseconds since 1970 UTC. */
export const readTags = defineQuery({
  name: "address-tag-dates",
  sql: `
    SELECT toString(tag) AS id, count() AS observations,
      toUnixTimestamp64Milli(min(observed_at)) AS first_seen, toUnixTimestamp64Milli(max(observed_at)) AS last_seen
    FROM (SELECT observed_at, arrayJoin(arrayDistinct(tags)) AS tag ${OF_ADDRESS})
    GROUP BY tag ${SETTINGS}`,
  combine: allRows,
  params: ofAddress,
  row: z.object({ id: z.string(), observations: z.int(), first_seen: z.int(), last_seen: z.int() }),
});

/** The most entries of each list of texts, as scanners could send any number. */
export const MAX_ENTRIES = 100;

export type EntryList = NamesOf<typeof MEMBERS, "logins" | "texts" | "digests">;
/** SQL: the entries of a list in an observation, and the one or two texts of an entry. */
type EntrySql = { readonly entries: string; readonly first: string; readonly second: string };

/** Each list of what an address sent and left. */
const LISTS: ReadonlyMap<EntryList, EntrySql> = new Map<EntryList, EntrySql>([
  ...namesOf(MEMBERS, "logins").map((name) => [name, { entries: name, first: "entry.1", second: "entry.2" }] as const),
  // An empty command or URL says nothing.
  ...namesOf(MEMBERS, "texts", "digests").map(
    (name) => [name, { entries: `arrayFilter(text -> text != '', ${name})`, first: "entry", second: "''" }] as const,
  ),
]);
/** Their names in the order of totals. */
export const ENTRY_LISTS = [...LISTS.keys()];

/** Each list in a query of its own: one query for all is slower for an address with many observations. */
const mostFrequent = [...LISTS].map(
  ([list, { entries, first, second }]) => `
    SELECT * FROM (
      SELECT '${list}' AS list, ${first} AS first, ${second} AS second, count() AS observations
      FROM (SELECT arrayJoin(arrayDistinct(${entries})) AS entry ${OF_ADDRESS})
      GROUP BY entry ORDER BY observations DESC, first, second LIMIT ${MAX_ENTRIES})`,
);

/** The most frequent entries of each list, at most {@link MAX_ENTRIES}, ties in order of their bytes. */
export const readEntries = defineQuery({
  name: "address-interaction",
  sql: `
    SELECT * FROM (${mostFrequent.join(" UNION ALL ")})
    ORDER BY list, observations DESC, first, second ${SETTINGS}`,
  combine: (results) => `${allRows(results)} ORDER BY list, observations DESC, first, second`,
  params: ofAddress,
  row: z.object({
    list: z.enum(ENTRY_LISTS),
    first: z.string(),
    second: z.string(),
    observations: z.int(),
  }),
});

/** The distinct entries of each list, in the order of the lists, also of those that are not listed; all attempts to log in. */
export const countEntries = defineQuery({
  name: "address-interaction-totals",
  sql: `
    SELECT sum(login_attempts) AS login_attempts,
      [${[...LISTS.values()].map(({ entries }) => `uniqExactArray(${entries})`).join(", ")}] AS totals
    ${OF_ADDRESS} ${SETTINGS}`,
  combine: (results) =>
    `SELECT sum(result.login_attempts) AS login_attempts, sumForEach(result.totals) AS totals FROM ${results} AS result`,
  params: ofAddress,
  row: z.object({ login_attempts: z.int(), totals: z.array(z.int()) }),
});

/** The sensors that saw an address, those with the most observations first, ties by name. Times in milliseconds. */
export const readAddressSensors = defineQuery({
  name: "address-sensors",
  sql: `
    SELECT sensor_id, count() AS observations, count() OVER () AS total_sensors,
      toUnixTimestamp64Milli(min(observed_at)) AS first_seen, toUnixTimestamp64Milli(max(observed_at)) AS last_seen
    ${OF_ADDRESS}
    GROUP BY sensor_id ORDER BY observations DESC, sensor_id LIMIT ${MAX_ENTRIES} ${SETTINGS}`,
  combine: (results) => `${allRows(results)} ORDER BY observations DESC, sensor_id`,
  params: ofAddress,
  row: z.object({
    sensor_id: z.string(),
    observations: z.int(),
    total_sensors: z.int(),
    first_seen: z.int(),
    last_seen: z.int(),
  }),
});
