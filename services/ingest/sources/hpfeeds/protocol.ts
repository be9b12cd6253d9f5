import { createHash } from "node:crypto";

/** A broker's messages, by their opcode. */
const OPCODES = { error: 0, info: 1, auth: 2, publish: 3, subscribe: 4 } as const;
/** A broker takes payloads of at most 1 MiB; names take at most 256 bytes each. */
const MAX_MESSAGE_BYTES = 1024 * 1024 + 1024;
const HEADER_BYTES = 5;

export type BrokerMessage =
  | { readonly kind: "error"; readonly text: string }
  | { readonly kind: "info"; readonly broker: string; readonly nonce: Buffer }
  | { readonly kind: "publish"; readonly ident: string; readonly channel: string; readonly payload: Buffer };

/**
 * Splits a stream of bytes into messages: a length of four bytes, itself included, an opcode, and strings that begin
 * with their length in one byte; the last one reaches to the end.
 * @returns a function that takes the next bytes. @throws Error when the stream is not as the protocol says.
 */
export function openMessageReader(): (bytes: Buffer) => Generator<BrokerMessage, void> {
  let rest: Buffer = Buffer.alloc(0);
  return function* (bytes) {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    while (rest.length >= HEADER_BYTES) {
      const length = rest.readUInt32BE(0);
      if (length < HEADER_BYTES || length > MAX_MESSAGE_BYTES) {
        throw new Error(`a message says that it has ${length} bytes`);
      }
      if (rest.length < length) break;
      const message = readMessage(rest.readUInt8(4), rest.subarray(HEADER_BYTES, length));
      rest = rest.subarray(length);
      if (message !== undefined) yield message;
    }
  };
}

function readMessage(opcode: number, data: Buffer): BrokerMessage | undefined {
  if (opcode === OPCODES.error) return { kind: "error", text: data.toString("utf8") };
  if (opcode !== OPCODES.info && opcode !== OPCODES.publish) return undefined;
  const [first, afterFirst] = readString(data);
  if (opcode === OPCODES.info) return { kind: "info", broker: first, nonce: afterFirst };
  const [channel, payload] = readString(afterFirst);
  return { kind: "publish", ident: first, channel, payload };
}

function readString(data: Buffer): [text: string, rest: Buffer] {
  const length = data[0] ?? 0;
  if (data.length < length + 1) throw new Error("a string is longer than its message");
  return [data.toString("utf8", 1, length + 1), data.subarray(length + 1)];
}

/** The answer to a broker's nonce. */
export function authMessage(ident: string, secret: string, nonce: Buffer): Buffer {
  const digest = createHash("sha1").update(nonce).update(secret).digest();
  return message(OPCODES.auth, [ident], digest);
}

export function subscribeMessage(ident: string, channel: string): Buffer {
  return message(OPCODES.subscribe, [ident], Buffer.from(channel));
}

function message(opcode: number, strings: readonly string[], last: Buffer): Buffer {
  const parts = strings.flatMap((text) => {
    const bytes = Buffer.from(text);
    return [Buffer.of(bytes.length), bytes];
  });
  const data = Buffer.concat([...parts, last]);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(data.length + HEADER_BYTES, 0);
  header.writeUInt8(opcode, 4);
  return Buffer.concat([header, data]);
}
