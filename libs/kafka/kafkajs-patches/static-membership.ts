import { createRequire } from "node:module";

/** What we use of the library's class for a connection to a broker. */
type Broker = {
  readonly connectionPool: { readonly clientId: string };
  connect(): Promise<void>;
  lookupRequest(apiKey: number, definition: unknown): (payload: object) => unknown;
  leaveGroup(): Promise<object>;
};

/** OffsetCommit, JoinGroup, Heartbeat and SyncGroup carry the id of a static member. */
const GROUP_REQUESTS: ReadonlySet<number> = new Set([8, 11, 12, 14]);

/** By client id: a broker connection knows nothing else of the consumer that uses it. */
const instanceIds = new Map<string, string>();
const patched = new WeakMap<Broker, Broker["lookupRequest"]>();

/**
 * Makes the consumer with this client id a static member of its group (KIP-345): when it is back within the session
 * timeout it gets its partitions again, and no other member has to stop for it.
 */
export function useStaticMembership(clientId: string, instanceId: string): void {
  instanceIds.set(clientId, instanceId);
}

/**
 * Fault: kafkajs encodes `groupInstanceId` in its requests but has no option to set it, and always leaves the group on
 * stop. Seen: each restart of one instance stopped all others for a rebalance.
 * test/integration/group-membership.test.ts plays both cases.
 */
export function patchStaticMembership(): void {
  const broker: { readonly prototype: Broker } = createRequire(import.meta.url)("kafkajs/src/broker/index.js");
  const { connect } = broker.prototype;
  broker.prototype.connect = async function (this: Broker) {
    await connect.call(this);
    const groupInstanceId = instanceIds.get(this.connectionPool.clientId);
    if (groupInstanceId === undefined || patched.get(this) === this.lookupRequest) return;
    const lookup = this.lookupRequest;
    this.lookupRequest = (apiKey, definition) => {
      const makeRequest = lookup(apiKey, definition);
      return GROUP_REQUESTS.has(apiKey) ? (payload) => makeRequest({ ...payload, groupInstanceId }) : makeRequest;
    };
    patched.set(this, this.lookupRequest);
    // A static member does not announce that it leaves: the broker would reassign its partitions immediately.
    this.leaveGroup = async () => ({});
  };
}
