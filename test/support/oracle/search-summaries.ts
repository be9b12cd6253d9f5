import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import type { Marked } from "../builders/marked-observations.ts";
import type { Known } from "./address-oracle.ts";
import { classOf, isSpoofable } from "./oracle.ts";

const COUNTRIES: Readonly<Record<string, string>> = { DE: "Germany", VN: "Vietnam", BR: "Brazil" };

/** How many of these addresses have each value. @param seen all that counts, of other addresses, too. */
function countByValue(
  addresses: ReadonlySet<string>,
  seen: readonly Marked[],
  valuesOf: (one: Marked) => readonly (string | undefined)[],
): Map<string, number> {
  const having = new Map<string, Set<string>>();
  for (const one of seen.filter(({ ip }) => addresses.has(ip))) {
    for (const value of valuesOf(one)) {
      if (value) having.set(value, (having.get(value) ?? new Set()).add(one.ip));
    }
  }
  return new Map([...having].map(([value, ips]) => [value, ips.size]));
}

/** `values` of `GET /v3/gnql/values`: what the addresses did, most first, ties in the order of their bytes. */
export function expectedValues(addresses: ReadonlySet<string>, seen: readonly Marked[], limit: number) {
  const tally = (valuesOf: (one: Marked) => readonly (string | undefined)[]) =>
    [...countByValue(addresses, seen, (one) => valuesOf(one).map((value) => value?.toLowerCase()))]
      .map(([value, count]) => ({ value, count }))
      .sort((a, b) => b.count - a.count || Buffer.compare(Buffer.from(a.value), Buffer.from(b.value)))
      .slice(0, limit);
  const ports = tally(({ port, transport = "" }) => [
    port === undefined ? undefined : `${String(port).padStart(5, "0")}/${transport}`,
  ]);
  return {
    ports: ports.map(({ value, count }) => ({ port: Number(value.slice(0, 5)), protocol: value.slice(6), count })),
    paths: tally(({ path }) => [path]),
    useragents: tally(({ userAgent }) => [userAgent]),
    ja3: tally(({ ja3 }) => [ja3]),
    ja4: tally(({ ja4 }) => [ja4]),
    hassh: tally(({ hassh }) => [hassh]),
    usernames: tally(({ credentials = [] }) => credentials.map(({ username }) => username)),
    passwords: tally(({ credentials = [] }) => credentials.map(({ password }) => password)),
    credentials: tally(({ credentials = [] }) =>
      credentials.map(({ username = "", password = "" }) => (username || password ? `${username}/${password}` : "")),
    ),
    commands: tally(({ commands = [] }) => commands),
    urls: tally(({ urls = [] }) => urls),
    sha256: tally(({ payloads = [] }) => payloads),
  };
}

/** The lists of `GET /v3/gnql/stats`, each as the counts by name. */
export function expectedStats(addresses: ReadonlySet<string>, known: Known) {
  const seenOf = (ip: string) => known.seen.filter((one) => one.ip === ip);
  const actorsOf = (ip: string) => known.actorOf(ip);
  const classes = [...addresses].map((ip) => classOf(seenOf(ip), known.tags, actorsOf(ip) !== undefined));
  const counted = (valuesOf: (one: Marked) => readonly (string | undefined)[]) =>
    Object.fromEntries(countByValue(addresses, known.seen, valuesOf));
  const classCounts = INTENTIONS.map((name) => [name, classes.filter((one) => one === name).length] as const);
  const forged = [...addresses].filter((ip) => isSpoofable(seenOf(ip))).length;
  const spoofableCounts = [
    ["false", addresses.size - forged],
    ["true", forged],
  ] as const;
  return {
    classifications: Object.fromEntries(classCounts.filter(([, count]) => count > 0)),
    spoofable: Object.fromEntries(spoofableCounts.filter(([, count]) => count > 0)),
    actors: counted(({ ip }) => [actorsOf(ip)]),
    countries: counted(({ country = "" }) => [COUNTRIES[country]]),
    tags: counted(({ tagIds }) => known.tags.flatMap(({ id, name }) => (tagIds.includes(id) ? [name] : []))),
    asns: counted(({ asn }) => [asn === undefined ? undefined : `AS${asn}`]),
  };
}
