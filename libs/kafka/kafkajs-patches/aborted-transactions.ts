import { createRequire } from "node:module";
import type { DecodedRecord } from "../record-batch/record-batch.ts";

/** Messages from before Kafka 0.11 have no transactions. */
type Message = Pick<DecodedRecord, "offset" | "key" | "value"> &
  Partial<Pick<DecodedRecord, "isControlRecord" | "batchContext">>;

/** What we use of a fetch response's part about one partition. */
export type PartitionResponse = {
  /** Those that overlap the fetched range, in the order in which they ended. */
  readonly abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[];
  readonly messages: readonly Message[];
};

type FetchResponse = { readonly responses: readonly { readonly partitions: readonly PartitionResponse[] }[] };
type ResponseModule = { decode(response: Buffer): Promise<FetchResponse> };

/** The versions of the fetch response that list aborted transactions. */
const VERSIONS = [4, 5, 6, 7, 8, 9, 10, 11];

/**
 * Fault: kafkajs takes the broker's list of aborted transactions for sorted by first offset, starts at most one of them
 * per message, and takes any message whose key is the number 0 for the end of one. So it delivers aborted messages.
 * Seen: with overlapping transactions of three producers, which test/integration/odd-batches.test.ts plays.
 * The patch filters first and empties the list, so that the library's own filter finds nothing to do.
 */
export function patchAbortedTransactions(): void {
  const require = createRequire(import.meta.url);
  for (const version of VERSIONS) {
    const module: ResponseModule = require(`kafkajs/src/protocol/requests/fetch/v${version}/response.js`);
    const { decode } = module;
    module.decode = async (response) => {
      const decoded = await decode(response);
      const responses = decoded.responses.map((topic) => ({ ...topic, partitions: topic.partitions.map(hideAborted) }));
      return { ...decoded, responses };
    };
  }
}

/** Where a control record's key holds its type, after a version, and the type of an abort marker. */
const [TYPE_AT, ABORT] = [2, 0];

/** Turns aborted messages into control records: the library delivers those to no handler, but counts their offsets. */
export function hideAborted(response: PartitionResponse): PartitionResponse {
  if (response.abortedTransactions.length === 0) return response;
  const upcoming = response.abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, from: BigInt(firstOffset) }))
    .sort((one, other) => Number(one.from - other.from));
  const open = new Set<string>();
  const messages = response.messages.map((message) => {
    const offset = BigInt(message.offset);
    for (let [next] = upcoming; next !== undefined && next.from <= offset; [next] = upcoming) {
      open.add(next.producerId);
      upcoming.shift();
    }
    const { producerId = "", inTransaction = false } = message.batchContext ?? {};
    if (message.isControlRecord) {
      if (isAbort(message.key)) open.delete(producerId);
      return message;
    }
    return inTransaction && open.has(producerId) ? { ...message, value: null, isControlRecord: true } : message;
  });
  return { ...response, messages, abortedTransactions: [] };
}

function isAbort(key: Buffer | null): boolean {
  return key !== null && key.length >= TYPE_AT + 2 && key.readInt16BE(TYPE_AT) === ABORT;
}
