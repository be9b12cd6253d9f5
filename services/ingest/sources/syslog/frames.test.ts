import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_MESSAGE_BYTES, openFrameReader } from "./frames.ts";

/** The messages of a connection that sends these pieces and then ends. */
function readAll(pieces: readonly (string | Buffer)[]): string[] {
  const frames = openFrameReader();
  const read = pieces.flatMap((piece) => frames.read(Buffer.from(piece)));
  return [...read, ...frames.rest()].map((message) => message.toString());
}

const counted = (text: string) => `${Buffer.byteLength(text)} ${text}`;

describe("messages over TCP", () => {
  test("come counted or in lines, also by turns in one connection", () => {
    const lines = "<13>Nov 20 13:00:00 gw a: one\n<13>1 - gw b - - - two\r\n";
    expect(readAll([`${lines}${counted("<13>c: th\nree")}${counted("<13>d: vier €")}<13>five\n`])).toEqual([
      "<13>Nov 20 13:00:00 gw a: one",
      "<13>1 - gw b - - - two\r",
      "<13>c: th\nree",
      "<13>d: vier €",
      "<13>five",
    ]);
  });

  test("may begin with a number that counts nothing", () => {
    expect(readAll(["2026-11-20T13:00:00Z gw a: one\n1234\n12 34\n"])).toEqual([
      "2026-11-20T13:00:00Z gw a: one",
      "1234",
      "12 34",
    ]);
  });

  test("are the same however they are cut into pieces", () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).map((tail) => `<13>x${tail}`);
    const message = fc.oneof(
      text.map((one) => ({ sent: counted(one), read: one })),
      text.map((one) => one.replaceAll("\n", " ")).map((one) => ({ sent: `${one}\n`, read: one })),
    );
    fc.assert(
      fc.property(fc.array(message), fc.array(fc.nat({ max: 60 })), (messages, cuts) => {
        const all = Buffer.from(messages.map(({ sent }) => sent).join(""));
        const ends = [...cuts.toSorted((one, other) => one - other), all.length];
        const pieces = ends.map((end, index) => all.subarray(index === 0 ? 0 : ends[index - 1], end));
        expect(readAll(pieces)).toEqual(messages.map(({ read }) => read));
      }),
    );
  });

  test.each([
    ["counted", (text: string) => counted(text)],
    ["a line", (text: string) => `${text}\n`],
  ])("that are too long (%s) are cut, and the next one is complete", (_form, frame) => {
    const long = `<13>${"x".repeat(3 * MAX_MESSAGE_BYTES)}`;
    const all = Buffer.from(`${frame(long)}${frame("<13>next")}`);
    const pieces = Array.from({ length: Math.ceil(all.length / 65_536) }, (_, index) =>
      all.subarray(index * 65_536, (index + 1) * 65_536),
    );
    expect(readAll(pieces)).toEqual([long.slice(0, MAX_MESSAGE_BYTES + 1), "<13>next"]);
  });

  test("that a connection ends in the middle of are read in lines, and torn where they are counted", () => {
    expect(readAll(["<13>one\n<13>two"])).toEqual(["<13>one", "<13>two"]);
    expect(readAll(["<13>one\n30 <13>two"])).toEqual(["<13>one"]);
  });
});
