import { ATTACK_TAG } from "@noisefloor/clickhouse/client/attack-sql.ts";
import {
  ADDRESS_NETWORKS,
  ADDRESS_VALUES,
  NETWORK_GENERATIONS,
  NETWORK_RANGES,
  OBSERVATIONS,
  SCOPE_TAGS,
} from "@noisefloor/clickhouse/client/table-names.ts";
import type { NetworkKind } from "@noisefloor/clickhouse/networks/networks.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { inScopes } from "../scope-sql.ts";
import type { AddressSet, SetMatch } from "./address-set.ts";
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
const TAG_OF_ALL = `tag_id = toUUID('${NIL_TAG_ID}')`;

const OBSERVED_COLUMNS = {
  method: "http_method",
  sensor: "sensor_id",
  region: "region",
  city: "city",
  transport: "transport",
} as const;

/** How the server finds the addresses of a set: several sets of one source can be read together. */
export type SetSource = {
  /** SQL: a SELECT with the column `source_ip`, in which an address may be repeated. It binds nothing. */
  readonly source: string;
  /** SQL: which of its rows have the addresses of the set. */
  readonly condition: () => string;
  readonly reading: Reading;
  /** With the reading `values`: the words that stand in the value. */
  readonly words?: readonly string[];
};

/**
 * What a condition looks at: a `range` of a key has the rows; each of the `rows`; or the column `value` alone, by a
 * condition that takes long, so that each distinct value is compared once.
 */
export type Reading = "range" | "rows" | "values";

/**
 * Where it can, a set is a range of a key whose addresses are in order: a bitmap of ordered numbers is made many times
 * faster than another.
 */
export function setSource(set: AddressSet, { bind, scopes, isOwnSensorsOnly }: SetContext): SetSource {
  const select = (columns: string, table: string, ...conditions: readonly string[]) =>
    `SELECT source_ip, ${columns} FROM ${table} WHERE ${[inScopes(scopes), ...conditions].join(" AND ")}`;
  const is = (reading: Reading, source: string, condition: string): SetSource => ({
    source,
    condition: () => condition,
    reading,
  });
  const byText = (source: string, match: SetMatch, reading: Reading): SetSource => ({
    source,
    condition: () => textSql("value", match, bind),
    ...(match.type === "words" ? { reading: "values", words: match.words } : { reading }),
  });
  const between = (column: string, type: string, { first, last }: { first: number; last: number }) =>
    `${column} BETWEEN ${bind(type, first)} AND ${bind(type, last)}`;
  const since = (after: number | undefined) => (after === undefined ? [] : [`last_seen >= ${time(after, bind)}`]);
  const seen = select("last_seen", SCOPE_TAGS, TAG_OF_ALL, SEEN);
  switch (set.type) {
    case "seen":
      return is("range", seen, ["1", ...since(set.after)].join(" AND "));
    case "attacked":
      return is("range", select("tag_id", SCOPE_TAGS, SEEN), `tag_id = ${ATTACK_TAG}`);
    case "tagged": {
      const hasTag = `tag_id IN ${bind("Array(UUID)", set.ids)}`;
      return is("range", select("tag_id, last_seen", SCOPE_TAGS, SEEN), [hasTag, ...since(set.after)].join(" AND "));
    }
    case "value": {
      const source = select("value", ADDRESS_VALUES, `field = '${set.field}'`, SEEN);
      return byText(source, set.match, set.match.type === "in" ? "range" : "rows");
    }
    case "port":
      return is("range", select("value", ADDRESS_VALUES, "field = 'port'", SEEN), portSql(set, bind));
    case "asn":
      return is("range", select("asn", ADDRESS_NETWORKS, SEEN), between("asn", "UInt32", set));
    case "organization":
      return byText(select("lowerUTF8(organization) AS value", ADDRESS_NETWORKS, SEEN), set.match, "rows");
    case "address": {
      const address = (number: number) => `toIPv4(${bind("UInt32", number)})`;
      return is("range", seen, `source_ip BETWEEN ${address(set.first)} AND ${address(set.last)}`);
    }
    case "listed":
      return is(
        "rows",
        listedSql(set.kind, seen),
        set.lists === "any" ? "1" : `list_id IN ${bind("Array(String)", set.lists)}`,
      );
    case "observed": {
      const column = OBSERVED_COLUMNS[set.field];
      const isVisible = set.field === "sensor" && isOwnSensorsOnly ? ["dataset = 'personal'"] : [];
      return byText(select(`lowerUTF8(${column}) AS value`, OBSERVATIONS, OBSERVED, ...isVisible), set.match, "rows");
    }
    case "observed-before":
      return is("rows", select("observed_at", OBSERVATIONS, OBSERVED), `observed_at < ${time(set.before, bind)}`);
    case "counted": {
      const later = set.since === undefined ? [] : [`observed_at >= fromUnixTimestamp64Milli(${set.since}, 'UTC')`];
      // FINAL: an observation that arrived twice counts once. It has one day.
      const rows = set.of === "days" ? OBSERVATIONS : `${OBSERVATIONS} FINAL`;
      const source = `${select(`${COUNTED[set.of]} AS counted`, rows, OBSERVED, ...later)}
        GROUP BY source_ip SETTINGS do_not_merge_across_partitions_select_final = 1`;
      return is("rows", source, between("counted", "UInt64", set));
    }
  }
}

/** SQL: what a set counts. */
const COUNTED = {
  observations: "count()",
  sensors: "uniqExact(sensor_id)",
  days: "uniqExact(toDate(observed_at, 'UTC'))",
} as const;

type SetOf<Type extends AddressSet["type"]> = Extract<AddressSet, { readonly type: Type }>;

/** A value is five digits, a slash and the transport. Ports that follow each other are one range of the key. */
function portSql({ first, last, protocol }: SetOf<"port">, bind: Bind): string {
  const digits = (port: number) => String(port).padStart(5, "0");
  if (protocol !== undefined && first === last) return `value = ${bind("String", `${digits(first)}/${protocol}`)}`;
  const range = `value >= '${digits(first)}' AND value < '${digits(last + 1)}'`;
  return protocol === undefined ? range : `${range} AND substring(value, 7) = ${bind("String", protocol)}`;
}

/**
 * SQL: the seen addresses that are in the networks of a kind, with their lists. The ranges of a kind are disjoint: the
 * last one that begins before an address is the only one that may have it.
 */
function listedSql(kind: NetworkKind, seen: string): string {
  return `SELECT toUInt32(address.source_ip) AS source_ip, listed.list_id AS list_id
    FROM (SELECT 1 AS one, toUInt32(source_ip) AS source_ip FROM (${seen})) AS address
    ASOF JOIN (
      SELECT 1 AS one, first, last, list_id FROM ${NETWORK_RANGES}
      WHERE kind = '${kind}' AND generation = (SELECT max(generation) FROM ${NETWORK_GENERATIONS} WHERE kind = '${kind}')
    ) AS listed ON listed.one = address.one AND address.source_ip >= listed.first
    WHERE address.source_ip <= listed.last`;
}
