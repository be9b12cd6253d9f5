import { IS_ATTACK } from "@noisefloor/clickhouse/client/attack-sql.ts";
import { type AddressSet, keyOf, type SetMatch, type SetQuery } from "../search-sets/address-set.ts";
import { mergeTexts } from "../search-sets/merge-texts.ts";
import { readSetsSql } from "../search-sets/read-sets.ts";
import { type SetContext, type SetSource, setSource } from "../search-sets/set-sql.ts";
import { type Bind, textSql } from "../search-sets/text-sql.ts";

/** A search whose conditions are about the observations of one address in one bucket of time. */
export type BucketConditions = {
  /** SQL: for each condition a column over the observations of an address in a bucket. */
  readonly columns: readonly string[];
  /**
   * SQL: a SELECT of addresses as numbers, `ip`, each with the numbers of the conditions, `lists`, that the address
   * alone decides and that hold for it; undefined without such conditions.
   */
  readonly listed: string | undefined;
  /** SQL: whether they match, by these columns and by `lists`. */
  readonly matches: string;
};

/** Unlike that of a search over rollups, it reads observations: no rollup has the values of an hour. */
export function compileForBuckets(query: SetQuery, context: SetContext): BucketConditions {
  const known = new Map<string, string>();
  const columns: string[] = [];
  const listed: SetSource[] = [];
  const conditionOf = (set: AddressSet) => {
    const key = keyOf(set);
    const name = known.get(key) ?? addCondition(set);
    known.set(key, name);
    return name;
  };
  const addCondition = (set: AddressSet) => {
    if (set.type === "listed") return `has(lists, ${listed.push(setSource(set, context)) - 1})`;
    return `set${columns.push(`${columnSql(set, context)} AS set${columns.length}`) - 1}`;
  };
  const matches = toSql(mergeTexts(query), conditionOf);
  return { matches, columns, listed: listed.length === 0 ? undefined : listedSql(listed, context.bind) };
}

/** Networks are read once for all conditions on them: there may be hundreds. */
function listedSql(sources: readonly SetSource[], bind: Bind): string {
  return `SELECT arrayJoin(bitmapToArray(addresses)) AS ip, groupArray(toUInt16(number)) AS lists
    FROM (${readSetsSql(sources, bind)}) GROUP BY ip`;
}

function toSql(query: SetQuery, conditionOf: (set: AddressSet) => string): string {
  switch (query.type) {
    case "constant":
      return query.value ? "true" : "false";
    case "set":
      return conditionOf(query.set);
    case "not":
      return `NOT (${toSql(query.of, conditionOf)})`;
    case "and":
    case "or":
      return `(${query.of.map((one) => toSql(one, conditionOf)).join(query.type === "and" ? " AND " : " OR ")})`;
  }
}

const COLUMNS = {
  path: "http_path",
  user_agent: "http_user_agent",
  host: "http_host",
  ja3: "tls_ja3",
  ja4: "tls_ja4",
  hassh: "ssh_hassh",
  rdns: "rdns",
  country: "country",
  method: "http_method",
  region: "region",
  city: "city",
  sensor: "sensor_id",
  transport: "transport",
} as const;

/** An observation that arrived twice counts once. */
const OBSERVATION = "dataset, workspace_id, observed_at, sensor_id, observation_id";

function countedSql({ of, since = 0 }: Extract<AddressSet, { type: "counted" }>): string {
  switch (of) {
    case "observations":
      return `uniqExact(${OBSERVATION})`;
    case "sensors":
      return "uniqExact(sensor_id)";
    case "days":
      return `uniqExactIf(toDate(observed_at, 'UTC'), observed_at >= fromUnixTimestamp64Milli(${since}, 'UTC'))`;
  }
}

/** SQL: whether an observation of the group is as the condition asks for; of `counted`, whether their number is. */
function columnSql(set: Exclude<AddressSet, { type: "listed" }>, { bind, isOwnSensorsOnly }: SetContext): string {
  const between = (value: string, type: string, { first, last }: { first: number; last: number }) =>
    `${value} BETWEEN ${bind(type, first)} AND ${bind(type, last)}`;
  const time = (ms: number) => `fromUnixTimestamp64Milli(${bind("Int64", ms)}, 'UTC')`;
  const text = (column: string, match: SetMatch) => textSql(`lowerUTF8(${column})`, match, bind);
  const since = (after: number | undefined) => (after === undefined ? [] : [`observed_at >= ${time(after)}`]);
  const any = (...conditions: readonly string[]) => `max(${conditions.map((one) => `(${one})`).join(" AND ")})`;
  switch (set.type) {
    case "seen":
      return set.after === undefined ? "1" : any(...since(set.after));
    case "attacked":
      return any(IS_ATTACK);
    case "tagged":
      return any(`hasAny(tags, ${bind("Array(UUID)", set.ids)})`, ...since(set.after));
    case "value":
      return any(text(COLUMNS[set.field], set.match));
    case "port":
      return any(
        "destination_port IS NOT NULL",
        between("assumeNotNull(destination_port)", "UInt16", set),
        ...(set.protocol === undefined ? [] : [`transport = ${bind("String", set.protocol)}`]),
      );
    case "asn":
      return any(between("asn", "UInt32", set));
    case "organization":
      return any(text("organization", set.match));
    case "address":
      return any(between("toUInt32(source_ip)", "UInt32", set));
    case "observed":
      return any(
        text(COLUMNS[set.field], set.match),
        ...(set.field === "sensor" && isOwnSensorsOnly ? ["dataset = 'personal'"] : []),
      );
    case "observed-before":
      return any(`observed_at < ${time(set.before)}`);
    case "counted":
      return between(countedSql(set), "UInt64", set);
  }
}
