import { createRequire } from "node:module";

/** What we touch of the library's own class for a connection to a broker. */
type Broker = {
  readonly connectionPool: { readonly clientId: string };
  connect(): Promise<void>;
  lookupRequest(apiKey: number, definition: unknown): (payload: object) => unknown;
  leaveGroup(): Promise<object>;
};

const BROKER_CLASS: { readonly prototype: Broker } = createRequire(import.meta.url)("kafkajs/src/broker/index.js");

/** OffsetCommit, JoinGroup, Heartbeat and SyncGroup carry the id of a static member. */
const GROUP_REQUESTS: ReadonlySet<number> = new Set([8, 11, 12, 14]);

/** By client id: that is all a connection knows of who uses it. */
const instanceIds = new Map<string, string>();
const wrapped = new WeakMap<Broker, Broker["lookupRequest"]>();
let isPrepared = false;

/**
 * Makes the consumer with this client id a static member of its group: one that is back within the session timeout has
 * its partitions as before, and no other member has to stop for it. The library writes the id into its requests, but
 * has no option for it, hence this way in.
 */
export function makeStaticMember(clientId: string, instanceId: string): void {
  instanceIds.set(clientId, instanceId);
  if (isPrepared) return;
  isPrepared = true;
  const { connect } = BROKER_CLASS.prototype;
  BROKER_CLASS.prototype.connect = async function (this: Broker) {
    await connect.call(this);
    const groupInstanceId = instanceIds.get(this.connectionPool.clientId);
    if (groupInstanceId === undefined || wrapped.get(this) === this.lookupRequest) return;
    const lookup = this.lookupRequest;
    this.lookupRequest = (apiKey, definition) => {
      const makeRequest = lookup(apiKey, definition);
      return GROUP_REQUESTS.has(apiKey) ? (payload) => makeRequest({ ...payload, groupInstanceId }) : makeRequest;
    };
    wrapped.set(this, this.lookupRequest);
    // A member that is to come back does not say that it leaves: its partitions would be shared out at once.
    this.leaveGroup = async () => ({});
  };
}
