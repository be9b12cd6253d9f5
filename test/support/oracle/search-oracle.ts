import type { Pattern, Query } from "@noisefloor/domain/query-language/query.ts";
import type { Marked } from "../builders/marked-observations.ts";
import type { Known } from "./address-oracle.ts";
import { classOf, isSpoofable } from "./oracle.ts";

/** What is stored of one address, of all that counts. */
type Address = {
  readonly ip: string;
  readonly seen: readonly Marked[];
  readonly known: Known;
  readonly mayKnowSensor: (one: Marked) => boolean;
};

/**
 * The addresses that match a search, by brute force.
 * @param known has the observations that count, and no others.
 * @param mayKnowSensor whether the caller may know which sensor made an observation.
 */
export function matching(query: Query, known: Known, mayKnowSensor: (one: Marked) => boolean): string[] {
  const byAddress = new Map<string, Marked[]>();
  for (const one of known.seen) byAddress.set(one.ip, [...(byAddress.get(one.ip) ?? []), one]);
  return [...byAddress].flatMap(([ip, seen]) => (matches(query, { ip, seen, known, mayKnowSensor }) ? [ip] : []));
}

/**
 * The same for each of some spans of time, in milliseconds: each condition is about the observations of one of them.
 */
export function matchingBySpan(
  query: Query,
  known: Known,
  mayKnowSensor: (one: Marked) => boolean,
  spans: readonly { readonly start: number; readonly end: number }[],
): string[][] {
  return spans.map(({ start, end }) => {
    const seen = known.seen.filter(({ at }) => at >= start && at < end);
    return matching(query, { ...known, seen }, mayKnowSensor);
  });
}

function matches(query: Query, address: Address): boolean {
  switch (query.type) {
    case "and":
      return query.of.every((one) => matches(one, address));
    case "or":
      return query.of.some((one) => matches(one, address));
    case "not":
      return !matches(query.of, address);
    case "constant":
      return query.value;
    case "range":
      return numbersOf(query.field, address).some((number) => number >= query.first && number <= query.last);
    case "seen-on": {
      const days = address.seen.flatMap(({ at }) => (at < query.firstDay ? [] : Math.floor(at / 86_400_000)));
      return new Set(days).size >= query.minDays;
    }
    case "port-protocol":
      return address.seen.some(
        ({ port, transport }) =>
          port !== undefined && port >= query.first && port <= query.last && transport === query.protocol,
      );
    case "exists":
      return isNumeric(query.field)
        ? numbersOf(query.field, address).length > 0
        : textsOf(query.field, address).some((text) => text !== "");
    case "equals":
      if (query.field === "riot") {
        return (query.text === "true") === (address.known.serviceOf(address.ip) !== undefined);
      }
      if (query.field === "spoofable") return (query.text === "true") === isSpoofable(address.seen);
      return saidOf(query.field, address).some((text) => text !== "" && text.toLowerCase() === query.text);
    case "words":
      return saidOf(query.field, address).some((text) => hasWords(text, query.words, isCode(query.field, text)));
    case "matches":
      return saidOf(query.field, address, true).some((text) => text !== "" && patternOf(query.pattern).test(text));
    case "any": {
      const whole = [...wholeOf(address)].some((text) => text.toLowerCase() === query.text);
      const named = namesOf(address);
      if (query.words.length === 0) return whole || named.some((name) => name.toLowerCase() === query.text);
      return whole || named.some((name) => hasWords(name, query.words, false));
    }
  }
}

const isCode = (field: string, text: string) => field === "country" && text.length === 2;

function hasWords(text: string, words: readonly string[], isWhole: boolean): boolean {
  const separated = ` ${text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")} `;
  const wanted = ` ${words.join(" ")} `;
  return isWhole ? separated === wanted : separated.includes(wanted);
}

function patternOf(pattern: Pattern): RegExp {
  const source = pattern.map((part) =>
    typeof part === "string" ? part.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") : part.wildcard === "*" ? ".*" : ".",
  );
  return new RegExp(`^${source.join("")}$`, "ius");
}

const NUMERIC = new Set(
  "ip asn port sensor_hits sensor_count trust_level first_seen last_seen last_seen_malicious last_seen_suspicious last_seen_benign".split(
    " ",
  ),
);
const isNumeric = (field: string) => NUMERIC.has(field);

const numberOf = (ip: string) => ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);

/** The numbers of a field, times in milliseconds. */
function numbersOf(field: string, { ip, seen, known }: Address): number[] {
  const times = seen.map(({ at }) => at);
  const lastWith = (intention: string) => {
    const ids = new Set(known.tags.flatMap((tag) => (tag.intention === intention ? [tag.id] : [])));
    const tagged = seen.filter(({ tagIds }) => tagIds.some((id) => ids.has(id))).map(({ at }) => at);
    return tagged.length === 0 ? [] : [Math.max(...tagged)];
  };
  switch (field) {
    case "ip":
      return [numberOf(ip)];
    case "asn":
      return seen.flatMap(({ asn }) => asn ?? []);
    case "port":
      return seen.flatMap(({ port }) => port ?? []);
    case "sensor_hits":
      return [seen.length];
    case "sensor_count":
      return [new Set(seen.map(({ sensorId }) => sensorId)).size];
    case "trust_level":
      return [known.serviceOf(ip)].flatMap((service) => (service === undefined ? [] : Number(service.trust_level)));
    case "first_seen":
      return [Math.min(...times)];
    case "last_seen":
      return [Math.max(...times)];
    case "last_seen_malicious":
      return lastWith("malicious");
    case "last_seen_suspicious":
      return lastWith("suspicious");
    case "last_seen_benign":
      if (classOf(seen, known.tags, known.actorOf(ip) !== undefined) !== "benign") return [];
      return known.actorOf(ip) === undefined ? lastWith("benign") : [Math.max(...times)];
    default:
      throw new Error(`no numbers of ${field}`);
  }
}

const NAMES: Readonly<Record<string, string>> = { DE: "Germany", VN: "Vietnam", BR: "Brazil" };

const tagsOf = ({ seen, known }: Address) =>
  known.tags.filter(({ id }) => seen.some(({ tagIds }) => tagIds.includes(id)));
const classificationOf = ({ ip, seen, known }: Address) => classOf(seen, known.tags, known.actorOf(ip) !== undefined);

const wholeOf = (address: Address) => [
  classificationOf(address),
  ...tagsOf(address).flatMap(({ slug, cves }) => [slug, ...cves]),
];
const namesOf = (address: Address) => [
  ...tagsOf(address).map(({ name }) => name),
  ...[address.known.actorOf(address.ip) ?? []].flat(),
  ...address.seen.flatMap(({ organization }) => organization ?? []),
];

/** The same as rows say it: they have a word for no actor. */
function saidOf(field: string, address: Address, isPattern = false): string[] {
  const texts = textsOf(field, address, isPattern);
  return field === "actor" && texts.length === 0 ? ["unknown"] : texts;
}

/** @param isPattern no pattern is compared with the ids of tags. */
function textsOf(field: string, address: Address, isPattern = false): string[] {
  const { ip, seen, known } = address;
  const said = (of: (one: Marked) => string | undefined) => seen.flatMap((one) => of(one) ?? []);
  const logins = seen.flatMap(({ credentials = [] }) => credentials);
  switch (field) {
    case "classification":
      return [classificationOf(address)];
    case "tag":
      return tagsOf(address).flatMap(({ id, slug, name }) => (isPattern ? [slug, name] : [id, slug, name]));
    case "cve":
      return tagsOf(address).flatMap(({ cves }) => cves);
    case "actor":
      return [known.actorOf(ip) ?? []].flat();
    case "organization":
      return said(({ organization }) => organization);
    case "country":
      return said(({ country }) => country).flatMap((code) => [code, NAMES[code] ?? ""]);
    case "country_code":
      return said(({ country }) => country);
    case "city":
      return said(({ city }) => city);
    case "region":
      return said(({ region }) => region);
    case "rdns":
      return said(({ rdns }) => rdns);
    case "user_agent":
      return said(({ userAgent }) => userAgent);
    case "path":
      return said(({ path }) => path);
    case "method":
      return said(({ method }) => method);
    case "host":
    case "category":
      return [];
    case "ja3":
      return said(({ ja3 }) => ja3);
    case "ja4":
      return said(({ ja4 }) => ja4);
    case "hassh":
      return said(({ hassh }) => hassh);
    case "username":
      return logins.flatMap(({ username }) => username || []);
    case "password":
      return logins.flatMap(({ password }) => password || []);
    case "credential":
      return logins.flatMap(({ username = "", password = "" }) =>
        username || password ? `${username}/${password}` : [],
      );
    case "command":
      return seen.flatMap(({ commands = [] }) => commands.filter((text) => text !== ""));
    case "url":
      return seen.flatMap(({ urls = [] }) => urls);
    case "sha256":
      return seen.flatMap(({ payloads = [] }) => payloads);
    case "sensor":
      return seen.filter(address.mayKnowSensor).map(({ sensorId }) => sensorId);
    case "protocol":
      return said(({ transport }) => transport);
    case "riot":
      return known.serviceOf(ip) === undefined ? [] : ["true"];
    case "any":
      return [...wholeOf(address), ...namesOf(address)];
    default:
      throw new Error(`no texts of ${field}`);
  }
}
