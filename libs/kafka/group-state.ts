import type { Logger } from "pino";
import { connectKafka, type KafkaConnection } from "./connection.ts";
import { readLag } from "./consumer-lag.ts";
import { toKafkaError } from "./library-errors.ts";

export type TopicGroup = { readonly topic: string; readonly groupId: string };

export type GroupState = TopicGroup & {
  /** Messages that the group has not committed, of all partitions; an error where that cannot be read. */
  readonly lag: { readonly messages: number } | { readonly error: unknown };
};

/** Asks the brokers once for the lag of some groups. @throws KafkaError when no broker answers. */
export async function readGroupStates(
  connection: KafkaConnection,
  groups: readonly TopicGroup[],
  log: Logger,
): Promise<GroupState[]> {
  const admin = connectKafka(connection, log, { retries: 0 }).admin();
  try {
    await admin.connect();
    const states: GroupState[] = [];
    for (const group of groups) {
      const lag = await readLag(admin, group).then(
        (partitions) => ({ messages: [...partitions.values()].reduce((sum, messages) => sum + messages, 0) }),
        (error: unknown) => ({ error: toKafkaError(error, connection) }),
      );
      states.push({ ...group, lag });
    }
    return states;
  } catch (error) {
    throw toKafkaError(error, connection);
  } finally {
    void admin.disconnect().catch(() => {});
  }
}
