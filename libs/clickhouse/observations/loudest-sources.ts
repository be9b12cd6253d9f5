import type { LoudestSource } from "@noisefloor/domain/sensors/own-address.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/connect.ts";
import { defineQuery, run } from "../client/query.ts";
import { OBSERVATIONS } from "../client/table-names.ts";

/** Without FINAL and with a sketch for each sensor: it passes over the rows once, and its memory does not grow. */
const loudest = defineQuery({
  name: "loudest-sources",
  sql: `SELECT sensor_id AS sensor, count() AS observations, toString(tupleElement(approx_top_k(1)(source_ip)[1], 1)) AS address
    FROM ${OBSERVATIONS} WHERE observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY sensor ORDER BY observations DESC LIMIT 1000`,
  params: z.object({ since: z.int() }),
  row: z.object({ sensor: z.string(), observations: z.int(), address: z.string() }),
});

/** A client of the sensor's own gets its port from 32768 on. */
const ofSources = defineQuery({
  name: "traffic-of-sources",
  sql: `SELECT sensor_id AS sensor, toString(source_ip) AS address, count() AS ofSource,
      countIf(destination_port = 53 OR destination_port >= 32768 OR source_port < 1024) AS outgoing,
      uniq(destination_port) AS ports
    FROM ${OBSERVATIONS}
    WHERE source_ip IN {addresses:Array(IPv4)} AND observed_at >= fromUnixTimestamp64Milli({since:Int64}, 'UTC')
    GROUP BY sensor, address`,
  params: z.object({ since: z.int(), addresses: z.array(z.string()) }),
  row: z.object({
    sensor: z.string(),
    address: z.string(),
    ofSource: z.int(),
    outgoing: z.int(),
    ports: z.int(),
  }),
});

const DAYS = 30;

/** The source with most observations of each sensor in the last 30 days. @param now milliseconds since 1970 UTC. */
export async function readLoudestSources(client: ClickHouseClient, now: number): Promise<LoudestSource[]> {
  const since = now - DAYS * DAY_MS;
  const found = await run(client, loudest, { since });
  if (found.length === 0) return [];
  const addresses = [...new Set(found.map(({ address }) => address))];
  const traffic = await run(client, ofSources, { since, addresses });
  return found.flatMap((one) => {
    const own = traffic.find(({ sensor, address }) => sensor === one.sensor && address === one.address);
    return own === undefined ? [] : [{ ...own, observations: one.observations }];
  });
}
