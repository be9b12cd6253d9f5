import { createRequire } from "node:module";

/** What we use of the library's class for a connection to a broker. */
type Broker = {
  /** By the number of the request. */
  readonly versions: Readonly<Record<number, { readonly minVersion: number; readonly maxVersion: number }>> | null;
  readonly connectionPool: {
    readonly clientId: string;
    send(exchange: unknown): Promise<Buffer>;
  };
  connect(): Promise<void>;
};

export type RawRequest = {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly apiName: string;
  /** What follows the client's id: from version 2 of the header on, its tagged fields too. */
  readonly body: Buffer;
};

/** By client id: the broker that was connected last, of those whose id was registered. */
const brokers = new Map<string, Broker | undefined>();

/** Makes {@link sendRaw} possible for connections with this client id. */
export function rememberBroker(clientId: string): void {
  brokers.set(clientId, undefined);
}

/**
 * Sends a request that the library does not know over one of its connections.
 * @returns what follows the correlation id; undefined when the broker does not know the request in this version.
 */
export async function sendRaw(clientId: string, request: RawRequest): Promise<Buffer | undefined> {
  const broker = brokers.get(clientId);
  const known = broker?.versions?.[request.apiKey];
  if (broker === undefined || known === undefined) return undefined;
  const { apiVersion, body } = request;
  if (apiVersion < known.minVersion || apiVersion > known.maxVersion) return undefined;
  return broker.connectionPool.send({
    request: { ...request, encode: async () => ({ buf: body, buffer: body }) },
    response: { decode: async (payload: Buffer) => payload, parse: async (payload: Buffer) => payload },
    logResponseError: false,
  });
}

/**
 * Not a fault: kafkajs has no request that tells a broker's clock, and no way to send one that it does not know.
 * test/integration/kafka/kafka-state.test.ts plays it.
 */
export function patchRawRequests(): void {
  const broker: { readonly prototype: Broker } = createRequire(import.meta.url)("kafkajs/src/broker/index.js");
  const { connect } = broker.prototype;
  broker.prototype.connect = async function (this: Broker) {
    await connect.call(this);
    const { clientId } = this.connectionPool;
    if (brokers.has(clientId)) brokers.set(clientId, this);
  };
}
