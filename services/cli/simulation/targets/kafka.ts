import { createTopic } from "@noisefloor/ingest/sources/kafka/topics.ts";
import { kafkaSink } from "@noisefloor/ingest/store/publish.ts";
import { kafkaProducer } from "@noisefloor/kafka/producer.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { toObservation } from "../observation.ts";
import type { SimulatedInternet } from "../simulate.ts";
import type { SimulationTarget } from "./target.ts";

/** Into the topic of the intake. */
export async function kafkaTarget(
  internet: SimulatedInternet,
  { settings, log }: CommandContext,
): Promise<SimulationTarget> {
  if (settings.kafka === undefined) throw new UserError("--to kafka needs KAFKA_BROKERS");
  if (settings.kafka.createTopics) await createTopic(settings.kafka, log);
  const producer = await kafkaProducer(settings.kafka.connection, log);
  const sink = kafkaSink(producer.produce, settings.kafka.topic);
  return {
    ...{ verb: "published", maxBatch: 50_000, concurrent: 2 },
    async send(observations) {
      const accepted = observations.map((one) => {
        const valid = toObservation(internet, one);
        const record = { bytes: Buffer.from(JSON.stringify(valid.observation)), fallbackId: "" };
        return { record, valid, tagIds: [] };
      });
      await sink({ accepted, rejected: [] });
      return accepted.length;
    },
    close: producer.close,
  };
}
