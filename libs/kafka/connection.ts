import { Kafka, type KafkaConfig, type LogEntry, logLevel, type RetryOptions, type SASLOptions } from "kafkajs";
import type { Logger } from "pino";
import { install } from "./kafkajs-patches/install.ts";

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

/**
 * The only place that creates the library's client, so that none runs without our patches.
 * @param retry the library's own retries; its defaults when left out.
 * @throws KafkaError when the installed library is not the version that the patches were written for.
 */
export function connectKafka(connection: KafkaConnection, log: Logger, retry: RetryOptions = {}): Kafka {
  install();
  const config: KafkaConfig = {
    retry,
    clientId: connection.clientId,
    brokers: [...connection.brokers],
    ssl: connection.tls,
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => writeLog(entry, log),
  };
  if (connection.sasl !== undefined) config.sasl = saslOptions(connection.sasl);
  return new Kafka(config);
}

function writeLog({ level, log: entry }: LogEntry, log: Logger): void {
  // A stack inside the library adds nothing to the message for an operator.
  const { message, timestamp: _timestamp, logger: _logger, stack: _stack, ...fields } = entry;
  // The library logs every response with an error code, also routine ones, as from a group that is being created. What
  // its retries do not clear it throws, and our caller logs that.
  if (message.startsWith("Response ")) log.debug(fields, `kafka: ${message}`);
  else if (level <= logLevel.ERROR) log.error(fields, `kafka: ${message}`);
  else log.warn(fields, `kafka: ${message}`);
}

function saslOptions(sasl: NonNullable<KafkaConnection["sasl"]>): SASLOptions {
  const { mechanism, username, password } = sasl;
  // One literal mechanism a branch: the library's type is a union over them.
  if (mechanism === "plain") return { mechanism, username, password };
  if (mechanism === "scram-sha-256") return { mechanism, username, password };
  return { mechanism, username, password };
}
