import kafkajs from "kafkajs";
import { KafkaClockError, KafkaError, KafkaUnavailableError } from "./port/errors.ts";

type Brokers = { readonly brokers: readonly string[] };

/** Turns the library's errors into one whose message a user understands; others come back as they are. */
export function toKafkaError(error: unknown, { brokers }: Brokers): unknown {
  return error instanceof kafkajs.KafkaJSError ? new KafkaError(describe(error, brokers), { cause: error }) : error;
}

/** The same, and errors that a retry may clear become a {@link KafkaUnavailableError}. */
export function toProduceError(error: unknown, { brokers }: Brokers): unknown {
  if (isOfType(error, WRONG_TIME)) {
    const message = `this machine's clock is ahead of that of Kafka at ${brokers.join(", ")}, which refuses its messages`;
    return new KafkaClockError(message, { cause: error });
  }
  return error instanceof kafkajs.KafkaJSError && isTransient(error)
    ? new KafkaUnavailableError(describe(error, brokers), { cause: error })
    : toKafkaError(error, { brokers });
}

function describe({ message }: Error, brokers: readonly string[]): string {
  return `Kafka at ${brokers.join(", ")} cannot be used: ${message}`;
}

/** The first error: the library wraps it once more each time that its retries run out. */
function rootCause(error: unknown): unknown {
  return error instanceof kafkajs.KafkaJSError && error.cause !== undefined ? rootCause(error.cause) : error;
}

/** Errors that the library does not retry, although unreachable or overloaded brokers cause them. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  "KafkaJSGroupCoordinatorNotFound",
  "KafkaJSTimeout",
  "KafkaJSLockTimeout",
]);

/** Whether the error clears once the brokers are back, however long that takes. */
export function isTransient(error: unknown): boolean {
  const cause = rootCause(error);
  return cause instanceof kafkajs.KafkaJSError && (cause.retriable || UNAVAILABLE.has(cause.name));
}

const NO_MEMBER: ReadonlySet<string> = new Set([
  "REBALANCE_IN_PROGRESS",
  "ILLEGAL_GENERATION",
  "UNKNOWN_MEMBER_ID",
  "FENCED_INSTANCE_ID",
  "NOT_COORDINATOR_FOR_GROUP",
]);

/** Whether the library joins the group again, or fails, when it learns of the same. */
export function isLostMembership(error: unknown): boolean {
  return isOfType(error, NO_MEMBER);
}

const TOO_LARGE: ReadonlySet<string> = new Set(["MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE"]);

export const isMessageTooLarge = (error: unknown): boolean => isOfType(error, TOO_LARGE);

/** A timestamp further ahead, or back, than the topic allows. */
const WRONG_TIME: ReadonlySet<string> = new Set(["INVALID_TIMESTAMP"]);

function isOfType(error: unknown, types: ReadonlySet<string>): boolean {
  const cause = rootCause(error);
  return cause instanceof kafkajs.KafkaJSProtocolError && types.has(cause.type);
}
