import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { floorToHour, HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { twoAtOnce } from "./two-at-once.ts";

/**
 * The size of a history. The defaults, with 70 tags, make 45.8 million observations of 2.0 million addresses: a heavy
 * tag with 15,000 observations an hour among others with 90.
 */
export type HistoryOptions = {
  /** The same seed, sizes and end make the same rows. */
  readonly seed: number;
  /** The first is the heavy tag, the last the steady one, the others are ordinary. */
  readonly tagIds: readonly string[];
  /** Milliseconds since 1970 UTC; no observation is later. */
  readonly end: number;
  readonly days?: number;
  readonly heavyPerHour?: number;
  /** For each ordinary tag, and for the steady one. */
  readonly ordinaryPerHour?: number;
  /** The most addresses of the heavy tag that are active at one time, and how many more come in the whole history. */
  readonly heavyAddresses?: { readonly active: number; readonly later: number };
  /** Draws the heavy tag's addresses with a skew: a few come in each hour, many in a few hours of the history. */
  readonly isHeavySkewed?: boolean;
  /** The same for each ordinary tag. */
  readonly ordinaryAddresses?: { readonly active: number; readonly later: number };
  /** The number of addresses of the steady tag, the same in the whole history. */
  readonly steadyAddresses?: number;
  /** Hours of observations in each insert; a batch of the intake has some minutes. */
  readonly hoursPerInsert?: number;
  /** Called after each insert with the rows so far and in total. */
  readonly onProgress?: (rows: number, total: number) => void;
};

export type History = {
  readonly rows: number;
  /** {@link addressOf} of 0 to one less than this may have been seen; those from this on never were. */
  readonly addresses: number;
  /** Addresses of the heavy tag have the numbers below this. */
  readonly heavyAddresses: number;
};

/** Addresses lie in 11.0.0.0 to 99.255.255.255, all of them routable. */
const FIRST_ADDRESS = 11 * 2 ** 24;
const ADDRESSES = 89 * 2 ** 24;
/** The oldest hours: answers do not reach them any more once the history is made and measured. */
const HOURS_LEFT_OUT = 4;
/** A prime: multiples of it meet every address once, far from their neighbours. */
const SPREAD = 2_654_435_761;

/** The address with a number, in dotted decimal. */
export function addressOf(number: number): string {
  const address = FIRST_ADDRESS + Number((BigInt(number) * BigInt(SPREAD)) % BigInt(ADDRESSES));
  return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join(".");
}

/** SQL: the same as a number. */
export const addressNumber = (number: string) => `toUInt32(${FIRST_ADDRESS} + (${number}) * ${SPREAD} % ${ADDRESSES})`;

/**
 * Fills `observations`, and with it everything that its views fill, inside ClickHouse. A tag's addresses come and go:
 * most of an hour's were there the hour before, and few of the first day's are there on the last. Those of the steady
 * tag stay, as those of a company that scans do. One in eight observations of an ordinary tag is of one of the heavy
 * tag's addresses. Of all tags, one in ten is in the community dataset.
 */
export async function fillHistory(client: ClickHouseClient, options: HistoryOptions): Promise<History> {
  const { seed, tagIds, end, days = 90, heavyPerHour = 15_000, ordinaryPerHour = 90, hoursPerInsert = 24 } = options;
  const { heavyAddresses: heavy = { active: 200_000, later: 128_000 } } = options;
  const { ordinaryAddresses: ordinary = { active: 12_000, later: 12_200 }, steadyAddresses = 1_000 } = options;
  const { isHeavySkewed = false } = options;
  const hours = days * 24 - HOURS_LEFT_OUT;
  const perHour = heavyPerHour + (tagIds.length - 1) * ordinaryPerHour;
  const rows = hours * perHour;
  // The hour that `end` is in has none of them, so that no time lies ahead of it.
  const start = floorToHour(end) - hours * HOUR_MS;
  const params = {
    seed,
    tagIds: [...tagIds],
    start,
    perHour,
    heavyPerHour,
    ordinaryPerHour,
    hours,
    heavyActive: heavy.active,
    heavyLater: heavy.later,
    isHeavySkewed,
    ordinaryActive: ordinary.active,
    ordinaryLater: ordinary.later,
    steadyTag: tagIds.length - 1,
    steadyAddresses,
  };
  let stored = 0;
  await twoAtOnce(every(hoursPerInsert, hours), async (hour) => {
    const count = Math.min(hoursPerInsert, hours - hour) * perHour;
    await client.command({
      query: INSERT,
      query_params: { ...params, from: hour * perHour, count },
      // The intake's inserts do not search their own rows for repeated ones, either.
      clickhouse_settings: { max_execution_time: 0, optimize_on_insert: 0 },
    });
    stored += count;
    options.onProgress?.(stored, rows);
  });
  const heavyAddresses = heavy.active + heavy.later;
  const ordinaryAddresses = (tagIds.length - 2) * (ordinary.active + ordinary.later);
  return { rows, addresses: heavyAddresses + ordinaryAddresses + steadyAddresses, heavyAddresses };
}

/** 0, step, 2 * step and so on, all less than `end`. */
function* every(step: number, end: number): Generator<number> {
  for (let value = 0; value < end; value += step) yield value;
}

/** Which of a tag's addresses: of those that are active in the hour, one by the random number. */
const number = (random: string, active: string, later: string) =>
  `${random} % {${active}:UInt64} + intDiv(hour * {${later}:UInt64}, {hours:UInt64})`;

/**
 * Which of a tag's addresses, by the cube of the random number: half of the draws fall on an eighth of the addresses.
 */
const skewed = (random: string, active: string) =>
  `toUInt64({${active}:UInt64} * pow(toUInt32(${random}) / pow(2, 32), 3))`;

const INSERT = `
  INSERT INTO observations (
    observation_id, observed_at, received_at, dataset, workspace_id, sensor_id, source_ip, source_port, destination_port,
    transport, tags, http_method, http_path, http_user_agent, ssh_hassh, asn, organization, country, rdns)
  WITH
    intDiv(number, {perHour:UInt64}) AS hour,
    number % {perHour:UInt64} AS place,
    cityHash64({seed:UInt64}, number) AS random,
    cityHash64(random) AS random2,
    cityHash64(random2) AS random3,
    place < {heavyPerHour:UInt64} AS is_heavy,
    if(is_heavy, 0, 1 + intDiv(place - {heavyPerHour:UInt64}, {ordinaryPerHour:UInt64})) AS tag,
    {heavyActive:UInt64} + {heavyLater:UInt64} + (tag - 1) * ({ordinaryActive:UInt64} + {ordinaryLater:UInt64}) AS first,
    multiIf(
      tag = {steadyTag:UInt64}, first + random % {steadyAddresses:UInt64},
      is_heavy OR intDiv(random2, 1000) % 8 = 0,
        if({isHeavySkewed:Bool}, ${skewed("random", "heavyActive")}, ${number("random", "heavyActive", "heavyLater")}),
      first + ${number("random", "ordinaryActive", "ordinaryLater")}) AS address,
    cityHash64(address) AS of_address,
    random2 % 10 = 1 AS is_http
  SELECT
    lower(hex(random)) AS observation_id,
    fromUnixTimestamp64Milli(toInt64({start:UInt64} + hour * ${HOUR_MS} + random2 % ${HOUR_MS}), 'UTC') AS observed_at,
    observed_at + toIntervalSecond(1) AS received_at,
    if(random3 % 10 = 1, 'community', 'global') AS dataset,
    '' AS workspace_id,
    concat('sensor-', toString(random3 % 40)) AS sensor_id,
    toIPv4(${addressNumber("address")}) AS source_ip,
    toUInt16(1024 + random3 % 64000) AS source_port,
    [22, 23, 80, 443, 445, 2222, 3389, 5900, 8080, 8443][1 + if(random2 % 4 = 0, random3, of_address) % 10] AS destination_port,
    if(random3 % 50 = 0, 'udp', 'tcp') AS transport,
    [{tagIds:Array(UUID)}[1 + tag]] AS tags,
    if(is_http, 'GET', '') AS http_method,
    if(is_http, concat('/', toString(random3 % 500)), '') AS http_path,
    if(is_http, concat('scanner/', toString(of_address % 300)), '') AS http_user_agent,
    if(random2 % 20 = 2, lower(hex(of_address % 200)), '') AS ssh_hassh,
    toUInt32(1 + of_address % 3000) AS asn,
    concat('Network ', toString(of_address % 3000)) AS organization,
    ['CN', 'US', 'NL', 'RU', 'BR', 'IN', 'DE', 'VN'][1 + of_address % 8] AS country,
    if(of_address % 3 = 0, concat('host-', toString(address), '.example.net'), '') AS rdns
  FROM numbers({from:UInt64}, {count:UInt64})`;
