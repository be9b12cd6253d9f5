import type { FacetField } from "@noisefloor/clickhouse/facets/facets.ts";
import { TRANSPORTS } from "@noisefloor/domain/observation/members.ts";
import type { Condition, Field, Query, RangeField, TextField } from "@noisefloor/domain/query-language/query.ts";
import { type ComparableTag, comparableTags, tagsOf } from "@noisefloor/domain/query-language/tag-conditions.ts";
import { comparable, type TextMatch, textMatcher } from "@noisefloor/domain/query-language/text-match.ts";
import type { Intention } from "@noisefloor/domain/tags/classification.ts";
import { runInSteps } from "@noisefloor/domain/time/yield.ts";
import { NO_ACTOR } from "../address/response.ts";
import {
  ALL,
  and,
  type FacetMatch,
  type FacetSet,
  facet,
  facetIn,
  NONE,
  not,
  or,
  SEEN,
  type SetQuery,
  set,
} from "./address-set.ts";
import { comparableCountries } from "./comparable-names.ts";
import { actors, classifications, classified, IN_CONTACT, idsOf, type Names, SPOOFABLE, tagged } from "./names.ts";

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
    case "range": {
      const { field, first, last } = condition;
      return first > last ? NONE : RANGES[field](first, last, names);
    }
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
    case "exists": {
      const { field } = condition;
      return isRangeField(field)
        ? RANGES[field](Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, names)
        : texts(field, condition, names);
    }
    case "equals":
    case "words":
    case "matches":
      return texts(condition.field, condition, names);
  }
}

type Of<Type extends Condition["type"]> = Extract<Condition, { readonly type: Type }>;

const isOpen = (bound: number) => !Number.isFinite(bound);

const RANGES: {
  readonly [Field in RangeField]: (first: number, last: number, names: Names) => SetQuery;
} = {
  ip: (first, last) =>
    isOpen(first) && isOpen(last)
      ? ALL
      : set({ type: "address", first: Math.max(0, first), last: Math.min(2 ** 32 - 1, last) }),
  asn: (first, last) => keyRange("network", 10, Math.max(1, first), Math.min(2 ** 32 - 1, last)),
  port: (first, last) => port(first, last),
  sensor_hits: (first, last) => counted("observations", first, last),
  sensor_count: (first, last) => counted("sensors", first, last),
  trust_level: (first, last, names) => services((level) => Number(level) >= first && Number(level) <= last, names),
  first_seen: (first, last) =>
    and([
      isOpen(last) ? ALL : set({ type: "observed-before", before: last + 1 }),
      isOpen(first) ? ALL : not(set({ type: "observed-before", before: first })),
    ]),
  last_seen: lastSeen,
  last_seen_malicious: (first, last, names) => lastTagged(first, last, "malicious", names),
  last_seen_suspicious: (first, last, names) => lastTagged(first, last, "suspicious", names),
  last_seen_benign(first, last, names) {
    const actor = actors("any", names);
    const withTag = lastTagged(first, last, "benign", names);
    return and([classified("benign", names), or([and([actor, lastSeen(first, last)]), and([not(actor), withTag])])]);
  },
};

const isRangeField = (field: Field): field is RangeField => Object.hasOwn(RANGES, field);

function counted(of: "observations" | "sensors", first: number, last: number): SetQuery {
  if (first <= 1 && isOpen(last)) return ALL;
  return set({ type: "counted", of, first: Math.max(0, first), last: Math.min(Number.MAX_SAFE_INTEGER, last) });
}

function lastSeen(first: number, last: number): SetQuery {
  return lastWithin(first, last, (after) => (after === undefined ? ALL : facet("seen", SEEN.match, after)));
}

function lastTagged(first: number, last: number, intention: Intention, names: Names): SetQuery {
  const ids = idsOf(intention, names);
  return ids.length === 0 ? NONE : lastWithin(first, last, (after) => facetIn("tag", ids, after));
}

/** A last time lies within a range when it is not before it and no time comes after it. */
function lastWithin(first: number, last: number, since: (after: number | undefined) => SetQuery): SetQuery {
  return and([since(isOpen(first) ? undefined : first), isOpen(last) ? ALL : not(since(last + 1))]);
}

const port = (first: number, last: number, protocol?: string) =>
  protocol !== undefined && first === last
    ? facetIn("port", [`${toDigits(first, 5)}/${protocol}`])
    : keyRange("port", 5, Math.max(0, first), Math.min(65_535, last), protocol && `/${protocol}`);

/** Values that begin with a number of some digits: those that follow each other are one range of the key. */
function keyRange(field: FacetField, digits: number, first: number, last: number, ending?: string): SetQuery {
  if (first > last) return NONE;
  const [from, before] = [toDigits(first, digits), toDigits(last + 1, digits)];
  return facet(field, { type: "between", from, before, ...(ending === undefined ? {} : { ending }) });
}

const toDigits = (number: number, digits: number) => String(number).padStart(digits, "0");

/** Fields whose values no facet has as they are written. The others are facets. */
const NAMED: {
  readonly [Field in Exclude<TextField, FacetSet["field"]> | "country" | "protocol" | "tag"]: (
    match: TextMatch,
    names: Names,
  ) => SetQuery;
} = {
  classification: (match, names) => (match.type === "exists" ? ALL : classifications(match, names)),
  tag: (match, { tags }) =>
    tagged(match.type === "exists" ? tags : match.type === "words" ? [] : tagsOf({ ...match, field: "tag" }, tags)),
  cve(match, { tags }) {
    const isMeant = textMatcher(match);
    return tagged(comparableTags(tags).all.filter(({ cves }) => cves.some(isMeant)));
  },
  actor: (match, names) => (match.type === "exists" ? actors("any", names) : actorsOrUnknown(match, names)),
  riot(match, names) {
    const all = services(() => true, names);
    return match.type === "equals" && match.text === "false" ? not(all) : all;
  },
  spoofable: (match) => (match.type === "equals" && match.text === "false" ? IN_CONTACT : SPOOFABLE),
  country: (match) => countries(match, true),
  country_code: (match) => countries(match, false),
  protocol(match) {
    const isMeant = textMatcher(match);
    const meant = TRANSPORTS.filter((name) => isMeant(comparable(name)));
    return meant.length === 0 ? NONE : facetIn("protocol", meant);
  },
  any: (match, names) => (match.type === "exists" ? ALL : everywhere(match, match, names)),
  // No source tells the category of a network: /v3/ip has the member empty.
  category: () => NONE,
};

const isNamed = (field: TextField): field is keyof typeof NAMED => Object.hasOwn(NAMED, field);

const texts = (field: TextField, match: TextMatch, names: Names) =>
  isNamed(field) ? NAMED[field](match, names) : facet(field, toFacetMatch(match));

function toFacetMatch(match: TextMatch): FacetMatch {
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
    facet("organization", toFacetMatch(within)),
  ]);
}

/** As rows say it: an address that is of no known actor has the actor `unknown`. */
const actorsOrUnknown = (match: TextMatch, names: Names) =>
  textMatcher(match)(comparable(NO_ACTOR))
    ? or([actors(match, names), not(actors("any", names))])
    : actors(match, names);

function services(isLevel: (trustLevel: string) => boolean, { networks: { lists } }: Names): SetQuery {
  const ids = [...lists.service].flatMap(([id, { trustLevel }]) => (isLevel(trustLevel) ? [id] : []));
  if (ids.length === 0) return NONE;
  return set({ type: "listed", kind: "service", lists: ids.length === lists.service.size ? "any" : ids.sort() });
}

/** @param hasNames whether the English names count as well as the codes. */
function countries(match: TextMatch, hasNames: boolean): SetQuery {
  if (match.type === "exists") return facet("country", match);
  const isMeant = textMatcher(match);
  const meant = comparableCountries().filter(({ code, name }) => isMeant(code) || (hasNames && isMeant(name)));
  return meant.length === 0
    ? NONE
    : facetIn(
        "country",
        meant.map(({ code }) => code.text),
      );
}
