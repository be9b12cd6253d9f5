/** Max bytes of a message. What is longer is cut there, and rejected. */
export const MAX_MESSAGE_BYTES = 256 * 1024;

/** Reads the messages of one connection. */
export type FrameReader = {
  /** Messages that are complete with these bytes. One that is too long has one byte more than is allowed. */
  read(bytes: Buffer): Buffer[];
  /** The last line, if its sender closed the connection without ending it. A counted message would be torn: it is left out. */
  rest(): Buffer[];
};

const NEWLINE = 0x0a;
/** Octet counting, as of RFC 6587: a number of bytes, a blank, and a message that begins with its priority. */
const COUNT = /^([1-9]\d{0,8}) </;
/** What may become a count with the next bytes. */
const BEGUN_COUNT = /^[1-9]\d{0,8} ?$/;
/** What may stand between messages. */
const BETWEEN = new Set([NEWLINE, 0x0d, 0x00, 0x20]);

/** Tells for each message anew whether its sender counts bytes or ends it with a newline. */
export function openFrameReader(): FrameReader {
  let rest: Buffer = Buffer.alloc(0);
  /** Of a message that was too long: bytes to leave out, or that the rest of its line is left out. */
  let skip: number | "line" = 0;

  /** Takes one message off the rest. @returns undefined when there is none yet. */
  const take = (): Buffer | undefined => {
    if (skip === "line") {
      const end = rest.indexOf(NEWLINE);
      if (end >= 0) skip = 0;
      rest = end < 0 ? Buffer.alloc(0) : rest.subarray(end + 1);
    } else if (skip > 0) {
      const skipped = Math.min(skip, rest.length);
      skip -= skipped;
      rest = rest.subarray(skipped);
    }
    if (skip !== 0) return undefined;
    const start = rest.findIndex((byte) => !BETWEEN.has(byte));
    rest = start < 0 ? Buffer.alloc(0) : rest.subarray(start);
    const head = rest.toString("latin1", 0, 11);
    if (BEGUN_COUNT.test(head)) return undefined;
    const digits = COUNT.exec(head)?.[1];
    if (digits !== undefined) return takeCounted(digits.length + 1, Number(digits));
    return takeLine();
  };
  const takeCounted = (start: number, length: number): Buffer | undefined => {
    const taken = Math.min(length, MAX_MESSAGE_BYTES + 1);
    if (rest.length < start + taken) return undefined;
    const message = rest.subarray(start, start + taken);
    rest = rest.subarray(start + taken);
    skip = length - taken;
    return message;
  };
  const takeLine = (): Buffer | undefined => {
    const end = rest.indexOf(NEWLINE);
    if (end >= 0 && end <= MAX_MESSAGE_BYTES) {
      const message = rest.subarray(0, end);
      rest = rest.subarray(end + 1);
      return message;
    }
    if (rest.length <= MAX_MESSAGE_BYTES) return undefined;
    const message = rest.subarray(0, MAX_MESSAGE_BYTES + 1);
    rest = rest.subarray(MAX_MESSAGE_BYTES + 1);
    skip = "line";
    return message;
  };

  return {
    read(bytes) {
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      const messages: Buffer[] = [];
      for (let message = take(); message !== undefined; message = take()) messages.push(message);
      // A copy: a part of it would keep the whole piece in memory.
      rest = Buffer.from(rest);
      return messages;
    },
    rest: () =>
      rest.length === 0 || skip !== 0 || /^[1-9]\d{0,8} /.test(rest.toString("latin1", 0, 11)) ? [] : [rest],
  };
}
