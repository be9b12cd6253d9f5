import type { Marked } from "./marked-observations.ts";
import type { Random } from "./random.ts";

const DAY = 24 * 60 * 60 * 1000;

/** What random queries ask for: values that are stored, and others. */
export type QueryWords = {
  readonly seen: readonly Marked[];
  readonly tags: readonly {
    readonly id: string;
    readonly slug: string;
    readonly name: string;
    readonly cves: readonly string[];
  }[];
  readonly actors: readonly string[];
  readonly now: number;
};

/** A random query of at most `depth` levels of AND, OR and NOT, over all fields. */
export function randomQuery(random: Random, words: QueryWords, depth: number): string {
  if (depth === 0 || random.chance(0.25)) return randomCondition(random, words);
  const some = () => Array.from({ length: random.int(2, 3) }, () => randomQuery(random, words, depth - 1));
  const kind = random.int(0, 9);
  if (kind < 2) return `${random.pick(["NOT ", "-", "!"])}(${randomQuery(random, words, depth - 1)})`;
  if (kind < 6) return `(${some().join(random.pick([" ", " AND ", " && "]))})`;
  return `(${some().join(random.pick([" OR ", " || "]))})`;
}

export const quoted = (text: string) => `"${text.replace(/["\\*]/g, "\\$&")}"`;
/** Pairs of quotes, and what needs a backslash between them. */
const QUOTES = [
  ['"', '"', /["\\*]/g],
  ["'", "'", /['‘’‚‛‹›\\*]/g],
  ["“", "”", /[“”„‟«»\\*]/g],
] as const;

function quotedInAnyWay(random: Random, text: string): string {
  const [open, close, signs] = random.pick(QUOTES);
  return open + text.replace(signs, "\\$&") + close;
}

export const escaped = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, "\\$&");

/** A text as a query has it: quoted, in another case, or with wildcards in some of its places. */
function randomText(random: Random, text: string): string {
  const cased = random.pick([text, text.toUpperCase(), text.toLowerCase()]);
  if (random.chance(0.6)) return quotedInAnyWay(random, cased);
  const from = random.int(0, text.length);
  const to = random.int(from, text.length);
  const wildcard = random.chance(0.7) ? "*" : "?".repeat(Math.max(1, [...text.slice(from, to)].length));
  return `${escaped(text.slice(0, from))}${wildcard}${escaped(text.slice(to))}`;
}

/** Some of the words that follow each other in a text. */
function randomWords(random: Random, text: string): string {
  const found = text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [text];
  const from = random.int(0, found.length - 1);
  return quoted(found.slice(from, random.int(from + 1, found.length)).join(random.pick([" ", "-", "  "])));
}

function randomRange(random: Random, make: () => string): string {
  const [open, close] = [random.pick(["[", "{"]), random.pick(["]", "}"])];
  switch (random.int(0, 3)) {
    case 0:
      return make();
    case 1:
      return `${random.pick([">", ">=", "<", "<="])}${make()}`;
    case 2:
      return `${open}${make()} TO *${close}`;
    default:
      return `${open}* TO ${make()}${close}`;
  }
}

function randomTime(random: Random, now: number): string {
  const at = now - random.int(0, 40 * DAY);
  return random.pick([
    `${random.int(1, 40)}d`,
    `${random.int(1, 500)}h`,
    new Date(at).toISOString().slice(0, 10),
    `${new Date(at).toISOString().slice(0, 19)}Z`,
    "today",
    "yesterday",
  ]);
}

export const TEXT_FIELDS: Readonly<Record<string, (one: Marked) => string | undefined>> = {
  organization: ({ organization }) => organization,
  country: ({ country }) => country,
  country_code: ({ country }) => country,
  city: ({ city }) => city,
  region: ({ region }) => region,
  rdns: ({ rdns }) => rdns,
  useragent: ({ userAgent }) => userAgent,
  path: ({ path }) => path,
  "raw_data.http.method": ({ method }) => method,
  ja3: ({ ja3 }) => ja3,
  ja4: ({ ja4 }) => ja4,
  hassh: ({ hassh }) => hassh,
  sensor: ({ sensorId }) => sensorId,
  username: ({ credentials: [login] = [] }) => login?.username,
  password: ({ credentials: [login] = [] }) => login?.password,
  credential: ({ credentials: [login] = [] }) => login && `${login.username ?? ""}/${login.password ?? ""}`,
  command: ({ commands: [command] = [] }) => command,
  url: ({ urls: [url] = [] }) => url,
  sha256: ({ payloads: [digest] = [] }) => digest,
};
const WITH_WORDS = ["organization", "city", "region", "rdns", "useragent"];
const ALL_FIELDS = [...Object.keys(TEXT_FIELDS), "tags", "cve", "actor", "asn", "port", "protocol", "riot"];

function randomCondition(random: Random, words: QueryWords): string {
  const one = random.pick(words.seen);
  switch (random.int(0, 13)) {
    case 0:
      return `classification:${random.pick(["malicious", "suspicious", "benign", "unknown"])}`;
    case 1: {
      const { id, slug, name } = random.pick(words.tags);
      return `tags:${randomText(random, random.pick([slug, slug, name, id]))}`;
    }
    case 2:
      return `cve:${randomText(random, random.pick(words.tags.flatMap(({ cves }) => cves)))}`;
    case 3:
      return random.pick([
        one.ip,
        `${one.ip}/${random.int(22, 32)}`,
        `ip:[${one.ip} TO *]`,
        `actor:${quoted(random.pick([...words.actors, "Unknown"]))}`,
      ]);
    case 4:
      return `port:${randomRange(random, () => String(one.port ?? 22))}`;
    case 5:
      return `(port:${one.port ?? 22} protocol:${random.pick(["tcp", "udp"])})`;
    case 6:
      return `asn:${randomRange(random, () => random.pick(["AS", ""]) + (one.asn ?? 64_500))}`;
    case 7:
      if (random.int(0, 2) === 0) return `seen_on:${random.int(1, 3)}/${random.int(3, 30)}`;
      return `${random.pick(["metadata.sensor_hits", "metadata.sensor_count"])}:${randomRange(random, () => String(random.int(1, 30)))}`;
    case 8: {
      const field = random.pick([
        "first_seen",
        "last_seen",
        "last_seen_malicious",
        "last_seen_suspicious",
        "last_seen_benign",
      ]);
      return `${field}:${randomRange(random, () => randomTime(random, words.now))}`;
    }
    case 9:
      return random.pick([
        "riot:true",
        "riot:false",
        "trust_level:1",
        "trust_level:2",
        "protocol:tcp",
        "protocol:icmp",
        "spoofable:true",
        "spoofable:false",
        "bot:false",
        "mobile:false",
        "metadata.os:linux",
      ]);
    case 10:
      return `${random.pick(ALL_FIELDS.filter((name) => name !== "riot"))}:${random.pick(["*", '""'])}`;
    case 11: {
      const field = random.pick(WITH_WORDS);
      const text = TEXT_FIELDS[field]?.(one) ?? "nothing";
      // A star in quotes is a wildcard for these fields.
      if (random.chance(0.2)) return `${field}:"*${quoted(text.slice(random.int(0, text.length))).slice(1)}`;
      return `${field}:${randomWords(random, text)}`;
    }
    case 12:
      return random.pick([
        quoted(random.pick(words.tags).slug),
        randomWords(random, one.organization ?? "x"),
        "malicious",
        "tag*",
      ]);
    default: {
      const field = random.pick(Object.keys(TEXT_FIELDS));
      return `${field}:${randomText(random, TEXT_FIELDS[field]?.(one) || "nothing")}`;
    }
  }
}
