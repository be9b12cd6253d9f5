import type { Logger } from "pino";
import { readBrokerClock } from "./broker-clock.ts";
import { connectKafka, type KafkaConnection } from "./connection.ts";
import { readLag } from "./consumer-lag.ts";
import { rememberBroker } from "./kafkajs-patches/raw-requests.ts";
import { toKafkaError } from "./library-errors.ts";

export type TopicGroup = { readonly topic: string; readonly groupId: string };

export type GroupState = TopicGroup & {
  /** Messages that the group has not committed, of all partitions; an error where that cannot be read. */
  readonly lag: { readonly messages: number } | { readonly error: unknown };
};

export type KafkaState = {
  readonly groups: readonly GroupState[];
  /** How far the brokers' clock is ahead of ours, in milliseconds; undefined when they do not tell it. */
  readonly skewMs: number | undefined;
};

/** Asks the brokers once for the lag of some groups, and for the time. @throws KafkaError when no broker answers. */
export async function readKafkaState(
  connection: KafkaConnection,
  groups: readonly TopicGroup[],
  log: Logger,
  now: () => number = Date.now,
): Promise<KafkaState> {
  const clientId = `${connection.clientId}-status`;
  rememberBroker(clientId);
  const admin = connectKafka({ ...connection, clientId }, log, { retries: 0 }).admin();
  try {
    await admin.connect();
    // An answer of a shape that we do not know says nothing of the brokers' health.
    const skewMs = await readBrokerClock(clientId, now).catch(() => undefined);
    const states: GroupState[] = [];
    for (const group of groups) {
      const lag = await readLag(admin, group).then(
        (partitions) => ({ messages: [...partitions.values()].reduce((sum, messages) => sum + messages, 0) }),
        (error: unknown) => ({ error: toKafkaError(error, connection) }),
      );
      states.push({ ...group, lag });
    }
    return { groups: states, skewMs };
  } catch (error) {
    throw toKafkaError(error, connection);
  } finally {
    void admin.disconnect().catch(() => {});
  }
}
