import { expect, test } from "vitest";
import { hideAborted, type PartitionAnswer } from "./kafkajs-aborted-transactions.ts";

type Message = PartitionAnswer["messages"][number];

const INT_ZERO = Buffer.alloc(4);

function message(offset: number, producerId: string, members: Partial<Message> = {}): Message {
  const batchContext = { producerId, inTransaction: producerId !== "-1" };
  return { offset: `${offset}`, key: null, value: Buffer.from("x"), isControlRecord: false, batchContext, ...members };
}
const mark = (offset: number, producerId: string, end: "abort" | "commit") =>
  message(offset, producerId, { key: Buffer.from([0, 0, 0, end === "abort" ? 0 : 1]), isControlRecord: true });

/** The offsets of the messages that are handed on. */
function handedOn(aborted: readonly (readonly [producerId: string, firstOffset: number])[], messages: Message[]) {
  const abortedTransactions = aborted.map(([producerId, firstOffset]) => ({
    producerId,
    firstOffset: `${firstOffset}`,
  }));
  const answer = hideAborted({ abortedTransactions, messages });
  expect(answer.abortedTransactions, "the library looks for nothing any more").toEqual([]);
  expect(answer.messages.map(({ offset }) => offset)).toEqual(messages.map(({ offset }) => offset));
  return answer.messages.filter(({ isControlRecord }) => !isControlRecord).map(({ offset }) => Number(offset));
}

test("a transaction that begins in the middle of another one and ends before it takes back both", () => {
  const messages = [message(0, "A"), message(1, "A"), message(2, "B"), mark(3, "B", "abort"), message(4, "A")];
  expect(
    handedOn(
      [
        ["B", 2],
        ["A", 0],
      ],
      [...messages, mark(5, "A", "abort"), message(6, "A"), mark(7, "A", "commit"), message(8, "-1")],
    ),
  ).toEqual([6, 8]);
});

test("several transactions that began before what was asked for are all known at the first message", () => {
  const messages = [message(10, "B"), message(11, "A"), mark(12, "A", "abort"), mark(13, "B", "abort")];
  expect(
    handedOn(
      [
        ["A", 3],
        ["B", 5],
      ],
      [...messages, message(14, "A")],
    ),
  ).toEqual([14]);
});

test("a message with the key of a mark ends no transaction, and comes where none was taken back", () => {
  const zero = (offset: number, producerId: string) => message(offset, producerId, { key: INT_ZERO });
  const messages = [zero(0, "-1"), zero(1, "A"), message(2, "A"), zero(3, "B"), mark(4, "A", "abort"), zero(5, "A")];
  expect(handedOn([["A", 1]], messages)).toEqual([0, 3, 5]);
});

test("the same producer takes back one transaction, commits the next one and takes back a third", () => {
  const messages = [message(0, "A"), mark(1, "A", "abort"), message(2, "A"), mark(3, "A", "commit"), message(4, "A")];
  expect(
    handedOn(
      [
        ["A", 0],
        ["A", 4],
      ],
      [...messages, mark(5, "A", "abort")],
    ),
  ).toEqual([2]);
});

test("messages from before there were transactions come as they are", () => {
  const old: Message = { offset: "0", key: INT_ZERO, value: null };
  expect(handedOn([["A", 5]], [old, message(5, "A")])).toEqual([0]);
});
