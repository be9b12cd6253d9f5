import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { DiskGuard } from "@noisefloor/clickhouse/server/disk-space.ts";
import { createTopic } from "@noisefloor/ingest/sources/kafka/topics.ts";
import { observationSink } from "@noisefloor/ingest/store/observation-sink.ts";
import { drySink, type Sink } from "@noisefloor/ingest/store/sink.ts";
import { topicSink } from "@noisefloor/ingest/store/topic-sink.ts";
import { kafkaProducer } from "@noisefloor/kafka/producer.ts";
import type { CommandContext } from "../framework/command.ts";
import type { Store } from "../store/store.ts";
import { openRows } from "./row-options.ts";

/** Where a replay's accepted records go, and what the summary calls that. */
export type ReplayTarget = {
  readonly verb: string;
  readonly sink: Sink;
  readonly close: () => Promise<void>;
};

/** A dry run stores nothing. */
export const DRY_RUN: ReplayTarget = { verb: "accepted", sink: drySink, close: async () => {} };

/** The topic when brokers are configured, whose consumer then gives the observations their tags; else ClickHouse. */
export async function openTarget(
  context: CommandContext,
  { client }: Store,
  catalogue: TagCatalogue,
  disk: DiskGuard,
): Promise<ReplayTarget> {
  const { settings, log } = context;
  if (settings.kafka === undefined) {
    const { rows, stop } = await openRows(context, client, catalogue);
    const sink = observationSink(client, { retryForMs: 60_000, assertSpace: disk.assertSpace, rows });
    return { verb: "stored", sink, close: async () => stop() };
  }
  if (settings.kafka.createTopics) await createTopic(settings.kafka, log);
  const producer = await kafkaProducer(settings.kafka.connection, log);
  return { verb: "published", sink: topicSink(producer.produce, settings.kafka.topic), close: producer.close };
}
