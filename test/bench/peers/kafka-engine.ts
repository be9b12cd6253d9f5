import { randomUUID } from "node:crypto";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, runForOne } from "@noisefloor/clickhouse/client/query.ts";
import type { KafkaSettings } from "@noisefloor/ingest/sources/kafka/connect.ts";
import { z } from "zod";

const COLUMNS = `observation_id String, observed_at String, sensor_id String, source_ip IPv4, source_port UInt16,
  destination_port UInt16, transport String, tags Array(UUID), asn UInt32, organization String, country String, rdns String`;

const engines = defineQuery({
  name: "bench-kafka-engine",
  sql: "SELECT count() AS found FROM system.table_engines WHERE name = 'Kafka'",
  params: z.object({}),
  row: z.object({ found: z.int() }),
});

/**
 * Lets ClickHouse itself consume a topic into `observations`. @returns what ends that.
 * @throws Error when the server was built without that engine.
 */
export async function startKafkaEngine(client: ClickHouseClient, kafka: KafkaSettings): Promise<() => Promise<void>> {
  if ((await runForOne(client, engines, {})).found === 0) throw new Error("the server was built without it");
  await client.command({
    query: `CREATE TABLE bench_kafka (${COLUMNS}) ENGINE = Kafka SETTINGS
      kafka_broker_list = '${kafka.connection.brokers.join(",")}', kafka_topic_list = '${kafka.topic}',
      kafka_group_name = '${randomUUID()}', kafka_format = 'JSONEachRow', kafka_num_consumers = 1,
      kafka_max_block_size = 65536, kafka_flush_interval_ms = 500`,
  });
  await client.command({
    query: `CREATE MATERIALIZED VIEW bench_kafka_mv TO observations AS
      SELECT * REPLACE (parseDateTime64BestEffort(observed_at, 3, 'UTC') AS observed_at), 'global' AS dataset
      FROM bench_kafka`,
  });
  return async () => {
    await client.command({ query: "DROP TABLE bench_kafka_mv SYNC" });
    await client.command({ query: "DROP TABLE bench_kafka SYNC" });
  };
}
