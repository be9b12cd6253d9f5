import type { ProducedMessage } from "./port.ts";

/** The brokers cannot be reached or rejected a request; the message says which brokers and why. */
export class KafkaError extends Error {
  override name = "KafkaError";
}

/** The brokers cannot be reached, or cannot take a request now: a retry may succeed. */
export class KafkaUnavailableError extends Error {
  override name = "KafkaUnavailableError";
}

/** The brokers refuse messages of this machine's time. */
export class KafkaClockError extends KafkaUnavailableError {
  override name = "KafkaClockError";
}

/** Some messages exceed the topic's size limit. */
export class MessageTooLargeError extends Error {
  override name = "MessageTooLargeError";
  /** The very objects that were passed in. */
  readonly messages: readonly ProducedMessage[];

  constructor(topic: string, messages: readonly ProducedMessage[], options: ErrorOptions) {
    super(`${messages.length} messages exceed the size limit of the topic ${topic}`, options);
    this.messages = messages;
  }
}
