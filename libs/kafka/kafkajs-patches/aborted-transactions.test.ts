import { expect, test } from "vitest";
import { hideAborted, type PartitionResponse } from "./aborted-transactions.ts";

type Message = PartitionResponse["messages"][number];

const INT_ZERO = Buffer.alloc(4);

function message(offset: number, producerId: string, members: Partial<Message> = {}): Message {
  const batchContext = { producerId, inTransaction: producerId !== "-1" };
  return { offset: `${offset}`, key: null, value: Buffer.from("x"), isControlRecord: false, batchContext, ...members };
}
const marker = (offset: number, producerId: string, end: "abort" | "commit") =>
  message(offset, producerId, { key: Buffer.from([0, 0, 0, end === "abort" ? 0 : 1]), isControlRecord: true });

/** The offsets of the messages that reach a handler. */
function delivered(aborted: readonly (readonly [producerId: string, firstOffset: number])[], messages: Message[]) {
  const abortedTransactions = aborted.map(([producerId, firstOffset]) => ({
    producerId,
    firstOffset: `${firstOffset}`,
  }));
  const response = hideAborted({ abortedTransactions, messages });
  expect(response.abortedTransactions, "the library's own filter has nothing to do").toEqual([]);
  expect(response.messages.map(({ offset }) => offset)).toEqual(messages.map(({ offset }) => offset));
  return response.messages.filter(({ isControlRecord }) => !isControlRecord).map(({ offset }) => Number(offset));
}

test("two aborted transactions, one inside the other, hide the messages of both", () => {
  const messages = [message(0, "A"), message(1, "A"), message(2, "B"), marker(3, "B", "abort"), message(4, "A")];
  expect(
    delivered(
      [
        ["B", 2],
        ["A", 0],
      ],
      [...messages, marker(5, "A", "abort"), message(6, "A"), marker(7, "A", "commit"), message(8, "-1")],
    ),
  ).toEqual([6, 8]);
});

test("transactions that began before the fetched range are hidden from the first message on", () => {
  const messages = [message(10, "B"), message(11, "A"), marker(12, "A", "abort"), marker(13, "B", "abort")];
  expect(
    delivered(
      [
        ["A", 3],
        ["B", 5],
      ],
      [...messages, message(14, "A")],
    ),
  ).toEqual([14]);
});

test("a message with the key of an abort marker ends no transaction, and is delivered where none was aborted", () => {
  const zero = (offset: number, producerId: string) => message(offset, producerId, { key: INT_ZERO });
  const messages = [zero(0, "-1"), zero(1, "A"), message(2, "A"), zero(3, "B"), marker(4, "A", "abort"), zero(5, "A")];
  expect(delivered([["A", 1]], messages)).toEqual([0, 3, 5]);
});

test("one producer aborts a transaction, commits the next one and aborts a third", () => {
  const messages = [
    message(0, "A"),
    marker(1, "A", "abort"),
    message(2, "A"),
    marker(3, "A", "commit"),
    message(4, "A"),
  ];
  expect(
    delivered(
      [
        ["A", 0],
        ["A", 4],
      ],
      [...messages, marker(5, "A", "abort")],
    ),
  ).toEqual([2]);
});

test("messages of a format without transactions are delivered as they are", () => {
  const old: Message = { offset: "0", key: INT_ZERO, value: null };
  expect(delivered([["A", 5]], [old, message(5, "A")])).toEqual([0]);
});
