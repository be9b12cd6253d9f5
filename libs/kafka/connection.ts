import kafkajs, {
  CompressionTypes,
  Kafka,
  type KafkaConfig,
  logLevel,
  type RetryOptions,
  type SASLOptions,
} from "kafkajs";
import type { Logger } from "pino";
import { decompress } from "./codecs.ts";
import { replaceAbortedFilter } from "./kafkajs-aborted-transactions.ts";
import { replaceFetchDecoder } from "./kafkajs-fetch-decoder.ts";
import { MOST_BATCH_COST } from "./record-batch.ts";

/** How to reach the brokers. */
export type KafkaConnection = {
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly tls: boolean;
  readonly sasl?:
    | {
        readonly mechanism: "plain" | "scram-sha-256" | "scram-sha-512";
        readonly username: string;
        readonly password: string;
      }
    | undefined;
};

replaceFetchDecoder();
// Behind it, as this loads what keeps the reader that it finds.
replaceAbortedFilter();
// What is left to the library are batches from before Kafka 0.11, gzip among them it knows.
for (const type of [CompressionTypes.Snappy, CompressionTypes.LZ4] as const) {
  kafkajs.CompressionCodecs[type] = () => ({
    compress: () => Promise.reject(new Error("what we publish is not compressed")),
    decompress: (compressed: Buffer) => decompress(type, compressed, MOST_BATCH_COST),
  });
}

/** @param retry how often the library itself tries again what fails; its own default when left out. */
export function connectKafka(connection: KafkaConnection, log: Logger, retry: RetryOptions = {}): Kafka {
  const config: KafkaConfig = {
    retry,
    clientId: connection.clientId,
    brokers: [...connection.brokers],
    ssl: connection.tls,
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => {
      // A stack inside the library tells an operator nothing that the message does not.
      const { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...fields } = entry.log;
      // Each answer with an error code is told, also those that are a matter of course, as of a group that is being made.
      // What remains of them after the library's own tries is thrown, and told by whoever asked.
      if (message.startsWith("Response ")) log.debug(fields, `kafka: ${message}`);
      else if (entry.level <= logLevel.ERROR) log.error(fields, `kafka: ${message}`);
      else log.warn(fields, `kafka: ${message}`);
    },
  };
  if (connection.sasl !== undefined) config.sasl = saslOptions(connection.sasl);
  return new Kafka(config);
}

function saslOptions(sasl: NonNullable<KafkaConnection["sasl"]>): SASLOptions {
  const { mechanism, username, password } = sasl;
  // One literal mechanism a branch: the library's type is a union over them.
  if (mechanism === "plain") return { mechanism, username, password };
  if (mechanism === "scram-sha-256") return { mechanism, username, password };
  return { mechanism, username, password };
}

/** Cannot be reached, or refuses what was asked of it: its message says which and why. */
export class StreamError extends Error {
  override name = "StreamError";
}

/** Turns the library's errors at a start into a sentence for whoever starts the process. */
export function toStreamError(error: unknown, { brokers }: KafkaConnection): unknown {
  if (!(error instanceof kafkajs.KafkaJSError)) return error;
  return new StreamError(`Kafka at ${brokers.join(", ")} cannot be used: ${error.message}`, { cause: error });
}

/** What was wrong at first: the library wraps an error each time that it has tried for long enough. */
function originOf(error: unknown): unknown {
  return error instanceof kafkajs.KafkaJSError && error.cause !== undefined ? originOf(error.cause) : error;
}

/** Errors that the library takes for the end, and that come of brokers which are away or have too much to do. */
const AWAY: ReadonlySet<string> = new Set(["KafkaJSGroupCoordinatorNotFound", "KafkaJSTimeout", "KafkaJSLockTimeout"]);

/** Is it one of the library's errors that pass when the brokers are back, however long that takes? */
export function isPassing(error: unknown): boolean {
  const origin = originOf(error);
  return origin instanceof kafkajs.KafkaJSError && (origin.retriable || AWAY.has(origin.name));
}

const TOO_LARGE: ReadonlySet<string> = new Set(["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"]);

export function isTooLarge(error: unknown): boolean {
  const origin = originOf(error);
  return origin instanceof kafkajs.KafkaJSProtocolError && TOO_LARGE.has(origin.type);
}
