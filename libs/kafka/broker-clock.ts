import { sendRaw } from "./kafkajs-patches/raw-requests.ts";

/** DescribeQuorum, which changes nothing: the controller says when each voter last fetched, itself just now. */
const API_KEY = 55;
const API_VERSION = 1;
const METADATA_TOPIC = "__cluster_metadata";

/**
 * How far the clock of the cluster's controller is ahead of ours, in milliseconds; undefined when the brokers do not
 * say: before Kafka 3.3, of another make, and to users who may not describe the cluster.
 * @param clientId of a connected client, which was given to `rememberBroker`.
 */
export async function readBrokerClock(clientId: string, now: () => number): Promise<number | undefined> {
  const start = now();
  const request = { apiKey: API_KEY, apiVersion: API_VERSION, apiName: "DescribeQuorum", body: REQUEST };
  const response = await sendRaw(clientId, request);
  const at = response && leaderTime(response);
  return at === undefined ? undefined : Math.round(at - (start + now()) / 2);
}

/** Lengths are one more than they are, and a 0 ends each part: no tagged fields follow. */
const REQUEST = Buffer.concat([
  ...[Buffer.from([0, 2, METADATA_TOPIC.length + 1]), Buffer.from(METADATA_TOPIC)],
  Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]),
]);

/** When the leader of the quorum last fetched, which is now; in milliseconds since 1970 UTC. */
export function leaderTime(response: Buffer): number | undefined {
  let at = 0;
  /** Passes over bytes. @returns where they begin. */
  const skip = (bytes: number) => {
    at += bytes;
    return at - bytes;
  };
  const int16 = () => response.readInt16BE(skip(2));
  const int32 = () => response.readInt32BE(skip(4));
  const int64 = () => Number(response.readBigInt64BE(skip(8)));
  /** Up to 126, which is more topics, partitions or voters than a quorum has. */
  const length = () => response.readUInt8(skip(1)) - 1;
  skip(1);
  if (int16() !== 0 || length() !== 1) return undefined;
  skip(length());
  if (length() !== 1) return undefined;
  skip(4);
  if (int16() !== 0) return undefined;
  const leader = int32();
  skip(4 + 8);
  for (let voters = length(); voters > 0; voters--) {
    const replica = int32();
    skip(8);
    const fetchedAt = int64();
    skip(8 + 1);
    if (replica === leader && fetchedAt > 0) return fetchedAt;
  }
  return undefined;
}
