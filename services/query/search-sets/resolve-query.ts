import { TRANSPORTS } from "@noisefloor/domain/observation/transports.ts";
import type { Condition, Query } from "@noisefloor/domain/query-language/query.ts";
import { tagsOf } from "@noisefloor/domain/query-language/tag-conditions.ts";
import { matchesText, type TextMatch } from "@noisefloor/domain/query-language/text-match.ts";
import { INTENTIONS, type Intention } from "@noisefloor/domain/tags/classification.ts";
import type { Tag } from "@noisefloor/domain/tags/tag.ts";
import type { BenignNetworks } from "../address/benign-networks.ts";
import { countryName, NO_ACTOR } from "../address/response.ts";
import { type AddressSet, ALL, and, NONE, not, or, type SetMatch, type SetQuery, set } from "./address-set.ts";

/** What conditions mean by names: the tags, and the lists of benign networks. */
export type Names = {
  readonly tags: readonly Tag[];
  readonly networks: Pick<BenignNetworks, "lists" | "hasActors">;
};

/** The same search as sets of addresses, each of which one SELECT finds. */
export function resolveQuery(query: Query, names: Names): SetQuery {
  switch (query.type) {
    case "and":
      return and(query.of.map((one) => resolveQuery(one, names)));
    case "or":
      return or(query.of.map((one) => resolveQuery(one, names)));
    case "not":
      return not(resolveQuery(query.of, names));
    case "constant":
      return query.value ? ALL : NONE;
    case "range":
      return ranges(query, names);
    case "seen-on":
      return set({
        ...{ type: "counted", of: "days", since: query.firstDay },
        ...{ first: query.minDays, last: Number.MAX_SAFE_INTEGER },
      });
    case "port-protocol":
      return TRANSPORTS.some((name) => name === query.protocol) ? port(query.first, query.last, query.protocol) : NONE;
    case "any":
      return anywhere(query, names);
    case "exists":
      return exists(query, names);
    case "equals":
    case "words":
    case "matches":
      return texts(query, names);
  }
}

type Of<Type extends Condition["type"]> = Extract<Condition, { readonly type: Type }>;

const isOpen = (bound: number) => !Number.isFinite(bound);

function ranges({ field, first, last }: Of<"range">, names: Names): SetQuery {
  if (first > last) return NONE;
  switch (field) {
    case "ip":
      return set({ type: "address", first: Math.max(0, first), last: Math.min(2 ** 32 - 1, last) });
    case "asn":
      return last < 1 || first >= 2 ** 32
        ? NONE
        : set({ type: "asn", first: Math.max(1, first), last: Math.min(2 ** 32 - 1, last) });
    case "port":
      return port(first, last);
    case "sensor_hits":
    case "sensor_count": {
      if (first <= 1 && isOpen(last)) return ALL;
      const of = field === "sensor_hits" ? "observations" : "sensors";
      return set({ type: "counted", of, first: Math.max(0, first), last: Math.min(Number.MAX_SAFE_INTEGER, last) });
    }
    case "trust_level":
      return services((level) => Number(level) >= first && Number(level) <= last, names);
    case "first_seen":
      return and([
        isOpen(last) ? ALL : set({ type: "observed-before", before: last + 1 }),
        isOpen(first) ? ALL : not(set({ type: "observed-before", before: first })),
      ]);
    case "last_seen":
      return lastWithin(first, last, (after) => ({ type: "seen", ...after }), ALL);
    case "last_seen_malicious":
    case "last_seen_suspicious": {
      const ids = idsOf(field === "last_seen_malicious" ? "malicious" : "suspicious", names);
      if (ids.length === 0) return NONE;
      const ever = set({ type: "tagged", ids });
      return lastWithin(first, last, (after) => ({ type: "tagged", ids, ...after }), ever);
    }
    case "last_seen_benign": {
      const actor = actors("any", names);
      const seen = lastWithin(first, last, (after) => ({ type: "seen", ...after }), ALL);
      const ids = idsOf("benign", names);
      const tagged =
        ids.length === 0
          ? NONE
          : lastWithin(first, last, (after) => ({ type: "tagged", ids, ...after }), set({ type: "tagged", ids }));
      return and([classified("benign", names), or([and([actor, seen]), and([not(actor), tagged])])]);
    }
  }
}

/** A last time lies within a range when it is not before it and no time comes after it. */
function lastWithin(
  first: number,
  last: number,
  since: (after: { readonly after: number }) => AddressSet,
  ever: SetQuery,
): SetQuery {
  return and([
    isOpen(first) ? ever : set(since({ after: first })),
    isOpen(last) ? ALL : not(set(since({ after: last + 1 }))),
  ]);
}

const MAX_PORT = 65_535;

function port(first: number, last: number, protocol?: string): SetQuery {
  const [lowest, highest] = [Math.max(0, first), Math.min(MAX_PORT, last)];
  if (lowest > highest) return NONE;
  return set({ type: "port", first: lowest, last: highest, ...(protocol === undefined ? {} : { protocol }) });
}

function exists({ field }: Of<"exists">, names: Names): SetQuery {
  switch (field) {
    case "asn":
    case "last_seen_malicious":
    case "last_seen_suspicious":
    case "last_seen_benign":
      return ranges({ type: "range", field, first: Number.NEGATIVE_INFINITY, last: Number.POSITIVE_INFINITY }, names);
    case "port":
      return port(0, MAX_PORT);
    case "trust_level":
    case "riot":
      return services(() => true, names);
    case "ip":
    case "sensor_hits":
    case "sensor_count":
    case "first_seen":
    case "last_seen":
    case "classification":
    case "any":
      return ALL;
    default:
      return texts({ type: "exists", field }, names);
  }
}

type TextCondition =
  | Of<"equals" | "words" | "matches">
  | { readonly type: "exists"; readonly field: Of<"equals">["field"] };

function texts(condition: TextCondition, names: Names): SetQuery {
  const { field } = condition;
  switch (field) {
    case "classification":
      return or(INTENTIONS.filter((name) => matchesText(condition, name)).map((name) => classified(name, names)));
    case "tag":
      return tagged(condition.type === "exists" ? names.tags : tagsOf({ ...condition, field: "tag" }, names.tags));
    case "cve":
      return tagged(names.tags.filter(({ cves }) => cves.some((cve) => matchesText(condition, cve))));
    case "actor":
      return condition.type === "exists" ? actors("any", names) : actorsOrUnknown(condition, names);
    case "riot":
      return condition.type === "equals" && condition.text === "false"
        ? not(services(() => true, names))
        : services(() => true, names);
    case "country":
    case "country_code":
      return countries(condition, field === "country");
    case "organization":
      return set({ type: "organization", match: toSetMatch(condition) });
    case "protocol":
      return protocols(condition);
    case "city":
    case "region":
    case "method":
    case "sensor":
      return set({ type: "observed", field, match: toSetMatch(condition) });
    case "rdns":
    case "user_agent":
    case "path":
    case "host":
    case "ja3":
    case "ja4":
    case "hassh":
      return set({ type: "value", field, match: toSetMatch(condition) });
    case "any":
      return condition.type === "exists" ? ALL : everywhere(condition, condition, names);
    case "category":
      // Of the network, which nothing tells: /v3/ip has the member empty.
      return NONE;
  }
}

/** Looks at all observations, as those of ICMP have no port. */
function protocols(match: TextMatch): SetQuery {
  const texts = TRANSPORTS.filter((name) => matchesText(match, name));
  return texts.length === 0 ? NONE : set({ type: "observed", field: "transport", match: { type: "in", texts } });
}

function toSetMatch(match: TextMatch): SetMatch {
  switch (match.type) {
    case "exists":
      return { type: "exists" };
    case "equals":
      return { type: "in", texts: [match.text] };
    case "words":
      return { type: "words", words: match.words };
    case "matches":
      return { type: "matches", pattern: match.pattern };
  }
}

const anywhere = ({ text, words }: Of<"any">, names: Names) =>
  everywhere({ type: "equals", text }, words.length === 0 ? { type: "equals", text } : { type: "words", words }, names);

/** A text without a field. @param whole for what has one word, @param within for names of several. */
function everywhere(whole: TextMatch, within: TextMatch, names: Names): SetQuery {
  const isMeant = ({ slug, cves, name }: Tag) =>
    matchesText(whole, slug) || cves.some((cve) => matchesText(whole, cve)) || matchesText(within, name);
  return or([
    ...INTENTIONS.filter((name) => matchesText(whole, name)).map((name) => classified(name, names)),
    tagged(names.tags.filter(isMeant)),
    actors(within, names),
    set({ type: "organization", match: toSetMatch(within) }),
  ]);
}

function tagged(tags: readonly Pick<Tag, "id">[]): SetQuery {
  return tags.length === 0 ? NONE : set({ type: "tagged", ids: tags.map(({ id }) => id).sort() });
}

const idsOf = (wanted: Intention, { tags }: Names) =>
  tags.flatMap(({ id, intention }) => (intention === wanted ? [id] : [])).sort();

/** The addresses of a classification: `severityOf` as sets. */
export function classified(wanted: Intention, names: Names): SetQuery {
  const actor = actors("any", names);
  const severity = INTENTIONS.indexOf(wanted);
  const withTag = (intention: Intention) => tagged(idsOf(intention, names).map((id) => ({ id })));
  const own = withTag(wanted);
  const notWorse = INTENTIONS.slice(severity + 1).map((intention) => not(withTag(intention)));
  switch (wanted) {
    case "benign":
      return and([or([actor, and([own, ...notWorse])]), not(ATTACKED)]);
    case "unknown": {
      // Without any tag that is in the catalogue, it is unknown.
      const isUntagged = not(tagged(names.tags));
      return and([or([own, isUntagged, and([withTag("benign"), ATTACKED])]), ...notWorse, not(actor)]);
    }
    case "suspicious":
      return and([or([and([own, not(actor)]), and([actor, ATTACKED])]), ...notWorse]);
    case "malicious":
      return and([own, or([not(actor), ATTACKED])]);
  }
}

const ATTACKED = set({ type: "attacked" });

/** As rows say it: an address that is of no known actor has the actor `unknown`. */
const actorsOrUnknown = (match: TextMatch, names: Names) =>
  matchesText(match, NO_ACTOR) ? or([actors(match, names), not(actors("any", names))]) : actors(match, names);

/** The addresses of known benign actors whose names match. */
export function actors(match: TextMatch | "any", { networks: { lists, hasActors } }: Names): SetQuery {
  if (!hasActors) return NONE;
  if (match === "any") return set({ type: "listed", kind: "actor", lists: "any" });
  const found = [...lists.actor].flatMap(([id, { name }]) => (matchesText(match, name) ? [id] : []));
  return found.length === 0 ? NONE : set({ type: "listed", kind: "actor", lists: found.sort() });
}

function services(isLevel: (trustLevel: string) => boolean, { networks: { lists } }: Names): SetQuery {
  const found = [...lists.service].flatMap(([id, { trustLevel }]) => (isLevel(trustLevel) ? [id] : []));
  if (found.length === 0) return NONE;
  return set({ type: "listed", kind: "service", lists: found.length === lists.service.size ? "any" : found.sort() });
}

const ALPHABET = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
/** Every two-letter country code that an observation may have, assigned or not. */
export const COUNTRY_CODES = ALPHABET.flatMap((first) => ALPHABET.map((second) => first + second));

/** @param hasNames whether the English names count as well as the codes. */
function countries(match: TextMatch, hasNames: boolean): SetQuery {
  if (match.type === "exists") return set({ type: "value", field: "country", match });
  const codes = COUNTRY_CODES.filter(
    (code) => matchesText(match, code) || (hasNames && matchesText(match, countryName(code))),
  );
  if (codes.length === 0) return NONE;
  const texts = codes.map((code) => code.toLowerCase());
  return set({ type: "value", field: "country", match: { type: "in", texts } });
}
