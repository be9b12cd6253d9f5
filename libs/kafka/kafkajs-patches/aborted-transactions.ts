import { createRequire } from "node:module";
import type { DecodedRecord } from "./record-batch.ts";

/** Messages from before Kafka 0.11 know nothing of transactions. */
type Message = Pick<DecodedRecord, "offset" | "key" | "value"> &
  Partial<Pick<DecodedRecord, "isControlRecord" | "batchContext">>;

/** What we touch of a broker's answer about one partition. */
export type PartitionAnswer = {
  /** Those that reach into the answer, in the order in which they ended. */
  readonly abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[];
  readonly messages: readonly Message[];
};

type Decoded = { readonly responses: readonly { readonly partitions: readonly PartitionAnswer[] }[] };
type Response = { decode(answer: Buffer): Promise<Decoded> };

/** The versions of an answer that tell of transactions. */
const VERSIONS = [4, 5, 6, 7, 8, 9, 10, 11];

/**
 * Replaces how the library finds the messages of aborted transactions. Its own way takes the broker's list for one sorted
 * by where they begin, lets one begin at a message at most, and takes any message with a mark's key for the end of one:
 * so some of what was taken back is handed on. It has no option for another way, hence this one in, before its own: what
 * is found here it does not look for any more.
 */
export function replaceAbortedFilter(): void {
  const require = createRequire(import.meta.url);
  for (const version of VERSIONS) {
    const response: Response = require(`kafkajs/src/protocol/requests/fetch/v${version}/response.js`);
    const { decode } = response;
    response.decode = async (answer) => {
      const decoded = await decode(answer);
      const responses = decoded.responses.map((topic) => ({ ...topic, partitions: topic.partitions.map(hideAborted) }));
      return { ...decoded, responses };
    };
  }
}

/** Where the key of a control record says what it is, behind a version, and what a transaction's abort is called there. */
const [TYPE_AT, ABORT] = [2, 0];

/**
 * Has messages that were taken back look like control records: those the library hands to nobody, and still counts where
 * it reckons how far it has read.
 */
export function hideAborted(answer: PartitionAnswer): PartitionAnswer {
  if (answer.abortedTransactions.length === 0) return answer;
  const ahead = answer.abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, from: BigInt(firstOffset) }))
    .sort((one, other) => Number(one.from - other.from));
  const underWay = new Set<string>();
  const messages = answer.messages.map((message) => {
    const offset = BigInt(message.offset);
    for (let [next] = ahead; next !== undefined && next.from <= offset; [next] = ahead) {
      underWay.add(next.producerId);
      ahead.shift();
    }
    const { producerId = "", inTransaction = false } = message.batchContext ?? {};
    if (message.isControlRecord) {
      if (isAbort(message.key)) underWay.delete(producerId);
      return message;
    }
    return inTransaction && underWay.has(producerId) ? { ...message, value: null, isControlRecord: true } : message;
  });
  return { ...answer, messages, abortedTransactions: [] };
}

function isAbort(key: Buffer | null): boolean {
  return key !== null && key.length >= TYPE_AT + 2 && key.readInt16BE(TYPE_AT) === ABORT;
}
