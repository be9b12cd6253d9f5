import { Resolver } from "node:dns/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Taggable } from "../../tagging/matching/fields.ts";

/** Robots whose operators say that reverse DNS tells who they are. Only addresses that claim to be one are looked up. */
const CLAIMS_ROBOT =
  /googlebot|google-inspectiontool|adsbot-google|mediapartners-google|storebot-google|bingbot|adidxbot|bingpreview|msnbot|applebot|yandex[a-z]*(?:bot)?\/|baiduspider|petalbot|seznambot/i;

export type ReverseDnsOptions = {
  /** Addresses of resolvers, each with or without a port; none for those of the operating system. */
  readonly servers: readonly string[];
  /** For each question. */
  readonly timeoutMs?: number;
  /** A batch waits for so long; what is not known then counts for later ones. */
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
/** After a wait, batches do not wait for so many times as long: the intake keeps nearly all of its speed. */
const PAUSE = 9;
const AT_ONCE = 32;
/** Further addresses are left out: they come again. */
const MOST_PENDING = 2_000;
const REMEMBERED = 32_768;
const KNOWN_FOR_MS = 24 * 3_600_000;
/** Also for lookups that failed. */
const UNKNOWN_FOR_MS = 3_600_000;
/** How many names of an address are tried. */
const MOST_NAMES = 4;

type Answer = { readonly names: readonly string[]; readonly until: number };

/** Finds the names of addresses that lead back to them: forward-confirmed reverse DNS. It never stops the intake. */
export function createReverseDns(options: ReverseDnsOptions): ReverseDns {
  const { servers, timeoutMs = TIMEOUT_MS, waitMs = WAIT_MS, now = () => performance.now() } = options;
  const resolver = new Resolver({ timeout: timeoutMs, tries: 1 });
  if (servers.length > 0) resolver.setServers([...servers]);
  const answers = new Map<string, Answer>();
  const pending = new Map<string, Promise<void>>();
  const queue: (() => void)[] = [];
  let running = 0;
  let waitFrom = Number.NEGATIVE_INFINITY;

  const remember = (ip: string, names: readonly string[]) => {
    const [oldest] = answers.keys();
    if (answers.size >= REMEMBERED && oldest !== undefined) answers.delete(oldest);
    answers.set(ip, { names, until: now() + (names.length > 0 ? KNOWN_FOR_MS : UNKNOWN_FOR_MS) });
  };
  const ask = async (ip: string) => {
    if (running >= AT_ONCE) await new Promise<void>((begin) => queue.push(begin));
    running++;
    try {
      remember(ip, await confirmedNames(resolver, ip));
    } finally {
      running--;
      pending.delete(ip);
      queue.shift()?.();
    }
  };
  const isKnown = (ip: string) => (answers.get(ip)?.until ?? Number.NEGATIVE_INFINITY) > now();

  return {
    async prepare(observations) {
      const wanted = new Set<string>();
      for (const { http, source_ip } of observations) {
        const agent = http?.user_agent;
        if (agent !== undefined && CLAIMS_ROBOT.test(agent) && !isKnown(source_ip)) wanted.add(source_ip);
      }
      for (const ip of wanted) {
        if (!pending.has(ip) && pending.size < MOST_PENDING) pending.set(ip, ask(ip));
      }
      const asked = [...wanted].flatMap((ip) => pending.get(ip) ?? []);
      const began = now();
      if (asked.length === 0 || began < waitFrom) return;
      const over = new AbortController();
      const timer = sleep(waitMs, undefined, { signal: over.signal }).catch(() => {});
      await Promise.race([Promise.all(asked), timer]);
      over.abort();
      waitFrom = now() + (now() - began) * PAUSE;
    },
    fill(observation) {
      const names = isKnown(observation.source_ip) ? answers.get(observation.source_ip)?.names : undefined;
      const [first] = names ?? [];
      if (names === undefined || first === undefined) return;
      const own = observation.rdns;
      if (own !== undefined && own !== "" && !names.includes(own.toLowerCase())) return;
      observation.rdns = own === undefined || own === "" ? first : own;
      observation.rdns_validated = true;
    },
    stop: () => resolver.cancel(),
  };
}

/** The names of an address that have it among their own addresses; none when the lookup fails. */
async function confirmedNames(resolver: Resolver, ip: string): Promise<string[]> {
  const names = await resolver.reverse(ip).catch((): string[] => []);
  const confirmed: string[] = [];
  for (const name of names.slice(0, MOST_NAMES)) {
    const addresses = await resolver.resolve4(name).catch((): string[] => []);
    if (addresses.includes(ip)) confirmed.push(name.toLowerCase());
  }
  return confirmed;
}
