import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { numberColumn } from "../client/native.ts";
import { defineQuery, run, runForOne } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { storingAgain } from "../client/storing-again.ts";
import { OBSERVATIONS } from "../client/table-names.ts";

/** Sources with observations that lack their network or country, as columns of equal length. */
const sourceColumns = z.object({
  /** Addresses as numbers, ascending. */
  addresses: numberColumn,
  /** How many of an address's observations lack the network, the country, and either of them. */
  withoutAsn: numberColumn,
  withoutCountry: numberColumn,
  incomplete: numberColumn,
});
export type IncompleteSources = z.infer<typeof sourceColumns>;

/** Some of all addresses, as numbers; `last` included. */
export type AddressBlock = { readonly first: number; readonly last: number };

/** Networks of prefix 8: the sources of one fit into memory. */
const BLOCK_SIZE = 2 ** 24;

const incompleteBlocks = defineQuery({
  name: "incomplete-blocks",
  // Without FINAL, which takes far longer: at worst a block is named in which all is complete by now.
  sql: `SELECT DISTINCT intDiv(toUInt32(source_ip), ${BLOCK_SIZE}) AS block FROM ${OBSERVATIONS}
    WHERE (asn = 0 OR country = '') AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC') ORDER BY block`,
  params: z.object({ since: z.int() }),
  row: z.object({ block: z.int() }),
});

/** The parts of all addresses in which there may be sources to find by {@link readIncomplete}. */
export async function readIncompleteBlocks(client: ClickHouseClient, since: number): Promise<AddressBlock[]> {
  const blocks = await run(client, incompleteBlocks, { since });
  return blocks.map(({ block }) => ({ first: block * BLOCK_SIZE, last: (block + 1) * BLOCK_SIZE - 1 }));
}

const incompleteSources = defineQuery({
  name: "incomplete-observations",
  sql: `
    SELECT groupArray(address) AS addresses, groupArray(without_asn) AS withoutAsn,
      groupArray(without_country) AS withoutCountry, groupArray(without_either) AS incomplete
    FROM (
      SELECT toUInt32(source_ip) AS address,
        toUInt32(countIf(asn = 0)) AS without_asn,
        toUInt32(countIf(country = '')) AS without_country,
        toUInt32(countIf(asn = 0 OR country = '')) AS without_either
      FROM ${OBSERVATIONS} FINAL
      WHERE source_ip BETWEEN toIPv4({first:UInt32}) AND toIPv4({last:UInt32})
        AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
      GROUP BY address HAVING without_either > 0 ORDER BY address)
    SETTINGS do_not_merge_across_partitions_select_final = 1`,
  params: z.object({ first: z.int(), last: z.int(), since: z.int() }),
  row: sourceColumns,
  format: "Native",
});

/**
 * Finds the sources in a block whose observations lack a network or a country.
 * @param since the oldest observations that count, in milliseconds since 1970 UTC.
 */
export const readIncomplete = (
  client: ClickHouseClient,
  block: AddressBlock,
  since: number,
): Promise<IncompleteSources> => runForOne(client, incompleteSources, { ...block, since });

/** What is known of a source; 0 and "" where it is not. */
export type SourceFacts = {
  readonly asn: number;
  readonly organization: string;
  readonly country: string;
  readonly region: string;
  readonly city: string;
  readonly latitude: number;
  readonly longitude: number;
};

/** Limits of a query's text, and of the server's memory for an insert. */
const LIMITS = {
  max_query_size: String(4 * 1024 * 1024),
  min_insert_block_size_rows: "262144",
  min_insert_block_size_bytes: String(64 * 1024 * 1024),
} as const;

/**
 * Fills in what the stored observations of some sources lack, by the rule of `fillIn` in services/ingest. Each row is
 * inserted again with the same key and, being read and written by the server, with the same values in all other
 * columns. That includes `received_at`: of rows received at the same time the one inserted last counts, while a row
 * that the intake replaces in the meantime is newer and stays.
 * @param sources by address as a number; a few thousand, or the query becomes too long.
 */
export async function fillObservations(
  client: ClickHouseClient,
  sources: ReadonlyMap<number, SourceFacts>,
  since: number,
): Promise<void> {
  if (sources.size === 0) return;
  const addresses = [...sources.keys()];
  const byText = new Map<string, { readonly place: number; readonly facts: SourceFacts }>();
  const places = [...sources.values()].map((facts) => {
    const text = JSON.stringify(Object.values(facts));
    const known = byText.get(text) ?? { place: byText.size + 1, facts };
    byText.set(text, known);
    return known.place;
  });
  const distinct = [...byText.values()].map(({ facts }) => facts);
  const numbers = (values: readonly number[], type: string) => `CAST([${values.join(",")}], 'Array(${type})')`;
  const texts = (member: "organization" | "country" | "region" | "city") =>
    `[${distinct.map((facts) => literal(facts[member])).join(",")}][place]`;
  const degrees = (member: "latitude" | "longitude") =>
    `${numbers(
      distinct.map((facts) => facts[member]),
      "Float32",
    )}[place]`;
  await client.insertSelect({
    query: `
      INSERT INTO ${OBSERVATIONS}
      WITH
        transform(toUInt32(o.source_ip), ${numbers(addresses, "UInt32")}, ${numbers(places, "UInt32")}, toUInt32(0)) AS place,
        ${numbers(
          distinct.map(({ asn }) => asn),
          "UInt32",
        )}[place] AS known_asn,
        ${texts("organization")} AS known_organization,
        ${texts("country")} AS known_country,
        ${texts("region")} AS known_region,
        ${texts("city")} AS known_city,
        ${degrees("latitude")} AS known_latitude,
        ${degrees("longitude")} AS known_longitude,
        (o.country = '' OR o.country = known_country) AND (o.city = '' OR o.city = known_city) AS same_place,
        same_place AND o.latitude = 0 AND o.longitude = 0 AS lacks_coordinates
      SELECT o.* REPLACE (
        if(o.asn = 0, known_asn, o.asn) AS asn,
        if(o.organization = '' AND (o.asn = 0 OR o.asn = known_asn), known_organization, o.organization) AS organization,
        if(o.country = '', known_country, o.country) AS country,
        if(o.region = '' AND same_place, known_region, o.region) AS region,
        if(o.city = '' AND same_place, known_city, o.city) AS city,
        if(lacks_coordinates, known_latitude, o.latitude) AS latitude,
        if(lacks_coordinates, known_longitude, o.longitude) AS longitude)
      FROM (
        SELECT * FROM ${OBSERVATIONS} FINAL
        PREWHERE source_ip IN (${addresses.map((address) => `toIPv4(${address})`).join(",")})
        WHERE observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')) AS o
      WHERE (o.asn = 0 AND known_asn != 0) OR (o.country = '' AND known_country != '')
      SETTINGS do_not_merge_across_partitions_select_final = 1`,
    query_params: { since },
    clickhouse_settings: { ...LIMITS, ...storingAgain(), log_comment: "fill-observations" },
  });
}
