import { chunksOf } from "@noisefloor/domain/chunks.ts";
import { Partitioners } from "kafkajs";
import type { Logger } from "pino";
import { connectKafka, type KafkaConnection } from "./connection.ts";
import { isMessageTooLarge, toKafkaError, toProduceError } from "./library-errors.ts";
import { sizeOf } from "./message.ts";
import { MessageTooLargeError } from "./port/errors.ts";
import type { ProducedMessage, StreamProducer } from "./port/port.ts";

/** More messages than this go in several requests, each well under a broker's usual limit for a batch. */
const REQUEST_BYTES = 512 * 1024;

/** A producer that waits for all in-sync replicas. */
export async function kafkaProducer(connection: KafkaConnection, log: Logger): Promise<StreamProducer> {
  const producer = connectKafka(connection, log).producer({
    allowAutoTopicCreation: false,
    // The default, named: otherwise the library warns at every start that the default has changed.
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect().catch((error: unknown) => {
    throw toKafkaError(error, connection);
  });
  const send = (topic: string, messages: readonly ProducedMessage[]) =>
    producer.send({
      topic,
      acks: -1,
      messages: messages.map(({ key, value, headers }) => ({ key, value, headers: { ...headers } })),
    });
  return {
    async produce(topic, messages) {
      const tooLarge: ProducedMessage[] = [];
      let cause: unknown;
      const sendChunk = async (chunk: readonly ProducedMessage[]) => {
        try {
          await send(topic, chunk);
        } catch (error) {
          if (!isMessageTooLarge(error)) throw toProduceError(error, connection);
          cause = error;
          // The broker does not say which message is too large, so each is sent alone.
          if (chunk.length === 1) tooLarge.push(...chunk);
          else for (const message of chunk) await sendChunk([message]);
        }
      };
      for (const chunk of chunksOf(messages, sizeOf, { bytes: REQUEST_BYTES })) await sendChunk(chunk);
      if (tooLarge.length > 0) throw new MessageTooLargeError(topic, tooLarge, { cause });
    },
    close: () => producer.disconnect(),
  };
}
