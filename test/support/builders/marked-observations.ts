import type { Transport } from "@noisefloor/domain/observation/members.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import type { Seen } from "../oracle/oracle.ts";
import type { Random } from "./random.ts";

const DAY = 24 * 60 * 60 * 1000;

/** A dataset, or one workspace's part of the personal one. */
export type MarkedScope = {
  readonly dataset: "global" | "community" | "personal";
  readonly workspaceId?: string;
  /** A text that all its observations contain, and no other. */
  readonly mark: string;
  readonly number: number;
};

/** An observation with every member that an answer could leak; those that its sensor left out are absent. */
export type Marked = Seen & {
  readonly mark: string;
  readonly observationId: string;
  readonly sensorId: string;
  readonly port: number | undefined;
  readonly transport: Transport | undefined;
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly userAgent: string | undefined;
  readonly headers?: readonly string[] | undefined;
  readonly cookies?: readonly string[] | undefined;
  readonly ja3: string | undefined;
  readonly ja4: string | undefined;
  readonly hassh: string | undefined;
  readonly asn: number | undefined;
  readonly organization: string | undefined;
  readonly country: string | undefined;
  readonly region?: string | undefined;
  readonly city: string | undefined;
  readonly coordinates?: readonly [latitude: number, longitude: number] | undefined;
  readonly rdns: string | undefined;
  readonly credentials?: readonly { readonly username?: string; readonly password?: string }[] | undefined;
  readonly loginAttempts?: number | undefined;
  readonly commands?: readonly string[] | undefined;
  readonly urls?: readonly string[] | undefined;
  /** SHA-256 digests, which bear no mark. */
  readonly payloads?: readonly string[] | undefined;
};

export function makeScopes(workspaceIds: readonly string[]): MarkedScope[] {
  const scopes: Omit<MarkedScope, "mark" | "number">[] = [
    { dataset: "global" },
    { dataset: "community" },
    ...workspaceIds.map((workspaceId) => ({ dataset: "personal" as const, workspaceId })),
  ];
  return scopes.map((scope, number) => ({ ...scope, number, mark: `mark${number}x` }));
}

/** Addresses that many scopes have seen: plain ones, some of a benign service and some of a benign actor. */
export const SERVICE_NETWORK = "45.1.0.0/24";
export const ACTOR_NETWORK = "45.2.0.0/24";
export const SHARED_ADDRESSES = [
  ...Array.from({ length: 40 }, (_, index) => `45.0.0.${index}`),
  ...Array.from({ length: 12 }, (_, index) => `45.1.0.${index}`),
  ...Array.from({ length: 12 }, (_, index) => `45.2.0.${index}`),
];
/** Each scope never sees some of them, so that a leak of their existence shows, too. */
const reaching = (scope: MarkedScope) => SHARED_ADDRESSES.filter((_, index) => (index + scope.number) % 4 !== 0);
/** The slug of the tag that only observations of this scope carry. */
export const onlyIn = (scope: MarkedScope) => `only-in-${scope.number}`;
/** Addresses that only this scope has seen. */
export const addressesOf = (scope: MarkedScope) =>
  Array.from({ length: 3 }, (_, index) => `46.${scope.number}.0.${index}`);

/** Random observations of the last 90 days in all scopes, with repeating addresses. */
export function makeMarked(
  random: Random,
  from: {
    readonly scopes: readonly MarkedScope[];
    readonly tags: readonly Tag[];
    readonly count: number;
    readonly now: number;
  },
): Marked[] {
  const { scopes, tags, count, now } = from;
  const moments = Array.from({ length: 20 }, () => now - random.int(0, 2 * DAY));
  return Array.from({ length: count }, (_, index) => ({
    ...makeMembers(random, random.pick(scopes), tags),
    observationId: `o-${index}`,
    // Some share a millisecond with others; half of the rest are within the shortest reach.
    at: random.chance(0.3) ? random.pick(moments) : now - random.int(0, random.chance(0.5) ? 3 * DAY : 90 * DAY - 1),
  }));
}

/** All members but its time and id. */
function makeMembers(random: Random, scope: MarkedScope, tags: readonly Tag[]): Omit<Marked, "observationId" | "at"> {
  const { dataset, workspaceId, mark, number } = scope;
  const some = <T>(make: () => T) => (random.chance(0.5) ? make() : undefined);
  const marked = (what: string) => some(() => `${what}-${mark}-${random.int(0, 4)}`);
  const ofScope = tags.filter(({ slug }) => slug === onlyIn(scope));
  const ofAll = tags.filter(({ slug }) => slug.startsWith("everywhere-"));
  const carried = Array.from({ length: random.int(0, 3) }, () => random.pick(random.chance(0.3) ? ofScope : ofAll));
  return {
    mark,
    dataset,
    ...(workspaceId === undefined ? {} : { workspaceId }),
    ip: random.pick(random.chance(0.85) ? reaching(scope) : addressesOf(scope)),
    tagIds: [...new Set(carried.map(({ id }) => id))],
    sensorId: random.chance(0.3) ? "roaming" : `sensor-${mark}-${random.int(0, 3)}`,
    port: some(() => (random.chance(0.3) ? 22 : 10_000 + number * 100 + random.int(0, 9))),
    transport: some(() => random.pick(["tcp", "udp", "icmp"])),
    // Often a bare packet, so that some addresses could be forged.
    established: random.chance(0.6) ? false : some(() => true),
    method: marked("M"),
    path: marked("/path"),
    userAgent: marked("agent"),
    headers: some(() => [`header-${mark}-${random.int(0, 4)}`, `Host-${mark}`]),
    cookies: some(() => [`cookie-${mark}-${random.int(0, 4)}`]),
    ja3: marked("ja3"),
    ja4: marked("ja4"),
    hassh: marked("hassh"),
    asn: some(() => 64_500 + number),
    organization: marked("organization"),
    country: some(() => random.pick(["DE", "VN", "BR"])),
    region: marked("region"),
    city: marked("city"),
    // Halves, which a Float32 holds exactly; their whole part is the scope's.
    coordinates: some(() => [number + random.int(0, 1) / 2, -number - 0.5]),
    rdns: marked("rdns"),
    ...makeInteraction(random, scope),
  };
}

/** What a visitor left in a sensor that it could log in to; entries repeat, also within an observation. */
function makeInteraction(random: Random, { mark, number }: MarkedScope) {
  const list = <T>(make: () => T) => (random.chance(0.4) ? Array.from({ length: random.int(1, 3) }, make) : undefined);
  return {
    credentials: list(() => ({
      ...(random.chance(0.9) ? { username: `user-${mark}-${random.int(0, 1)}` } : {}),
      ...(random.chance(0.9) ? { password: `pass-${mark}-${random.int(0, 1)}` } : {}),
    })),
    loginAttempts: random.chance(0.5) ? random.int(0, 9) : undefined,
    commands: list(() => random.pick(["", `uname -${mark}-${random.int(0, 2)}`])),
    urls: list(() => `http://${mark}.example.org/${random.int(0, 2)}`),
    payloads: list(() => `${number}${random.int(0, 2)}`.padStart(64, "e")),
  };
}

/** As a sensor sends it. */
export function toWire(one: Marked): Record<string, unknown> {
  return {
    observation_id: one.observationId,
    observed_at: new Date(one.at).toISOString(),
    sensor_id: one.sensorId,
    source_ip: one.ip,
    dataset: one.dataset,
    workspace_id: one.workspaceId,
    destination_port: one.port,
    transport: one.transport,
    established: one.established,
    tags: one.tagIds,
    http: {
      method: one.method,
      path: one.path,
      user_agent: one.userAgent,
      headers: one.headers,
      cookies: one.cookies,
    },
    tls: { ja3: one.ja3, ja4: one.ja4 },
    ssh: { hassh: one.hassh },
    asn: one.asn,
    organization: one.organization,
    country: one.country,
    region: one.region,
    city: one.city,
    latitude: one.coordinates?.[0],
    longitude: one.coordinates?.[1],
    rdns: one.rdns,
    credentials: one.credentials,
    login_attempts: one.loginAttempts,
    commands: one.commands,
    urls: one.urls,
    payload_sha256: one.payloads,
  };
}
