import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import type { Oracle, Seen } from "./oracle.ts";
import { rfc3339 } from "./oracle.ts";

/** An observation with its place. */
export type Placed = Seen & {
  readonly asn?: number | undefined;
  readonly organization?: string | undefined;
  readonly country?: string | undefined;
};

/** `days` after the clamp to the caller's reach. */
export type StatsAsked = { readonly days: number; readonly datasets: readonly string[]; readonly now: number };

const HOUR = 60 * 60 * 1000;
const COUNTRIES: Readonly<Record<string, string>> = { DE: "Germany", VN: "Vietnam", BR: "Brazil", QZ: "" };

function windowOf({ days, now }: StatsAsked) {
  const end = Math.ceil(now / HOUR) * HOUR;
  return { start: end - days * 24 * HOUR, end };
}

function metadataOf(asked: StatsAsked) {
  const { start, end } = windowOf(asked);
  return { start_date: rfc3339(start), end_date: rfc3339(end) };
}

const addressesOf = (seen: readonly Seen[]) => new Set(seen.map(({ ip }) => ip));

function since<T extends Seen>(seen: readonly T[], asked: StatsAsked): T[] {
  const { start } = windowOf(asked);
  return seen.filter(({ at, dataset }) => at >= start && asked.datasets.includes(dataset));
}

/** `GET /v3/stats/hours`. */
export function expectedHours(seen: readonly Seen[], asked: StatsAsked) {
  const { start, end } = windowOf(asked);
  const addresses = new Map<number, Set<string>>();
  for (const { ip, at } of since(seen, asked)) {
    const hour = Math.floor(at / HOUR) * HOUR;
    addresses.set(hour, (addresses.get(hour) ?? new Set()).add(ip));
  }
  const hours = [];
  for (let hour = start; hour < end; hour += HOUR) {
    hours.push({ start: rfc3339(hour), end: rfc3339(hour + HOUR), active_ips: addresses.get(hour)?.size ?? 0 });
  }
  return { hours, metadata: metadataOf(asked) };
}

/** `GET /v3/stats/observations`. */
export function expectedObservations(seen: readonly Seen[], asked: StatsAsked) {
  const { start, end } = windowOf(asked);
  const counts = new Map<number, number>();
  for (const { at } of since(seen, asked)) {
    const hour = Math.floor(at / HOUR) * HOUR;
    counts.set(hour, (counts.get(hour) ?? 0) + 1);
  }
  const hours = [];
  for (let hour = start; hour < end; hour += HOUR) {
    hours.push({ start: rfc3339(hour), end: rfc3339(hour + HOUR), observations: counts.get(hour) ?? 0 });
  }
  return { hours, metadata: metadataOf(asked) };
}

function groupBy<T extends Seen, Key>(seen: readonly T[], keyOf: (one: T) => Key): [Key, T[]][] {
  const groups = new Map<Key, T[]>();
  for (const one of seen) {
    const group = groups.get(keyOf(one));
    if (group === undefined) groups.set(keyOf(one), [one]);
    else group.push(one);
  }
  return [...groups];
}

/** `GET /v3/stats/networks`. */
export function expectedNetworks(seen: readonly Placed[], asked: StatsAsked & { readonly limit: number }) {
  const active = since(seen, asked);
  const networks = groupBy(active, ({ asn = 0 }) => asn)
    .filter(([asn]) => asn !== 0)
    .map(([asn, group]) => ({
      asn,
      organization:
        group
          .map(({ organization = "" }) => organization)
          .sort()
          .at(-1) ?? "",
      active_ips: addressesOf(group).size,
    }))
    .sort((a, b) => b.active_ips - a.active_ips || a.asn - b.asn)
    .map((network) => ({ ...network, asn: `AS${network.asn}` }));
  return {
    networks: networks.slice(0, asked.limit),
    total_ips: addressesOf(active).size,
    metadata: metadataOf(asked),
  };
}

/** `GET /v3/stats/countries`. */
export function expectedCountries(seen: readonly Placed[], asked: StatsAsked & { readonly limit: number }) {
  const active = since(seen, asked);
  const countries = groupBy(active, ({ country = "" }) => country)
    .filter(([code]) => code !== "")
    .map(([code, group]) => ({
      country: COUNTRIES[code],
      country_code: code,
      active_ips: addressesOf(group).size,
    }))
    .sort((a, b) => b.active_ips - a.active_ips || (a.country_code < b.country_code ? -1 : 1));
  return {
    countries: countries.slice(0, asked.limit),
    total_ips: addressesOf(active).size,
    metadata: metadataOf(asked),
  };
}

/** `GET /v3/stats/classifications`. @param oracle over the same observations. */
export function expectedClassifications(seen: readonly Seen[], oracle: Oracle, asked: StatsAsked) {
  const active = addressesOf(since(seen, asked));
  const classes = [...active].map((ip) => oracle.classification(ip, asked.datasets));
  return {
    classifications: ["malicious", "suspicious", "unknown", "benign"].map((classification) => ({
      classification,
      active_ips: classes.filter((one) => one === classification).length,
    })),
    total_ips: active.size,
    metadata: metadataOf(asked),
  };
}

/** The metadata's members for the hours in which observations are stored. */
function storedOf(seen: readonly Seen[], { datasets }: StatsAsked) {
  const hours = seen
    .filter(({ dataset }) => datasets.includes(dataset))
    .map(({ at }) => Math.floor(at / HOUR) * HOUR)
    .sort((one, other) => one - other);
  const [first, last] = [hours[0], hours.at(-1)];
  if (first === undefined || last === undefined) return { stored_from: "", stored_to: "" };
  return { stored_from: rfc3339(first), stored_to: rfc3339(last + HOUR) };
}

export type SummaryAsked = StatsAsked & { readonly sort: string; readonly limit: number };

/** `GET /v3/summary/tags`. */
export function expectedSummary(seen: readonly Seen[], tags: readonly Tag[], asked: SummaryAsked) {
  const { start, end } = windowOf(asked);
  const before = start - (end - start);
  const countOf = (id: string, from: number, to: number) =>
    addressesOf(
      seen.filter(
        ({ at, dataset, tagIds }) => at >= from && at < to && asked.datasets.includes(dataset) && tagIds.includes(id),
      ),
    ).size;
  const stored = storedOf(seen, asked);
  const isCompared = stored.stored_from !== "" && Date.parse(stored.stored_from) <= before;
  const rows = tags.map((tag) => {
    const [now, then] = [countOf(tag.id, start, end), countOf(tag.id, before, start)];
    const gained = now - then;
    const deviations = Math.round((gained / Math.sqrt(then === 0 ? 1 : then)) * 100) / 100;
    const change = asked.sort === "trending" ? gained : deviations;
    const score = asked.sort === "active" ? now : isCompared ? change : 0;
    const { id, label, slug, name, category, intention, cves, created_at } = tag;
    const shown = { id, label, slug, name, category, intention, cves, created_at };
    return { ...shown, total_ips: now, ...(isCompared ? { previous_ips: then } : {}), score };
  });
  const rankOf = ({ score }: { score: number }) => (asked.sort === "anomalies" ? Math.abs(score) : score);
  return {
    tags: rows
      .filter((row) =>
        asked.sort === "anomalies" ? isCompared && row.total_ips !== row.previous_ips : row.total_ips > 0,
      )
      .sort((a, b) => rankOf(b) - rankOf(a) || b.total_ips - a.total_ips || (a.slug < b.slug ? -1 : 1))
      .slice(0, asked.limit),
    metadata: { sort: asked.sort, ...metadataOf(asked), previous_start_date: rfc3339(before), ...stored },
  };
}

const latestFirst = <T extends { ip: string; at: number }>(all: readonly T[], limit: number) =>
  [...all].sort((a, b) => b.at - a.at || asNumber(a.ip) - asNumber(b.ip)).slice(0, limit);
const asNumber = (ip: string) => ip.split(".").reduce((number, part) => number * 256 + Number(part), 0);

/** `GET /v3/stats/first-seen`. */
export function expectedFirstSeen(seen: readonly Seen[], asked: StatsAsked & { readonly limit: number }) {
  const { start } = windowOf(asked);
  const fresh = groupBy(
    seen.filter(({ dataset }) => asked.datasets.includes(dataset)),
    ({ ip }) => ip,
  )
    .map(([ip, group]) => ({ ip, at: Math.min(...group.map(({ at }) => at)) }))
    .filter(({ at }) => at >= start);
  return {
    ips: latestFirst(fresh, asked.limit).map(({ ip, at }) => ({ ip, first_seen: rfc3339(at) })),
    total_ips: fresh.length,
    metadata: { ...metadataOf(asked), ...storedOf(seen, asked) },
  };
}

function expectedOfPlace(there: readonly Placed[], asked: StatsAsked & { readonly limit: number }) {
  const addresses = groupBy(since(there, asked), ({ ip }) => ip).map(([ip, group]) => ({
    ip,
    at: Math.max(...group.map(({ at }) => at)),
  }));
  return {
    ips: latestFirst(addresses, asked.limit).map(({ ip, at }) => ({ ip, last_seen: rfc3339(at) })),
    total_ips: addresses.length,
    metadata: metadataOf(asked),
  };
}

/** `GET /v3/stats/networks/AS{asn}`. */
export function expectedOfNetwork(
  seen: readonly Placed[],
  asked: StatsAsked & { readonly limit: number },
  asn: number,
) {
  const there = seen.filter((one) => one.asn === asn);
  const names = since(there, asked).map(({ organization = "" }) => organization);
  return { asn: `AS${asn}`, organization: names.sort().at(-1) ?? "", ...expectedOfPlace(there, asked) };
}

/** `GET /v3/stats/countries/{country}`. */
export function expectedOfCountry(
  seen: readonly Placed[],
  asked: StatsAsked & { readonly limit: number },
  country: string,
) {
  const there = seen.filter((one) => one.country === country);
  return { country: COUNTRIES[country], country_code: country, ...expectedOfPlace(there, asked) };
}
