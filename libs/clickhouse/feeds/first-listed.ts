import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { INDICATOR_NAME, INDICATOR_NAMESPACE, indicatorUuidOf } from "@noisefloor/domain/feeds/indicator-id.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { literal } from "../client/sql-text.ts";
import { FEED_FIRST_LISTED } from "../client/table-names.ts";

const firstListed = defineQuery({
  name: "feed-first-listed",
  sql: `SELECT address, toUnixTimestamp64Milli(min(first_listed)) AS listedAt FROM ${FEED_FIRST_LISTED}
    WHERE address IN {addresses:Array(UInt32)} GROUP BY address`,
  params: z.object({ addresses: z.array(z.int()) }),
  row: z.object({ address: z.int(), listedAt: z.int() }),
});

/** When addresses first entered any feed, in milliseconds since 1970 UTC. Those of which that is not stored are missing. */
export async function readFirstListed(
  client: ClickHouseClient,
  addresses: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await run(client, firstListed, { addresses: [...addresses] });
  return new Map(rows.map(({ address, listedAt }) => [address, listedAt]));
}

/** How many hexadecimal digits of an id are those of the digest that it is made of, before its version. */
const DIGEST_DIGITS = 12;
const NAMESPACE = `unhex(${literal(INDICATOR_NAMESPACE.replaceAll("-", ""))})`;
const [BEFORE = "", AFTER = ""] = INDICATOR_NAME.map(literal);

const addressesOfIds = defineQuery({
  name: "feed-addresses-of-ids",
  sql: `SELECT DISTINCT address FROM ${FEED_FIRST_LISTED}
    WHERE lower(hex(substring(SHA1(concat(${NAMESPACE}, ${BEFORE}, IPv4NumToString(address), ${AFTER})), 1, ${DIGEST_DIGITS / 2})))
      IN {digits:Array(String)}`,
  params: z.object({ digits: z.array(z.string()) }),
  row: z.object({ address: z.int() }),
});

/** The addresses, of those that ever entered a feed, whose indicators have some ids. */
export async function readAddressesOfIds(
  client: ClickHouseClient,
  ids: readonly string[],
): Promise<ReadonlySet<number>> {
  const digits = ids.map((id) => id.replaceAll("-", "").slice(0, DIGEST_DIGITS));
  const rows = await run(client, addressesOfIds, { digits });
  return new Set(rows.flatMap(({ address }) => (ids.includes(indicatorUuidOf(numberToIpv4(address))) ? address : [])));
}
