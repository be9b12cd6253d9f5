/** A packet of a capture: its time in milliseconds since 1970, and its bytes from the IPv4 header on. */
export type Packet = { readonly at: number; readonly bytes: Buffer };

type Ends = { readonly from: string; readonly to: string };
type Ports = { readonly sourcePort: number; readonly destinationPort: number };

const RAW_IPV4 = 228;

/** @returns the packets as a file that libpcap reads, of link type IPv4 and with microseconds. */
export function makeCapture(packets: readonly Packet[]): Buffer {
  const head = Buffer.alloc(24);
  head.writeUInt32LE(0xa1b2c3d4, 0);
  head.writeUInt16LE(2, 4);
  head.writeUInt16LE(4, 6);
  head.writeUInt32LE(65_535, 16);
  head.writeUInt32LE(RAW_IPV4, 20);
  const records = packets.flatMap(({ at, bytes }) => {
    const times = [Math.floor(at / 1_000), Math.round((at % 1_000) * 1_000)];
    return [uint32s([...times, bytes.length, bytes.length]), bytes];
  });
  return Buffer.concat([head, ...records]);
}

/** A connection of one request and one response, each in a packet, that both ends close. A packet follows each millisecond. */
export function tcpConversation(
  at: number,
  ends: Ends & Ports,
  { request, response }: { readonly request: string; readonly response: string },
): Packet[] {
  const back = {
    from: ends.to,
    to: ends.from,
    sourcePort: ends.destinationPort,
    destinationPort: ends.sourcePort,
  };
  const [mine, theirs] = [1_000 + request.length, 5_000 + response.length];
  const steps: [Ends & Ports, TcpSegment][] = [
    [ends, { sequence: 999, acknowledged: 0, flags: SYN }],
    [back, { sequence: 4_999, acknowledged: 1_000, flags: SYN | ACK }],
    [ends, { sequence: 1_000, acknowledged: 5_000, flags: ACK }],
    [ends, { sequence: 1_000, acknowledged: 5_000, flags: PSH | ACK, data: request }],
    [back, { sequence: 5_000, acknowledged: mine, flags: PSH | ACK, data: response }],
    [ends, { sequence: mine, acknowledged: theirs, flags: FIN | ACK }],
    [back, { sequence: theirs, acknowledged: mine + 1, flags: FIN | ACK }],
    [ends, { sequence: mine + 1, acknowledged: theirs + 1, flags: ACK }],
  ];
  return steps.map(([way, segment], index) => ({ at: at + index, bytes: ipv4(way, TCP, tcp(way, segment)) }));
}

export function udpPacket(at: number, ends: Ends & Ports, data: Buffer): Packet {
  return { at, bytes: ipv4(ends, UDP, Buffer.concat([udpHead(ends, data.length), data])) };
}

/** A query for the addresses of a name. */
export function dnsQuery(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, "latin1"));
  const recursive = Buffer.from([0x12, 0x34, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  return Buffer.concat([recursive, ...labels, Buffer.from([0, 0, 1, 0, 1])]);
}

/** The first record of a TLS connection to a server of this name, as a text of bytes. */
export function tlsHello(name: string): string {
  const withLength = (bytes: Buffer) => Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
  const entry = Buffer.concat([Buffer.from([0]), withLength(Buffer.from(name))]);
  const extensions = withLength(Buffer.concat([Buffer.from([0, 0]), withLength(withLength(entry))]));
  const [random, ciphers] = [Buffer.alloc(32, 7), Buffer.from([0, 0, 2, 0x13, 1, 1, 0])];
  const hello = Buffer.concat([Buffer.from([3, 3]), random, ciphers, extensions]);
  const handshake = Buffer.concat([Buffer.from([1, 0]), withLength(hello)]);
  return Buffer.concat([Buffer.from([22, 3, 1]), withLength(handshake)]).toString("latin1");
}

/** The answer of a host whose port is closed, with the head of the packet that it got. */
export function portUnreachable(at: number, ends: Ends, cause: Packet): Packet {
  const message = Buffer.concat([Buffer.from([3, 3, 0, 0, 0, 0, 0, 0]), cause.bytes.subarray(0, 28)]);
  message.writeUInt16BE(checksum(message), 2);
  return { at, bytes: ipv4(ends, ICMP, message) };
}

const [ICMP, TCP, UDP] = [1, 6, 17];
const [FIN, SYN, PSH, ACK] = [1, 2, 8, 16];
type TcpSegment = {
  readonly sequence: number;
  readonly acknowledged: number;
  readonly flags: number;
  readonly data?: string;
};

function ipv4({ from, to }: Ends, protocol: number, payload: Buffer): Buffer {
  const head = Buffer.concat([
    Buffer.from([0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0]),
    addressBytes(from),
    addressBytes(to),
  ]);
  head.writeUInt16BE(head.length + payload.length, 2);
  head.writeUInt16BE(checksum(head), 10);
  return Buffer.concat([head, payload]);
}

function tcp(ends: Ends & Ports, { sequence, acknowledged, flags, data = "" }: TcpSegment): Buffer {
  const head = Buffer.alloc(20);
  head.writeUInt16BE(ends.sourcePort, 0);
  head.writeUInt16BE(ends.destinationPort, 2);
  head.writeUInt32BE(sequence, 4);
  head.writeUInt32BE(acknowledged, 8);
  head.writeUInt8(0x50, 12);
  head.writeUInt8(flags, 13);
  head.writeUInt16BE(64_000, 14);
  const segment = Buffer.concat([head, Buffer.from(data, "latin1")]);
  const pseudoHead = Buffer.concat([addressBytes(ends.from), addressBytes(ends.to), Buffer.from([0, TCP, 0, 0])]);
  pseudoHead.writeUInt16BE(segment.length, 10);
  segment.writeUInt16BE(checksum(Buffer.concat([pseudoHead, segment])), 16);
  return segment;
}

/** Without a checksum, as UDP allows. */
function udpHead({ sourcePort, destinationPort }: Ports, length: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(sourcePort, 0);
  head.writeUInt16BE(destinationPort, 2);
  head.writeUInt16BE(8 + length, 4);
  return head;
}

const addressBytes = (address: string) => Buffer.from(address.split(".").map(Number));

function uint32s(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, 4 * index);
  return bytes;
}

/** RFC 1071: the complement of the sum of all 16-bit words, carries added. */
function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let index = 0; index < bytes.length; index += 2) sum += (bytes[index] ?? 0) * 256 + (bytes[index + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
