import type { Classification, Intention } from "@noisefloor/domain/tags/classification.ts";

/**
 * The brute-force oracle: answers every question from a plain list of observations, without sharing a line of
 * code with the service under test.
 */
export type Seen = {
  readonly ip: string;
  /** Milliseconds since 1970 UTC. */
  readonly at: number;
  readonly dataset: string;
  /** Its owner, in the personal dataset. */
  readonly workspaceId?: string;
  readonly tagIds: readonly string[];
  readonly transport?: string | undefined;
  /** What its sensor says of the handshake. */
  readonly established?: boolean | undefined;
  readonly loginAttempts?: number | undefined;
  readonly credentials?: readonly { readonly username?: string; readonly password?: string }[] | undefined;
  readonly commands?: readonly string[] | undefined;
  readonly urls?: readonly string[] | undefined;
  readonly payloads?: readonly string[] | undefined;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly headers?: readonly string[] | undefined;
  readonly cookies?: readonly string[] | undefined;
  readonly ja3?: string | undefined;
  readonly ja4?: string | undefined;
  readonly hassh?: string | undefined;
};

export type OracleTag = { readonly id: string; readonly intention: Intention };

export type OracleBucket = { readonly start: string; readonly end: string; readonly addresses: ReadonlySet<string> };

const HOUR = 60 * 60 * 1000;

export type Oracle = {
  /** The distinct addresses of a tag in each bucket of the last days. */
  buckets(question: {
    tagId: string;
    days: number;
    hours: number;
    datasets: readonly string[];
    now: number;
  }): OracleBucket[];
  /** The classification of an address by all tags that it was seen with in these datasets. */
  classification(ip: string, datasets: readonly string[]): Classification;
  /** The address's latest observation in these datasets, in milliseconds. */
  lastSeen(ip: string, datasets: readonly string[]): number | undefined;
};

/** @param isActor is the address one of a known benign actor's? */
export function createOracle(
  seen: readonly Seen[],
  tags: readonly OracleTag[],
  isActor: (ip: string) => boolean = () => false,
): Oracle {
  const byAddress = new Map<string, Seen[]>();
  for (const one of seen) byAddress.set(one.ip, [...(byAddress.get(one.ip) ?? []), one]);
  const ofAddress = (ip: string, datasets: readonly string[]) =>
    (byAddress.get(ip) ?? []).filter(({ dataset }) => datasets.includes(dataset));

  return {
    buckets({ tagId, days, hours, datasets, now }) {
      const relevant = seen.filter(({ tagIds, dataset }) => tagIds.includes(tagId) && datasets.includes(dataset));
      const asDate = new Date(now);
      const end = asDate.setUTCMinutes(asDate.getTime() % HOUR === 0 ? 0 : 60, 0, 0);
      const buckets: { from: number; to: number; addresses: Set<string> }[] = [];
      for (let from = end - days * 24 * HOUR; from < end; from += hours * HOUR) {
        const to = Math.min(from + hours * HOUR, end);
        buckets.push({ from, to, addresses: new Set() });
      }
      const latestFirst = [...buckets].reverse();
      for (const { ip, at } of relevant) {
        latestFirst.find(({ from, to }) => at >= from && at < to)?.addresses.add(ip);
      }
      return buckets.map(({ from, to, addresses }) => ({ start: rfc3339(from), end: rfc3339(to), addresses }));
    },
    classification(ip, datasets) {
      return classOf(ofAddress(ip, datasets), tags, isActor(ip));
    },
    lastSeen(ip, datasets) {
      const times = ofAddress(ip, datasets).map(({ at }) => at);
      return times.length === 0 ? undefined : times.reduce((a, b) => Math.max(a, b));
    },
  };
}

/** What observations of an address, or one of them, make of it. */
export function classOf(seen: readonly Seen[], tags: readonly OracleTag[], isActor: boolean): Classification {
  const ids = new Set(seen.flatMap(({ tagIds }) => tagIds));
  const intentions = new Set(tags.filter(({ id }) => ids.has(id)).map(({ intention }) => intention));
  const hasAttacked = seen.some(isAttack);
  if (isActor && !hasAttacked) return "benign";
  if (intentions.has("malicious")) return "malicious";
  if (intentions.has("suspicious") || isActor) return "suspicious";
  return intentions.has("benign") && !intentions.has("unknown") && !hasAttacked ? "benign" : "unknown";
}

/** What an observation has that only a connection carries; over UDP, the same can be forged. */
function didWhat(one: Seen): string | undefined {
  const { method, path, userAgent, headers = [], cookies = [], ja3, ja4, hassh } = one;
  const { loginAttempts = 0, credentials = [], commands = [], urls = [], payloads = [] } = one;
  if (loginAttempts + credentials.length > 0) return "login";
  if (commands.length > 0) return "command";
  if (urls.length + payloads.length > 0) return "download";
  if (method || path || userAgent || headers.length + cookies.length > 0) return "request";
  if (ja3 || ja4) return "tls";
  return hassh ? "ssh" : undefined;
}

const isAttack = (one: Seen) =>
  proofOf(one) !== undefined && ["login", "command", "download"].includes(didWhat(one) ?? "");

/** By what an observation alone shows that its source received what was sent to it; undefined if it does not. */
export function proofOf(one: Seen): string | undefined {
  if (one.established === false) return undefined;
  if (one.established === true) {
    return one.transport === undefined || one.transport === "tcp" ? (didWhat(one) ?? "connection") : undefined;
  }
  return one.transport === "tcp" ? didWhat(one) : undefined;
}

/** Whether none of some observations of an address shows that. */
export const isSpoofable = (seen: readonly Seen[]) =>
  seen.length > 0 && seen.every((one) => proofOf(one) === undefined);

/**
 * The sample that a bucket must show: the `most` addresses with the lowest hash, ascending. The hash is ClickHouse's
 * intHash32, written here a second time over big integers.
 */
export function sampleOf(addresses: ReadonlySet<string>, most: number): string[] {
  const lowest = [...addresses]
    .map((ip) => ({ ip, hash: intHash32(numberOf(ip)), number: numberOf(ip) }))
    .sort((a, b) => (a.hash === b.hash ? Number(a.number - b.number) : a.hash < b.hash ? -1 : 1))
    .slice(0, most);
  return lowest.sort((a, b) => Number(a.number - b.number)).map(({ ip }) => ip);
}

function numberOf(ip: string): bigint {
  return ip.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

export function intHash32(value: bigint): bigint {
  const wrap = (x: bigint) => BigInt.asUintN(64, x);
  const rotateRight = (x: bigint, by: bigint) => wrap((x >> by) | (x << (64n - by)));
  let key = value ^ 0x75d9543de018bf45n;
  key = wrap(wrap(~key) + wrap(key << 18n));
  key ^= rotateRight(key, 31n);
  key = wrap(key * 21n);
  key ^= rotateRight(key, 11n);
  key = wrap(key + wrap(key << 6n));
  key ^= rotateRight(key, 22n);
  return BigInt.asUintN(32, key);
}

export function rfc3339(time: number): string {
  return new Date(time).toISOString().replace(/\.\d{3}Z$/, "Z");
}
