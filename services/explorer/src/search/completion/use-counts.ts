import { LISTED_MEMBERS } from "@noisefloor/domain/observation/members.ts";
import type { KnownValue } from "@noisefloor/domain/query-language/completion/complete.ts";
import type { Field } from "@noisefloor/domain/query-language/query.ts";
import type { SearchStats, SearchValues } from "../../api/operations.ts";
import { searchStatsOf, searchValuesOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";

/** The length of a list of values, which has those of the most addresses. */
const MAX_COUNTED = 250;

/** How many addresses of a search have each value of a field, most first. */
export type Counts = {
  readonly values: readonly KnownValue[];
  /** Of a value that may be none of them; undefined where the list was cut before it. */
  countOf(value: string): number | undefined;
};

type ListOf<Answer> = (answer: Answer) => readonly KnownValue[];
const entry = (value: string, count: number, name = ""): KnownValue => ({ value, name, count });

/** Tags by their ids, and countries by their names. */
const IN_STATS: Partial<Record<Field, ListOf<SearchStats["stats"]>>> = {
  classification: ({ classifications }) =>
    classifications.map(({ classification, count }) => entry(classification, count)),
  actor: ({ actors }) => actors.map(({ actor, count }) => entry(actor, count)),
  tag: ({ tags }) => tags.map(({ id, count }) => entry(id, count)),
  country: ({ countries }) => countries.map(({ country, count }) => entry(country, count)),
  country_code: ({ countries }) => countries.map(({ country, count }) => entry(country, count)),
  organization: ({ organizations }) => organizations.map(({ organization, count }) => entry(organization, count)),
  asn: ({ asns }) => asns.map(({ asn, count }) => entry(asn, count)),
};

const IN_VALUES: Partial<Record<Field, ListOf<SearchValues["values"]>>> = {
  port: ({ ports }) => byPort(ports),
  ...Object.fromEntries(
    LISTED_MEMBERS.map(({ field, list: [name] }): [Field, ListOf<SearchValues["values"]>] => [
      field,
      (values) => values[name].map(({ value, count }) => entry(value, count)),
    ]),
  ),
};

/** @returns undefined until the service has said it, and for fields whose values it does not list. */
export function useCounts(field: Field | undefined, query: string, days: string): Counts | undefined {
  const inStats = field === undefined ? undefined : IN_STATS[field];
  const inValues = field === undefined ? undefined : IN_VALUES[field];
  const stats = useAnswer(inStats && searchStatsOf(query, days, MAX_COUNTED)).data;
  const values = useAnswer(inValues && searchValuesOf(query, days, MAX_COUNTED)).data;
  // Until the next answer comes, the last one stays.
  if (inStats !== undefined && stats?.query === query) return countsOf(inStats(stats.stats));
  if (inValues !== undefined && values?.query === query) return countsOf(inValues(values.values));
  return undefined;
}

function countsOf(values: readonly KnownValue[]): Counts {
  const counts = new Map(values.map(({ value, count }) => [value, count]));
  const others = values.length < MAX_COUNTED ? 0 : undefined;
  return { values, countOf: (value) => counts.get(value) ?? others };
}

/** Each port with the protocol by which most addresses came. */
function byPort(ports: SearchValues["values"]["ports"]): KnownValue[] {
  const first = new Map<number, KnownValue>();
  for (const { port, protocol, count } of ports)
    if (!first.has(port)) first.set(port, entry(String(port), count, protocol === "" ? "" : `over ${protocol}`));
  return [...first.values()];
}
