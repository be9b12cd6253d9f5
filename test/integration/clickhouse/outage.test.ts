import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import { openTagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { type EmbeddedClickHouse, startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { LOG_FORMATS } from "@noisefloor/ingest/formats/all.ts";
import { createIngest, INGEST_OPERATIONS } from "@noisefloor/ingest/service/service.ts";
import { createMetrics } from "@noisefloor/telemetry/metrics.ts";
import getPort from "get-port";
import { afterEach, beforeEach, expect, test } from "vitest";
import { addressOf, observation } from "../../support/builders/observation.ts";
import { eventually } from "../../support/eventually.ts";
import { PLAIN } from "../../support/ingest/decode.ts";
import { expectDescribed } from "../../support/oracle/description.ts";
import { freshKafka, producerOf } from "../../support/worlds/consuming-world.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";
import { makeApp, silent } from "../../support/worlds/http.ts";

let dataDir: string;
let server: EmbeddedClickHouse;
let ports: { httpPort: number; tcpPort: number };

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "noisefloor-outage-"));
  ports = { httpPort: await getPort(), tcpPort: await getPort() };
  server = await startEmbedded(dataDir, ports);
  await migrate(server.connection, MIGRATIONS);
});
afterEach(async () => {
  await server.stop();
  await rm(dataDir, { recursive: true });
});

const seen = (index: number) => observation(addressOf(index), Date.now() - 60_000);

test("while the store is down, Kafka waits and HTTP gets a 503; when it is back, everything is stored", async () => {
  const client = connect(server.connection, "noisefloor-tests");
  const catalogue = await openTagCatalogue(client);
  const accessCache = await openAccessCache(client);
  const kafka = await freshKafka();
  const deps = {
    client,
    catalogue,
    accessCache,
    formats: LOG_FORMATS,
    decode: PLAIN,
    retentionDays: () => 100,
    sensorKeys: [],
    log: silent,
    now: Date.now,
  };
  const consuming = await createIngest({ ...deps, kafka, metrics: createMetrics() });
  const direct = await createIngest({ ...deps, kafka: undefined, metrics: createMetrics() });
  const app = await makeApp(INGEST_OPERATIONS, direct.register);
  await consuming.start();
  const producer = await producerOf(kafka);
  const send = (from: number, to: number) =>
    producer.produce(
      kafka.topic,
      Array.from({ length: to - from }, (_, index) => ({
        key: null,
        value: Buffer.from(JSON.stringify(seen(from + index))),
      })),
    );
  const count = async () => {
    const result = await client.query({ query: "SELECT count() FROM observations FINAL", format: "TabSeparated" });
    return Number(await result.text());
  };
  const post = (index: number) =>
    app.inject({ method: "POST", url: "/v1/observations", payload: JSON.stringify(seen(index)) });

  await send(0, 100);
  await eventually(async () => expect(await count()).toBe(100));
  await server.stop();
  await send(100, 300);
  const bulk = `{"create":{"_index":"a"}}\n${JSON.stringify(seen(998))}\n`;
  const [rejected, unstored] = await Promise.all([
    post(999),
    app.inject({ method: "POST", url: "/_bulk", payload: bulk }),
  ]);
  expectDescribed("POST", "/_bulk", unstored.statusCode, unstored.json());
  expect(unstored.json()).toMatchObject({ status: 503, items: [{ create: { _index: "a", status: 503 } }] });
  expect(rejected.statusCode).toBe(503);
  expect(rejected.json()).toEqual({
    message: "The store cannot be reached at the moment: send the request again later",
  });

  server = await startEmbedded(dataDir, ports);
  await eventually(async () => expect(await count()).toBe(300), 60_000);
  expect((await post(999)).statusCode).toBe(202);
  expect(await count()).toBe(301);

  await consuming.stop();
  await producer.close();
  await app.close();
  catalogue.stop();
  accessCache.stop();
  await client.close();
});
