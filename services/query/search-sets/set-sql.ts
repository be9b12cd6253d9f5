import {
  ADDRESS_NETWORKS,
  ADDRESS_TAGS,
  ADDRESS_VALUES,
  NETWORK_GENERATIONS,
  NETWORK_RANGES,
  OBSERVATIONS,
} from "@noisefloor/clickhouse/client/table-names.ts";
import { inScopes } from "../scope-sql.ts";
import type { AddressSet } from "./address-set.ts";
import { type Bind, textSql } from "./text-sql.ts";

export type SetContext = {
  readonly bind: Bind;
  /** How many scopes are searched. */
  readonly scopes: number;
  /** Whether the caller may know only the sensors of its workspace. */
  readonly isOwnSensorsOnly: boolean;
};

const time = (ms: number, bind: Bind) => `fromUnixTimestamp64Milli(${bind("Int64", ms)}, 'UTC')`;
const FROM = "fromUnixTimestamp64Milli({from:Int64}, 'UTC')";
const SEEN = `last_seen >= ${FROM}`;
const OBSERVED = `observed_at >= ${FROM}`;

/** SQL: a SELECT of the addresses of a set as numbers in the column `ip`, possibly repeated. */
export function setSql(set: AddressSet, { bind, scopes, isOwnSensorsOnly }: SetContext): string {
  const inScope = inScopes(scopes);
  const select = (table: string, ...conditions: readonly string[]) =>
    `SELECT toUInt32(source_ip) AS ip FROM ${table} WHERE ${[inScope, ...conditions].join(" AND ")}`;
  const between = (column: string, type: string, { first, last }: { first: number; last: number }) =>
    `${column} BETWEEN ${bind(type, first)} AND ${bind(type, last)}`;
  const since = (after: number | undefined) =>
    after === undefined ? [SEEN] : [SEEN, `last_seen >= ${time(after, bind)}`];
  switch (set.type) {
    case "seen":
      return select(ADDRESS_NETWORKS, ...since(set.after));
    case "tagged":
      return select(ADDRESS_TAGS, `tag_id IN ${bind("Array(UUID)", set.ids)}`, ...since(set.after));
    case "value":
      return select(ADDRESS_VALUES, `field = '${set.field}'`, textSql("value", set.match, bind), SEEN);
    case "port":
      return select(ADDRESS_VALUES, "field = 'port'", ...portSql(set, bind), SEEN);
    case "asn":
      return select(ADDRESS_NETWORKS, between("asn", "UInt32", set), SEEN);
    case "organization":
      return select(ADDRESS_NETWORKS, textSql("lowerUTF8(organization)", set.match, bind), SEEN);
    case "country": {
      const isThere = set.codes === "any" ? "country != ''" : `country IN ${bind("Array(String)", set.codes)}`;
      return select(ADDRESS_NETWORKS, isThere, SEEN);
    }
    case "address":
      return select(
        ADDRESS_TAGS,
        `source_ip BETWEEN toIPv4(${bind("UInt32", set.first)}) AND toIPv4(${bind("UInt32", set.last)})`,
        SEEN,
      );
    case "listed":
      return listedSql(set, select(ADDRESS_NETWORKS, SEEN), bind);
    case "observed": {
      const column = { method: "http_method", sensor: "sensor_id", region: "region", city: "city" }[set.field];
      const visible = set.field === "sensor" && isOwnSensorsOnly ? ["dataset = 'personal'"] : [];
      return select(OBSERVATIONS, textSql(`lowerUTF8(${column})`, set.match, bind), OBSERVED, ...visible);
    }
    case "observed-before":
      return select(OBSERVATIONS, OBSERVED, `observed_at < ${time(set.before, bind)}`);
    case "counted": {
      // FINAL: an observation that arrived twice counts once.
      const counted = set.of === "observations" ? "count()" : "uniqExact(sensor_id)";
      return `${select(`${OBSERVATIONS} FINAL`, OBSERVED)} GROUP BY source_ip HAVING ${between(counted, "UInt64", set)}
        SETTINGS do_not_merge_across_partitions_select_final = 1`;
    }
  }
}

type SetOf<Type extends AddressSet["type"]> = Extract<AddressSet, { readonly type: Type }>;

/** A value is five digits, a slash and the transport. Ports that follow each other are one range of the key. */
function portSql({ first, last, protocol }: SetOf<"port">, bind: Bind): string[] {
  const digits = (port: number) => String(port).padStart(5, "0");
  if (protocol?.type === "equals" && first === last) {
    return [`value = ${bind("String", `${digits(first)}/${protocol.text}`)}`];
  }
  const range = [`value >= ${bind("String", digits(first))}`, `value < ${bind("String", digits(last + 1))}`];
  if (protocol === undefined) return range;
  const match = protocol.type === "equals" ? { type: "in" as const, texts: [protocol.text] } : protocol;
  return [...range, textSql("substring(value, 7)", match, bind)];
}

/** The ranges of a kind are disjoint: the last one that begins before an address is the only one that may have it. */
function listedSql({ kind, lists }: SetOf<"listed">, seen: string, bind: Bind): string {
  const isListed = lists === "any" ? "" : ` AND listed.list_id IN ${bind("Array(String)", lists)}`;
  return `SELECT address.ip AS ip FROM (SELECT 1 AS one, ip FROM (${seen})) AS address
    ASOF JOIN (
      SELECT 1 AS one, first, last, list_id FROM ${NETWORK_RANGES}
      WHERE kind = '${kind}' AND generation = (SELECT max(generation) FROM ${NETWORK_GENERATIONS} WHERE kind = '${kind}')
    ) AS listed ON listed.one = address.one AND address.ip >= listed.first
    WHERE address.ip <= listed.last${isListed}`;
}
