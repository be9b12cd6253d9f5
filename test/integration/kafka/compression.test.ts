import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { ensureTopics } from "@noisefloor/kafka/admin.ts";
import { kafkaProducer } from "@noisefloor/kafka/producer.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { eventually } from "../../support/eventually.ts";
import { atVolume } from "../../support/volume.ts";
import { freshKafka, ingestOf } from "../../support/worlds/consuming-world.ts";
import { silent } from "../../support/worlds/http.ts";
import { createWorld, type World } from "../../support/worlds/world.ts";

const NOW = Date.now();
let world: World;
beforeAll(async () => {
  world = await createWorld(() => NOW);
});
afterAll(() => world.close());

const storedBy = defineQuery({
  name: "test-stored-by",
  sql: "SELECT count() AS n, sum(length(metadata)) AS bytes FROM observations FINAL WHERE sensor_id = {sensor:String}",
  params: z.object({ sensor: z.string() }),
  row: z.object({ n: z.int(), bytes: z.int() }),
});

// The broker recompresses every batch with the topic's codec, so the batches that are read were
// compressed by the reference implementation.
test.each(atVolume(["zstd"], ["gzip", "snappy", "lz4", "zstd"]))(
  "messages that are compressed with %s are read",
  async (method) => {
    const kafka = await freshKafka();
    const config = { "compression.type": method };
    await ensureTopics(kafka.connection, [{ name: kafka.topic, partitions: 2, config }], silent);
    const ingest = await ingestOf(world, kafka, () => NOW);
    await ingest.start();
    const producer = await kafkaProducer(kafka.connection, silent);
    // More than one block of each codec, some of it hardly compressible. With ids, as a busy broker may make the
    // producer send a batch twice.
    const messages = Array.from({ length: 3_000 }, (_, index) => ({
      key: null,
      value: Buffer.from(
        JSON.stringify({
          observation_id: `${method}-${index}`,
          observed_at: new Date(NOW - index).toISOString(),
          sensor_id: method,
          source_ip: `45.1.${index >> 8}.${index & 255}`,
          metadata: { noise: Buffer.from(`${index}`.repeat(index % 50)).toString("base64"), text: "again ".repeat(20) },
        }),
      ),
    }));
    await producer.produce(kafka.topic, messages);
    const bytes = messages.reduce((sum, { value }) => {
      const { metadata } = z.object({ metadata: z.unknown() }).parse(JSON.parse(value.toString()));
      return sum + JSON.stringify(metadata).length;
    }, 0);
    await eventually(async () =>
      expect(await run(world.client, storedBy, { sensor: method })).toEqual([{ n: 3_000, bytes }]),
    );
    await ingest.stop();
    await producer.close();
  },
);
