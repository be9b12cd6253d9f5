import { createRequire } from "node:module";

/** What we use of the library's class for a socket to a broker: the response that is coming, as far as it has come. */
type Connection = {
  chunks: Buffer[];
  bytesBuffered: number;
  /** With the four bytes that say how long it is; just these four until they have come. */
  bytesNeeded: number;
  isConnected(): boolean;
  connect(): Promise<unknown>;
  processData(data: Buffer): void;
};

const SIZE_BYTES = 4;
/**
 * Others are left to the library: shorter responses are quickly joined, and for one that is longer than any fetch asks
 * for, as of a server that is no broker, no memory is set aside.
 */
const [MIN_BYTES, MAX_BYTES] = [256 * 1024, 256 * 1024 * 1024];

/** A response that is put together piece by piece, and how much of it is there. */
type Assembly = { readonly bytes: Buffer; length: number };
const assemblies = new WeakMap<Connection, Assembly>();

/**
 * Fault: kafkajs keeps the pieces of a response and joins them all in the turn of the event loop that brings the last,
 * and reads what a new socket brings as the rest of a response that a lost one has cut.
 * Seen: joining fetches of up to 64 MiB blocked the event loop for 50 to 70 ms, and took their memory twice.
 * responses.test.ts plays both.
 */
export function patchResponses(): void {
  const connection: { readonly prototype: Connection } = createRequire(import.meta.url)(
    "kafkajs/src/network/connection.js",
  );
  const { connect, processData } = connection.prototype;
  connection.prototype.connect = function (this: Connection) {
    if (!this.isConnected()) {
      assemblies.delete(this);
      expectResponse(this);
    }
    return connect.call(this);
  };
  connection.prototype.processData = function (this: Connection, data: Buffer) {
    const assembly = assemblies.get(this);
    if (assembly === undefined) {
      processData.call(this, data);
      if (this.bytesNeeded >= MIN_BYTES && this.bytesNeeded <= MAX_BYTES) assemblies.set(this, begin(this));
      return;
    }
    const taken = data.copy(assembly.bytes, assembly.length);
    assembly.length += taken;
    if (assembly.length < assembly.bytes.length) return;
    assemblies.delete(this);
    processData.call(this, assembly.bytes);
    if (taken < data.length) this.processData(data.subarray(taken));
  };
}

/** Takes over the response that has begun to come, and leaves the library waiting for one. */
function begin(connection: Connection): Assembly {
  const assembly = { bytes: Buffer.allocUnsafeSlow(connection.bytesNeeded), length: 0 };
  for (const chunk of connection.chunks) assembly.length += chunk.copy(assembly.bytes, assembly.length);
  expectResponse(connection);
  return assembly;
}

/** As the library is before the first byte of a response. */
function expectResponse(connection: Connection): void {
  connection.chunks = [];
  connection.bytesBuffered = 0;
  connection.bytesNeeded = SIZE_BYTES;
}
