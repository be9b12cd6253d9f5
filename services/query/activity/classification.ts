import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { ATTACK_TAG } from "@noisefloor/clickhouse/client/attack-sql.ts";
import { numberColumn } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery, onlyRow, type Read } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_TAGS } from "@noisefloor/clickhouse/client/table-names.ts";
import { isGlobal, type Scope } from "@noisefloor/domain/access/scope.ts";
import { ATTACK_TAG_ID, ATTACKED } from "@noisefloor/domain/tags/attack.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import { z } from "zod";
import { type LookupCaches, refreshOutdated } from "../address/lookup-caches.ts";
import { type AddressIndex, askIndex } from "../address-index/ask-index.ts";
import { blocksOf } from "../address-sets/hour-blocks.ts";
import { type CountsBySeverity, countBySeverity, tabulate, type WorstSeverities } from "../address-sets/severities.ts";
import { facetRows, IN_SCOPES } from "../scope-sql.ts";
import { ACTIVE, addUpSeverities, blocks, countPerSeverity, severityCount, slice } from "./queries.ts";

export type ClassificationDeps = LookupCaches & {
  readonly catalogue: Pick<TagCatalogue, "all">;
  /** Has the severities of the addresses of the global dataset. */
  readonly index?: AddressIndex | undefined;
  /** The store classifies the addresses of a tag with more; {@link MAX_LISTED} by default. */
  readonly maxListed?: number | undefined;
};

/** About ten megabytes in the format Native. */
const MAX_LISTED = 2_000_000;

export type ClassificationQuery = {
  readonly tag: Pick<Tag, "id" | "intention">;
  readonly scopes: Scope[];
  /** Seconds since 1970 UTC, on the hour; the end is exclusive. */
  readonly from: number;
  readonly end: number;
  /** Milliseconds: tags that an address had before do not count. */
  readonly since: number;
};

/**
 * Counts the distinct addresses that a tag had in a slice by severity: its own, unless an address has a worse tag, too,
 * belongs to an actor, or attacked. Where no address can have another severity, their number is enough. Else they are
 * classified in this process; by the store where they are too many, or the index in memory is not up to date.
 * @param known all of these addresses, for a caller that has them.
 */
export async function classifyActive(
  query: ClassificationQuery,
  known: Uint32Array | undefined,
  deps: ClassificationDeps,
  read: Read,
): Promise<CountsBySeverity> {
  await refreshOutdated(deps);
  const { since, scopes } = query;
  const active = { tag: query.tag.id, scopes, from: query.from, end: query.end, ...blocksOf(query) };
  const own = INTENTIONS.indexOf(query.tag.intention);
  const worseTags = deps.catalogue.all().filter(({ intention }) => INTENTIONS.indexOf(intention) > own);
  const { actor, hasActors } = deps.networks.current();
  if (worseTags.length === 0 && !hasActors && own > 0) {
    return new Map([[own, known?.length ?? onlyRow(countAddresses, await read(countAddresses, active)).addresses]]);
  }

  const { maxListed = MAX_LISTED } = deps;
  const ofWorse = {
    ...active,
    since,
    worse: worseTags.map(({ id }) => id),
    severities: worseTags.map(({ intention }) => INTENTIONS.indexOf(intention)),
  };
  const needsOthers = !scopes.every(isGlobal);
  const countHere = async (indexed: readonly WorstSeverities[]): Promise<CountsBySeverity | undefined> => {
    const [listed, others] = await Promise.all([
      known === undefined ? read(listAddresses(maxListed + 1), active) : [{ source_ip: known }],
      needsOthers ? read(worstInOtherDatasets(maxListed), ofWorse) : [],
    ]);
    const addresses = listed.map(({ source_ip }) => source_ip);
    if (addresses.reduce((sum, { length }) => sum + length, 0) > maxListed) return undefined;
    const worst = needsOthers ? [...indexed, await tabulate(others)] : indexed;
    const isOfActor = hasActors ? (address: number) => actor(address) !== undefined : undefined;
    return countBySeverity(addresses, { own, since, worst, isOfActor });
  };
  const counted = scopes.some(isGlobal)
    ? await askIndex(deps.index, (index) => countHere([index]))
    : await countHere([]);
  if (counted !== undefined) return counted;
  const rows = await read(countByClassification, { ...ofWorse, own });
  return new Map(rows.map(({ severity, addresses }) => [severity, addresses]));
}

/** The number of distinct addresses of the whole slice. */
export const countAddresses = defineQuery({
  name: "tag-activity-total",
  sql: `SELECT uniqExact(source_ip) AS addresses FROM (${ACTIVE})`,
  combine: (results) => `SELECT sum(addresses) AS addresses FROM ${results}`,
  params: z.object({ ...slice, ...blocks }),
  row: z.object({ addresses: z.int() }),
});

/** The distinct addresses of the whole slice, up to `max` of them. */
export const listAddresses = (max: number) => {
  const distinct = (rows: string) => `SELECT DISTINCT source_ip FROM ${rows} LIMIT ${max}`;
  return defineQuery({
    name: "tag-activity-addresses",
    sql: distinct(`(${ACTIVE})`),
    combine: distinct,
    params: z.object({ ...slice, ...blocks }),
    row: z.object({ source_ip: numberColumn }),
    format: "Native",
  });
};

/** Tags that are worse than the requested one, their severities, and from when on they count, in milliseconds. */
const worse = {
  worse: z.array(z.string()).readonly(),
  severities: z.array(z.int()).readonly(),
  since: z.int(),
};
/** SQL: the severity of a row's tag; -1 for the tag of attacks. */
const severityOfTag = (tag: string, worse: string) =>
  `if(has(${worse}, ${tag}), {severities:Array(Int8)}[indexOf(${worse}, ${tag})], -1)`;
/** SQL on rows with a `tag_id`, and on those of the facet `tag`, whose `value` is one as a text. */
const OF_TAG = {
  counts: `last_seen >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      AND (tag_id IN {worse:Array(UUID)} OR tag_id = ${ATTACK_TAG})`,
  severity: severityOfTag("tag_id", "{worse:Array(UUID)}"),
};
const OF_FACET = {
  counts: `(value IN {worse:Array(String)} OR value = '${ATTACK_TAG_ID}')`,
  severity: severityOfTag("value", "{worse:Array(String)}"),
};

/** For more addresses, reading every row of `address_tags` is faster than looking each of them up in its index. */
const MAX_INDEXED_ADDRESSES = 1_000;
const INDEX_FOR_FEW = `use_index_for_in_with_subqueries_max_values = ${MAX_INDEXED_ADDRESSES}`;

/**
 * The distinct addresses of the whole slice by severity, from all tags that an address had in these scopes since
 * `since` (milliseconds). Every address has the tag itself, whose severity is `own`, so only worse tags are looked for.
 */
export const countByClassification = defineQuery({
  name: "tag-activity-classification",
  sql: `WITH active AS (${ACTIVE}) ${countPerSeverity(
    `SELECT toUInt32(source_ip) AS number, max(severity) AS worst, min(severity) < 0 AS attacked FROM (
      SELECT source_ip, {own:Int8} AS severity FROM active
      UNION ALL
      SELECT source_ip, ${OF_TAG.severity} AS severity FROM ${ADDRESS_TAGS}
      WHERE ${IN_SCOPES} AND ${OF_TAG.counts} AND source_ip IN (SELECT source_ip FROM active)
    ) GROUP BY source_ip`,
  )} SETTINGS ${INDEX_FOR_FEW}`,
  combine: addUpSeverities,
  params: z.object({ ...slice, ...blocks, ...worse, own: z.int() }),
  row: severityCount,
});

const addressSeverity = z.object({ source_ip: numberColumn, severity: numberColumn });

/**
 * The worst of these tags that each address of the slice had in the scopes, and whether it attacked, except in the global
 * dataset, whose severities the index in memory has. For up to `max` addresses.
 */
export const worstInOtherDatasets = (max: number) => {
  // The table's key cannot say which of the tags' addresses are among them.
  const limited = (sql: string) => `${sql} LIMIT ${max} SETTINGS use_index_for_in_with_subqueries = 0`;
  return defineQuery({
    name: "tag-activity-severities",
    sql: limited(`SELECT source_ip,
        toUInt32(bitOr(max(${OF_FACET.severity}) + 1, if(min(${OF_FACET.severity}) < 0, ${ATTACKED}, 0))) AS severity
      FROM ${facetRows("tag", undefined, "since")} AND ${OF_FACET.counts} AND source_ip IN (${ACTIVE}) GROUP BY source_ip`),
    combine: (results) => limited(`SELECT source_ip, severity FROM ${results}`),
    params: z.object({ ...slice, ...blocks, ...worse }),
    row: addressSeverity,
    format: "Native",
  });
};
