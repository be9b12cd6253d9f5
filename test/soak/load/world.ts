import { randomUUID } from "node:crypto";
import { type ClickHouseClient, type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { tagRecords } from "@noisefloor/clickhouse/tags/tags.ts";
import { addCaller } from "../../support/worlds/callers.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";
import { makeTag } from "../../support/worlds/world.ts";

/** A large store with one tag that most observations carry. */
export type LoadedStore = {
  readonly connection: ClickHouseConnection;
  readonly client: ClickHouseClient;
  readonly tagId: string;
  readonly key: string;
};

/** Addresses from 45.0.0.0 on. */
export const ADDRESSES = 200_000;
const ROWS_PER_INSERT = 250_000;

export function addressOf(number: number): string {
  return `45.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}

/** Fills a database by a query inside the server: no row passes through this process. */
export async function loadStore(server: ClickHouseConnection, observations: number): Promise<LoadedStore> {
  const connection = { ...server, database: `load_${randomUUID().replaceAll("-", "")}` };
  await migrate(connection, MIGRATIONS);
  const client = connect(connection, "noisefloor-tests");
  const tag = makeTag("loud", "malicious");
  await tagRecords.write(client, [tag], Date.now());
  const key = await addCaller(client, "load", "unlimited", ["community_dataset"]);
  for (let from = 0; from < observations; from += ROWS_PER_INSERT) {
    await client.command({
      query: `
        INSERT INTO observations (observation_id, observed_at, dataset, sensor_id, source_ip, destination_port, transport,
          tags, http_method, http_path, http_user_agent, asn, organization, country, city)
        SELECT toString(number), now64(3) - toIntervalSecond(intHash32(number) % (90 * 86400)), 'global',
          concat('sensor-', toString(number % 20)), toIPv4(toUInt32(toIPv4('45.0.0.0')) + intHash32(number + 7) % ${ADDRESSES}),
          number % 65535, 'tcp', [{tag:UUID}], 'GET', concat('/path/', toString(number % 5000), '/', repeat('x', 100)),
          concat('agent/', toString(number % 300)), number % 60000, concat('organization ', toString(number % 1000)), 'VN', 'Hanoi'
        FROM numbers(${from}, ${Math.min(ROWS_PER_INSERT, observations - from)})`,
      query_params: { tag: tag.id },
    });
  }
  // The load of merging a million new rows is not the callers' doing.
  for (const table of ["observations", "address_tags", "address_facets", "tag_addresses", "tag_activity_hourly"]) {
    await client.command({ query: `OPTIMIZE TABLE ${table} FINAL` });
  }
  return { connection, client, tagId: tag.id, key };
}
