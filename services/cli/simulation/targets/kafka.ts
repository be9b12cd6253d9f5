import { createTopic } from "@noisefloor/ingest/sources/kafka/topics.ts";
import { topicSink } from "@noisefloor/ingest/store/topic-sink.ts";
import { kafkaProducer } from "@noisefloor/kafka/producer.ts";
import { type CommandContext, UserError } from "../../framework/command.ts";
import { type SimulationTarget, toAccepted } from "./target.ts";

/** Into the topic of the intake. */
export async function kafkaTarget({ settings, log }: CommandContext): Promise<SimulationTarget> {
  if (settings.kafka === undefined) throw new UserError("--to kafka needs KAFKA_BROKERS");
  if (settings.kafka.createTopics) await createTopic(settings.kafka, log);
  const producer = await kafkaProducer(settings.kafka.connection, log);
  const sink = topicSink(producer.produce, settings.kafka.topic);
  return {
    verb: "published",
    async send(observations) {
      await sink.publish(observations.map((one) => toAccepted(one)));
      return observations.length;
    },
    close: producer.close,
  };
}
