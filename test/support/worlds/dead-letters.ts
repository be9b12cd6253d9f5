import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { DEAD_LETTERS } from "@noisefloor/clickhouse/client/table-names.ts";
import { expect } from "vitest";
import { z } from "zod";
import { eventually } from "../eventually.ts";
import type { World } from "./world.ts";

const bytes = z.base64().transform((text) => Buffer.from(text, "base64"));

const kafkaDeadLetters = defineQuery({
  name: "test-kafka-dead-deadLetters",
  sql: `SELECT reason, detail, base64Encode(payload) AS payload, payload_bytes AS payloadBytes, position,
      kafka_topic AS topic, kafka_partition AS partition, toString(kafka_offset) AS offset,
      base64Encode(kafka_key) AS key, kafka_key_bytes AS keyBytes, kafka_headers AS headers
    FROM ${DEAD_LETTERS} FINAL WHERE source = 'kafka' ORDER BY kafka_partition, kafka_offset, position`,
  params: z.object({}),
  row: z.object({
    reason: z.string(),
    detail: z.string(),
    payload: bytes,
    payloadBytes: z.int(),
    position: z.int(),
    topic: z.string(),
    partition: z.int(),
    offset: z.string(),
    key: bytes,
    keyBytes: z.int(),
    headers: z.record(z.string(), z.string()),
  }),
});

/** The dead letters from Kafka by topic, partition and offset, once there are this many. */
export async function kafkaDeadLettersOf({ client }: Pick<World, "client">, count: number) {
  return eventually(async () => {
    const deadLetters = await run(client, kafkaDeadLetters, {});
    expect(deadLetters).toHaveLength(count);
    return deadLetters;
  });
}
