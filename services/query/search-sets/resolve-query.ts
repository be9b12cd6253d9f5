import { TRANSPORTS } from "@noisefloor/domain/observation/members.ts";
import type { Condition, Query } from "@noisefloor/domain/query-language/query.ts";
import { type ComparableTag, comparableTags, tagsOf } from "@noisefloor/domain/query-language/tag-conditions.ts";
import { comparable, type TextMatch, textMatcher } from "@noisefloor/domain/query-language/text-match.ts";
import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import { NO_ACTOR } from "../address/response.ts";
import { type AddressSet, ALL, and, NONE, not, or, type SetMatch, type SetQuery, set } from "./address-set.ts";
import { comparableCountries } from "./comparable-names.ts";
import { actors, classifications, classified, idsOf, type Names, tagged } from "./named-sets.ts";

/** Each takes about a microsecond. */
const COMPARISONS_PER_STEP = 5_000;

/** The same search as sets of addresses, each of which one SELECT finds. */
export const resolveQuery = (query: Query, names: Names): Promise<SetQuery> => openResolver(names)(query);

/**
 * Resolves queries or parts of one. Others get their turn between conditions: each may be compared with every name of the
 * catalogue. What a condition means is found once, however often it comes.
 */
export function openResolver(names: Names): (query: Query) => Promise<SetQuery> {
  const { all, cves } = comparableTags(names.tags);
  const comparisons = 2 * all.length + cves.size + names.networks.lists.actor.size + comparableCountries().length;
  const resolved = new Map<string, SetQuery>();
  let since = 0;
  function* resolve(part: Query): Generator<void, SetQuery> {
    switch (part.type) {
      case "not":
        return not(yield* resolve(part.of));
      case "and":
      case "or": {
        const of: SetQuery[] = [];
        for (const one of part.of) of.push(yield* resolve(one));
        return part.type === "and" ? and(of) : or(of);
      }
      default:
        return yield* resolveOnce(part);
    }
  }
  function* resolveOnce(condition: Condition): Generator<void, SetQuery> {
    // JSON has no infinite bounds.
    const key =
      condition.type === "range"
        ? `${condition.field} ${condition.first} ${condition.last}`
        : JSON.stringify(condition);
    const known = resolved.get(key);
    if (known !== undefined) return known;
    since += comparisons;
    if (since > COMPARISONS_PER_STEP) {
      since = 0;
      yield;
    }
    const found = resolveCondition(condition, names);
    resolved.set(key, found);
    return found;
  }
  return (query) => runInSteps(resolve(query));
}

function resolveCondition(condition: Condition, names: Names): SetQuery {
  switch (condition.type) {
    case "constant":
      return condition.value ? ALL : NONE;
    case "range":
      return ranges(condition, names);
    case "seen-on":
      return set({
        ...{ type: "counted", of: "days", since: condition.firstDay },
        ...{ first: condition.minDays, last: Number.MAX_SAFE_INTEGER },
      });
    case "port-protocol": {
      const { first, last, protocol } = condition;
      return TRANSPORTS.some((name) => name === protocol) ? port(first, last, protocol) : NONE;
    }
    case "any":
      return anywhere(condition, names);
    case "exists":
      return exists(condition, names);
    case "equals":
    case "words":
    case "matches":
      return texts(condition, names);
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
      const withTag =
        ids.length === 0
          ? NONE
          : lastWithin(first, last, (after) => ({ type: "tagged", ids, ...after }), set({ type: "tagged", ids }));
      return and([classified("benign", names), or([and([actor, seen]), and([not(actor), withTag])])]);
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
      return classifications(condition, names);
    case "tag":
      return tagged(condition.type === "exists" ? names.tags : tagsOf({ ...condition, field: "tag" }, names.tags));
    case "cve": {
      const isMeant = textMatcher(condition);
      return tagged(comparableTags(names.tags).all.filter(({ cves }) => cves.some(isMeant)));
    }
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
  const isMeant = textMatcher(match);
  const texts = TRANSPORTS.filter((name) => isMeant(comparable(name)));
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
  const [isWhole, isWithin] = [textMatcher(whole), textMatcher(within)];
  const isMeant = ({ slug, cves, name }: ComparableTag) => isWhole(slug) || cves.some(isWhole) || isWithin(name);
  return or([
    classifications(whole, names),
    tagged(comparableTags(names.tags).all.filter(isMeant)),
    actors(within, names),
    set({ type: "organization", match: toSetMatch(within) }),
  ]);
}

/** As rows say it: an address that is of no known actor has the actor `unknown`. */
const actorsOrUnknown = (match: TextMatch, names: Names) =>
  textMatcher(match)(comparable(NO_ACTOR))
    ? or([actors(match, names), not(actors("any", names))])
    : actors(match, names);

function services(isLevel: (trustLevel: string) => boolean, { networks: { lists } }: Names): SetQuery {
  const found = [...lists.service].flatMap(([id, { trustLevel }]) => (isLevel(trustLevel) ? [id] : []));
  if (found.length === 0) return NONE;
  return set({ type: "listed", kind: "service", lists: found.length === lists.service.size ? "any" : found.sort() });
}

/** @param hasNames whether the English names count as well as the codes. */
function countries(match: TextMatch, hasNames: boolean): SetQuery {
  if (match.type === "exists") return set({ type: "value", field: "country", match });
  const isMeant = textMatcher(match);
  const found = comparableCountries().filter(({ code, name }) => isMeant(code) || (hasNames && isMeant(name)));
  if (found.length === 0) return NONE;
  const texts = found.map(({ code }) => code.text);
  return set({ type: "value", field: "country", match: { type: "in", texts } });
}
