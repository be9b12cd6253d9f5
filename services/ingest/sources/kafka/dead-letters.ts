import type { MessageColumns } from "@noisefloor/clickhouse/dead-letters/dead-letters.ts";
import type { Sender } from "@noisefloor/domain/access/publishing.ts";
import type { StreamMessage } from "@noisefloor/kafka/port/port.ts";
import { type DeadLetter, toPayload } from "../../dead-letters/dead-letter.ts";
import type { RejectedRecord } from "../../record.ts";
import { FALLBACK_ID_HEADER, ID_NAMESPACE_HEADER } from "../../record-id.ts";
import type { MessageRecord } from "./records.ts";

/** The brokers decide who may write to the topic, and the HTTP intake publishes only what it has validated. */
export const TOPIC_SENDER: Sender = { right: "everything" };

/** What is stored of a key and of all headers. Each of a message's thousand records has a dead letter of its own. */
const MAX_KEY_BYTES = 1024;
const MAX_HEADER_LENGTH = 4 * 1024;
const MAX_HEADERS = 100;

/** The dead letters of rejected records, with the message that each came in. */
export function messageDeadLetters(rejected: readonly RejectedRecord<MessageRecord>[]): DeadLetter[] {
  const columns = new Map<StreamMessage, MessageColumns>();
  return rejected.map(({ record: { message: whole, index, bytes, value }, rejection, sensorId }) => {
    const message = columns.get(whole) ?? toColumns(whole);
    columns.set(whole, message);
    const origin = `${message.topic}/${message.partition}/${message.offset}`;
    return {
      source: "kafka",
      origin,
      position: index,
      rejection,
      sender: TOPIC_SENDER,
      sensorId,
      message,
      value,
      ...toPayload(bytes),
    };
  });
}

function toColumns({ topic, partition, offset, key, headers }: StreamMessage): MessageColumns {
  const whole = key ?? Buffer.alloc(0);
  return {
    topic,
    partition,
    offset,
    key: whole.subarray(0, MAX_KEY_BYTES),
    keyBytes: whole.length,
    headers: boundHeaders(headers),
  };
}

/** The headers that fit. Those that a retry takes its ids from come first. */
function boundHeaders(headers: StreamMessage["headers"]): Record<string, string> {
  const names = Object.keys(headers);
  const isOurs = (name: string) => name === FALLBACK_ID_HEADER || name === ID_NAMESPACE_HEADER;
  const bounded: [name: string, text: string][] = [];
  let length = 0;
  for (const name of [...names.filter(isOurs), ...names.filter((other) => !isOurs(other))]) {
    const text = headers[name] ?? "";
    if (length + name.length + text.length > MAX_HEADER_LENGTH) continue;
    length += name.length + text.length;
    if (bounded.push([name, text]) === MAX_HEADERS) break;
  }
  return Object.fromEntries(bounded);
}
