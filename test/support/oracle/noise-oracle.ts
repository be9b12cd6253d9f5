import type { Marked } from "../builders/marked-observations.ts";
import type { Known } from "./address-oracle.ts";
import { createOracle, rfc3339 } from "./oracle.ts";

const observationsOf = (ip: string, known: Known) => known.seen.filter((one) => one.ip === ip);

/** `GET /v3/noise/ips/{ip}/tags`. */
export function expectedAddressTags(ip: string, known: Known) {
  const rows = known.tags.flatMap(({ id, slug, name, category, intention }) => {
    const times = observationsOf(ip, known)
      .filter(({ tagIds }) => tagIds.includes(id))
      .map(({ at }) => at)
      .sort((a, b) => a - b);
    const [first, last] = [times[0], times.at(-1)];
    if (first === undefined || last === undefined) return [];
    const seen = { first_seen: rfc3339(first), last_seen: rfc3339(last), observations: times.length };
    return [{ last, row: { id, slug, name, category, intention, ...seen } }];
  });
  rows.sort((a, b) => b.last - a.last || (a.row.slug < b.row.slug ? -1 : 1));
  return { ip, tags: rows.map(({ row }) => row) };
}

/** The 100 entries that the most observations have, ties in order of their bytes, and how many there are. */
function ranked(seen: readonly Marked[], entriesOf: (one: Marked) => readonly (readonly string[])[]) {
  const counts = new Map<string, number>();
  for (const one of seen) {
    for (const key of new Set(entriesOf(one).map((entry) => JSON.stringify(entry)))) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  const rows = [...counts].map(([key, observations]): { entry: string[]; observations: number } => ({
    entry: JSON.parse(key),
    observations,
  }));
  const bytes = (text = "") => Buffer.from(text);
  const order = (a: string[], b: string[]) =>
    Buffer.compare(bytes(a[0]), bytes(b[0])) || Buffer.compare(bytes(a[1]), bytes(b[1]));
  rows.sort((a, b) => b.observations - a.observations || order(a.entry, b.entry));
  return { rows: rows.slice(0, 100), total: rows.length };
}

/** `GET /v3/noise/ips/{ip}/interaction`. */
export function expectedInteraction(ip: string, known: Known) {
  const seen = observationsOf(ip, known);
  const texts = (member: "commands" | "urls" | "payloads") =>
    ranked(seen, (one) => (one[member] ?? []).filter((text) => text !== "").map((text) => [text]));
  const credentials = ranked(seen, (one) =>
    (one.credentials ?? []).map(({ username = "", password = "" }) => [username, password]),
  );
  const [commands, urls, payloads] = [texts("commands"), texts("urls"), texts("payloads")];
  return {
    ip,
    login_attempts: seen.reduce((sum, { loginAttempts = 0 }) => sum + loginAttempts, 0),
    credentials: credentials.rows.map(({ entry: [username, password], observations }) => ({
      username,
      password,
      observations,
    })),
    total_credentials: credentials.total,
    commands: commands.rows.map(({ entry: [command], observations }) => ({ command, observations })),
    total_commands: commands.total,
    urls: urls.rows.map(({ entry: [url], observations }) => ({ url, observations })),
    total_urls: urls.total,
    payloads: payloads.rows.map(({ entry: [sha256], observations }) => ({ sha256, observations })),
    total_payloads: payloads.total,
  };
}

const numberOf = (ip: string) => ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

/** `GET /v3/noise/networks/{ip}/{length}`. */
export function expectedNetwork(ip: string, length: number, limit: number, known: Known) {
  const size = 2 ** (32 - length);
  const networkOf = (address: string) => Math.floor(numberOf(address) / size);
  const first = networkOf(ip) * size;
  const inside = known.seen.filter((one) => networkOf(one.ip) === networkOf(ip));
  const oracle = createOracle(known.seen, known.tags, (address) => known.actorOf(address) !== undefined);
  const addresses = [...new Set(inside.map((one) => one.ip))].sort((a, b) => numberOf(a) - numberOf(b));
  const ips = addresses.slice(0, limit).map((address) => {
    const seen = inside.filter((one) => one.ip === address);
    const carried = new Set(seen.flatMap(({ tagIds }) => tagIds));
    return {
      ip: address,
      classification: oracle.classification(address, ["global", "community", "personal"]),
      last_seen: rfc3339(Math.max(...seen.map(({ at }) => at))),
      tags: known.tags.flatMap(({ id, slug }) => (carried.has(id) ? [slug] : [])).sort(),
    };
  });
  const parts = [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256);
  return {
    network: `${parts.join(".")}/${length}`,
    ips,
    total_ips: addresses.length,
    truncated: addresses.length > limit,
  };
}
