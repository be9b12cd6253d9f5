import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { defineOperation, registerOperation } from "@noisefloor/http/operations/operation.ts";
import { readParameter, wholeNumber } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { countryName } from "../address/response.ts";
import { actors, classified } from "../conditions/names.ts";
import { otherLengths, WORKSPACE_LABELS } from "../parameters.ts";
import { classification, count, counts, NOT_ENTITLED, none, uuid } from "../wire.ts";
import { type AskedSearch, QUERY, readSearch, SEARCH_DAYS, searchCost } from "./asked.ts";
import { ADJUSTED, adjustedQuery, SEARCH, wrongQuery } from "./operations.ts";
import { paramsOf } from "./queries.ts";
import { describeAsked, type SearchDeps } from "./route.ts";
import { type CountedField, countByValue, countNarrower, MAX_ENTRIES } from "./stats-queries.ts";

export const ENTRIES = wholeNumber({
  name: "count",
  alsoCalled: otherLengths("count"),
  description: "How many entries each list has at most, those with the most addresses.",
  min: 1,
  max: MAX_ENTRIES,
  fallback: 1_000,
});

const nothing = z.array(z.never());
const statsSchema = z
  .strictObject({
    query: z.string().describe("As sent."),
    adjusted_query: adjustedQuery,
    count,
    stats: z.strictObject({
      classifications: counts({ classification }),
      spoofable: counts({ spoofable: z.boolean() }),
      organizations: counts({ organization: z.string() }),
      actors: counts({ actor: z.string() }),
      countries: counts({ country: z.string() }),
      source_countries: counts({ country: z.string() }),
      destination_countries: nothing,
      tags: counts({ tag: z.string(), id: uuid }),
      operating_systems: nothing,
      categories: nothing,
      asns: counts({ asn: z.string().or(none) }),
    }),
  })
  .meta({ id: "SearchStats" });
const EXAMPLE = {
  query: "port:23",
  adjusted_query: "",
  count: 1,
  stats: {
    classifications: [{ classification: "malicious", count: 1 }],
    spoofable: [{ spoofable: false, count: 1 }],
    organizations: [{ organization: "Example Hosting", count: 1 }],
    actors: [],
    countries: [{ country: "Vietnam", count: 1 }],
    source_countries: [{ country: "Vietnam", count: 1 }],
    destination_countries: [],
    tags: [{ tag: "Mirai", id: "7c3c5a52-5e53-4d0c-9c1c-0f5b1d9d2f3a", count: 1 }],
    operating_systems: [],
    categories: [],
    asns: [{ asn: "AS64500", count: 1 }],
  },
};

/** `GET /v3/gnql/stats`: what the addresses that match have in common. */
export const searchStats = defineOperation({
  ...SEARCH,
  id: "statsGNQL",
  path: "/v3/gnql/stats",
  summary: "What the addresses that match a query have in common",
  description:
    "Distinct addresses by classification, organization, actor, country, tag and network, most first, ties by name. An address counts under each value that it has. Does not count as a lookup.",
  queryParameters: [QUERY, ENTRIES, SEARCH_DAYS, WORKSPACE_LABELS],
  success: { status: 200, description: "The lists, possibly empty.", schema: statsSchema, example: EXAMPLE },
  errorResponses: {
    206: { description: ADJUSTED, schema: statsSchema, example: EXAMPLE },
    400: wrongQuery,
    403: NOT_ENTITLED,
  },
});

type Entry = { readonly name: string; readonly count: number };

/** Most first, ties by name. */
const byCount = (one: Entry, other: Entry) => other.count - one.count || (one.name < other.name ? -1 : 1);

const mostFirst = <T extends Entry>(entries: readonly T[], limit: number): T[] =>
  entries
    .filter((entry) => entry.count > 0 && entry.name !== "")
    .sort(byCount)
    .slice(0, limit);

/** The same under the path of the earlier version. */
export const earlierSearchStats = defineOperation({
  ...searchStats,
  id: "legacyStatsGNQL",
  group: "Earlier version",
  path: "/v2/experimental/gnql/stats",
});

export function registerSearchStats(app: FastifyInstance, deps: SearchDeps): void {
  for (const operation of [searchStats, earlierSearchStats]) registerStats(app, operation, deps);
}

function registerStats(
  app: FastifyInstance,
  operation: typeof searchStats | typeof earlierSearchStats,
  deps: SearchDeps,
): void {
  registerOperation(app, operation, async (request, reply, { signal }) => {
    const asked = await readSearch(request, deps, signal);
    const limit = readParameter(request.query, ENTRIES);
    const found = await app.admission.run(request, 2 * searchCost(asked), signal, () =>
      readStats(asked, limit, deps, signal),
    );
    const { counted, countries, tags } = found;
    const named = mostFirst(
      countries.map(({ value, count }) => ({ name: countryName(value.toUpperCase()), count })),
      limit,
    ).map(({ name, count }) => ({ country: name, count }));
    const known = tags.flatMap(({ value, count }) => {
      const tag = deps.catalogue.byId(value);
      return tag === undefined ? [] : [{ name: tag.name, id: tag.id, count }];
    });
    return {
      ...describeAsked(asked, counted.matching > counted.count, reply),
      count: counted.count,
      stats: {
        classifications: found.classifications.map(({ name, count }) => ({ classification: name, count })),
        spoofable: counted.count === 0 ? [] : [{ spoofable: false, count: counted.count }],
        organizations: found.organizations.map(({ value, count }) => ({ organization: value, count })),
        actors: mostFirst(found.actors, limit).map(({ name, count }) => ({ actor: name, count })),
        countries: named,
        source_countries: named,
        destination_countries: [],
        tags: mostFirst(known, limit).map(({ name, id, count }) => ({ tag: name, id, count })),
        operating_systems: [],
        categories: [],
        asns: found.asns.map(({ value, count }) => ({ asn: value, count })),
      },
    };
  });
}

const NO_STATS = {
  counted: { count: 0, matching: 0 },
  organizations: [],
  countries: [],
  asns: [],
  tags: [],
  classifications: [],
  actors: [],
};

async function readStats(asked: AskedSearch, limit: number, { read }: SearchDeps, signal: AbortSignal) {
  const { compiled, compileWith, names, scopes } = asked;
  if (scopes.length === 0) return NO_STATS;
  const actorNames = [...new Set([...names.networks.lists.actor.values()].map(({ name }) => name))];
  const narrower = compileWith([
    ...INTENTIONS.map((name) => classified(name, names)),
    ...actorNames.map((name) => actors({ type: "equals", text: name.toLowerCase() }, names)),
  ]);
  const counting = countNarrower(narrower);
  const [counted, values] = await Promise.all([
    read(counting, { ...paramsOf(asked), ...narrower.params }, signal).then((rows) => onlyRow(counting, rows)),
    read(
      countByValue(compiled, scopes.length, ["network", "country", "tag"]),
      { ...paramsOf(asked), limit: MAX_ENTRIES },
      signal,
    ),
  ]);
  const countOf = (index: number) => counted.narrower[index] ?? 0;
  const valuesOf = (name: CountedField) => values.filter(({ field }) => field === name);
  const classes = INTENTIONS.map((name, index) => ({ name, count: countOf(index) }));
  return {
    counted,
    organizations: valuesOf("organization").slice(0, limit),
    countries: valuesOf("country"),
    asns: valuesOf("asn").slice(0, limit),
    tags: valuesOf("tag"),
    classifications: mostFirst(classes, limit),
    actors: actorNames.map((name, index) => ({ name, count: countOf(INTENTIONS.length + index) })),
  };
}
