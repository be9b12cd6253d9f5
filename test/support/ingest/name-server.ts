import { createSocket } from "node:dgram";

const TYPE_A = 1;
const TYPE_PTR = 12;
const NO_SUCH_NAME = 3;

export type NameServer = {
  /** For a resolver's list of servers. */
  readonly address: string;
  /** The names that it was asked for, with repetition. */
  readonly asked: readonly string[];
  close(): Promise<void>;
};

export type Zone = {
  /** Names by address. */
  readonly reverse: Readonly<Record<string, string>>;
  /** Addresses by name. */
  readonly forward: Readonly<Record<string, readonly string[]>>;
  /** Names that it never answers for. */
  readonly silent?: readonly string[];
};

/** A DNS server over UDP on the loopback interface that knows a few names. */
export async function startNameServer(zone: Zone): Promise<NameServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, { port, address }) => {
    const { name, type, end } = readQuestion(query);
    asked.push(name);
    if (zone.silent?.includes(name)) return;
    socket.send(answer(query.subarray(0, end), recordsOf(zone, name, type)), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function recordsOf({ reverse, forward }: Zone, name: string, type: number): { type: number; data: Buffer }[] {
  if (type === TYPE_A)
    return (forward[name] ?? []).map((ip) => ({ type, data: Buffer.from(ip.split(".").map(Number)) }));
  const ip = name
    .replace(/\.in-addr\.arpa$/, "")
    .split(".")
    .toReversed()
    .join(".");
  const found = type === TYPE_PTR ? reverse[ip] : undefined;
  return found === undefined ? [] : [{ type, data: encodeName(found) }];
}

/** The header has twelve bytes; the name stands in labels, each behind its length. */
function readQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

const encodeName = (name: string) =>
  Buffer.concat([
    ...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ]);

function answer(question: Buffer, records: readonly { type: number; data: Buffer }[]): Buffer {
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(records.length > 0 ? 0x8580 : 0x8580 | NO_SUCH_NAME, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt32BE(0, 8);
  const sections = records.map(({ type, data }) => {
    // A pointer to the name of the question, the type, the class IN, a time to live of a minute.
    const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, 0]);
    head.writeUInt16BE(data.length, 10);
    return Buffer.concat([head, data]);
  });
  return Buffer.concat([header, question.subarray(12), ...sections]);
}
