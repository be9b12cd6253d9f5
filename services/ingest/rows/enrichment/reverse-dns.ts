import { Resolver } from "node:dns/promises";
import { createSingleFlight } from "@noisefloor/domain/time/single-flight.ts";
import { inTime } from "@noisefloor/domain/time/unless-aborted.ts";
import { LRUCache } from "lru-cache";
import pLimit from "p-limit";
import type { Taggable } from "../../tagging/matching/fields.ts";

/** Robots whose operators say that reverse DNS tells who they are. Only addresses that claim to be one are looked up. */
const CLAIMS_ROBOT =
  /googlebot|google-inspectiontool|adsbot-google|mediapartners-google|storebot-google|bingbot|adidxbot|bingpreview|msnbot|applebot|yandex[a-z]*(?:bot)?\/|baiduspider|petalbot|seznambot/i;

export type ReverseDnsOptions = {
  /** Addresses of resolvers, each with or without a port; none for those of the operating system. */
  readonly servers: readonly string[];
  /** How long a resolver may take for one query. */
  readonly timeoutMs?: number;
  /** How long a batch waits for names; those that come later count for later batches. */
  readonly waitMs?: number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
};

type Observation = Pick<Taggable, "http"> & {
  readonly source_ip: string;
  rdns?: string | undefined;
  rdns_validated?: boolean | undefined;
};

export type ReverseDns = {
  /** Looks up the sources of observations that claim to be a well-known robot, and waits a little for the answers. */
  prepare(observations: readonly Observation[]): Promise<void>;
  /** Fills in the name that is known by now to lead back to the source. A name that the sensor gave stays. */
  fill(observation: Observation): void;
  stop(): void;
};

const TIMEOUT_MS = 1_000;
const WAIT_MS = 500;
/** After a wait, batches do not wait for this many times its length: the intake keeps nearly all of its speed. */
const PAUSE = 9;
const MAX_RUNNING = 32;
/** Beyond this many lookups, further addresses are left out: they come again. */
const MAX_PENDING = 2_000;
const MAX_REMEMBERED = 32_768;
const NAMES_TTL_MS = 24 * 3_600_000;
/** Holds for addresses without a name, and for lookups that failed. */
const NO_NAMES_TTL_MS = 3_600_000;
const MAX_NAMES_TRIED = 4;

/** Finds the names of addresses that lead back to them: forward-confirmed reverse DNS. It never stops the intake. */
export function createReverseDns(options: ReverseDnsOptions): ReverseDns {
  const { servers, timeoutMs = TIMEOUT_MS, waitMs = WAIT_MS, now = () => performance.now() } = options;
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  if (servers.length > 0) resolver.setServers([...servers]);
  const namesOf = new LRUCache<string, readonly string[]>({
    ...{ max: MAX_REMEMBERED, ttl: NAMES_TTL_MS, ttlResolution: 0, perf: { now } },
  });
  const share = createSingleFlight<string, void>();
  const limit = pLimit(MAX_RUNNING);
  let waitFrom = Number.NEGATIVE_INFINITY;

  const lookUp = async (ip: string) => {
    const names = await confirmedNames(resolver, ip);
    namesOf.set(ip, names, { ttl: names.length > 0 ? NAMES_TTL_MS : NO_NAMES_TTL_MS });
  };

  return {
    async prepare(observations) {
      const lookups: Promise<void>[] = [];
      for (const { http, source_ip: ip } of observations) {
        const agent = http?.user_agent;
        if (agent === undefined || !CLAIMS_ROBOT.test(agent) || namesOf.has(ip)) continue;
        if (limit.activeCount + limit.pendingCount < MAX_PENDING) lookups.push(share(ip, () => limit(lookUp, ip)));
      }
      const began = now();
      if (lookups.length === 0 || began < waitFrom) return;
      await inTime(Promise.all(lookups), waitMs, "names come later").catch(() => {});
      waitFrom = now() + (now() - began) * PAUSE;
    },
    fill(observation) {
      const names = namesOf.get(observation.source_ip) ?? [];
      const [first] = names;
      if (first === undefined) return;
      const { rdns = "" } = observation;
      if (rdns !== "" && !names.includes(rdns.toLowerCase())) return;
      observation.rdns = rdns === "" ? first : rdns;
      observation.rdns_validated = true;
    },
    stop: () => resolver.cancel(),
  };
}

/** The names of an address that have it among their own addresses; none when the lookup fails. */
async function confirmedNames(resolver: Resolver, ip: string): Promise<string[]> {
  const names = await resolver.reverse(ip).catch((): string[] => []);
  const confirmed: string[] = [];
  for (const name of names.slice(0, MAX_NAMES_TRIED)) {
    const addresses = await resolver.resolve4(name).catch((): string[] => []);
    if (addresses.includes(ip)) confirmed.push(name.toLowerCase());
  }
  return confirmed;
}
