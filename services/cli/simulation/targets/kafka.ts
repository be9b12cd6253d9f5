import { createTopic } from "@noisefloor/ingest/sources/kafka/topics.ts";
import { kafkaSink } from "@noisefloor/ingest/store/publish.ts";
import { kafkaProducer } from "@noisefloor/kafka/producer.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { type SimulationTarget, toAccepted } from "./target.ts";

/** Into the topic of the intake. */
export async function kafkaTarget({ settings, log }: CommandContext): Promise<SimulationTarget> {
  if (settings.kafka === undefined) throw new UserError("--to kafka needs KAFKA_BROKERS");
  if (settings.kafka.createTopics) await createTopic(settings.kafka, log);
  const producer = await kafkaProducer(settings.kafka.connection, log);
  const sink = kafkaSink(producer.produce, settings.kafka.topic);
  return {
    ...{ verb: "published", maxBatch: 50_000, concurrent: 2 },
    async send(observations) {
      const accepted = observations.map((one) => toAccepted(one));
      await sink({ accepted, rejected: [] });
      return accepted.length;
    },
    close: producer.close,
  };
}
