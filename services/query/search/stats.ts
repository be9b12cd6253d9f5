import { INTENTIONS } from "@noisefloor/domain/tags/classification.ts";
import { defineOperation } from "@noisefloor/http/operations/operation.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { countryName } from "../address/response.ts";
import { actors, classified, SPOOFABLE } from "../conditions/names.ts";
import { WORKSPACE_LABELS } from "../parameters.ts";
import { classification, count, counts, NOT_ENTITLED, none, uuid } from "../wire.ts";
import { describeSearch } from "./adjusted-query.ts";
import type { Questions, SearchRouteDeps } from "./answers.ts";
import { ADJUSTED, adjustedQuery, SEARCH, wrongQuery } from "./operations.ts";
import { ENTRIES, MAX_ENTRIES, QUERY, SEARCH_DAYS } from "./parameters.ts";
import { readSearch, type Search } from "./search.ts";
import type { CountedField } from "./stats-queries.ts";

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
    "Distinct addresses by classification, by whether they could be forged, and by organization, actor, country, tag and network, most first, ties by name. An address counts under each value that it has. Does not count as a lookup.",
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

export function registerSearchStats(app: FastifyInstance, deps: SearchRouteDeps): void {
  for (const operation of [searchStats, earlierSearchStats]) registerStats(app, operation, deps);
}

function registerStats(
  app: FastifyInstance,
  operation: typeof searchStats | typeof earlierSearchStats,
  deps: SearchRouteDeps,
): void {
  app.implement(operation, async (request, reply, { signal }) => {
    const search = await readSearch(request, readParameter(request.query, SEARCH_DAYS), deps, signal);
    const limit = readParameter(request.query, ENTRIES);
    const questions = deps.answerSearch(app, { request, reply, signal });
    const { counted, classes, spoofable, actorCounts, valuesOf } = await readStats(search, questions);
    const countries = mostFirst(
      valuesOf("country").map(({ value, count }) => ({ name: countryName(value.toUpperCase()), count })),
      limit,
    ).map(({ name, count }) => ({ country: name, count }));
    const tags = valuesOf("tag").flatMap(({ value, count }) => {
      const tag = deps.catalogue.byId(value);
      return tag === undefined ? [] : [{ name: tag.name, id: tag.id, count }];
    });
    return {
      ...describeSearch(search, counted.matching > counted.count, reply),
      count: counted.count,
      stats: {
        classifications: mostFirst(classes, limit).map(({ name, count }) => ({ classification: name, count })),
        spoofable: mostFirst(spoofable, limit).map(({ name, count }) => ({ spoofable: name === "true", count })),
        organizations: valuesOf("organization", limit).map(({ value, count }) => ({ organization: value, count })),
        actors: mostFirst(actorCounts, limit).map(({ name, count }) => ({ actor: name, count })),
        countries,
        source_countries: countries,
        destination_countries: [],
        tags: mostFirst(tags, limit).map(({ name, id, count }) => ({ tag: name, id, count })),
        operating_systems: [],
        categories: [],
        asns: valuesOf("asn", limit).map(({ value, count }) => ({ asn: value, count })),
      },
    };
  });
}

async function readStats(search: Search, questions: Questions) {
  const { names } = search;
  const actorNames = [...new Set([...names.networks.lists.actor.values()].map(({ name }) => name))];
  const narrower = [
    SPOOFABLE,
    ...INTENTIONS.map((name) => classified(name, names)),
    ...actorNames.map((name) => actors({ type: "equals", text: name.toLowerCase() }, names)),
  ];
  const [counted, values] = await Promise.all([
    questions.counts(search, narrower),
    questions.values(search, ["network", "country", "tag"], MAX_ENTRIES),
  ]);
  const [spoofable = 0, ...counts] = counted.narrower;
  const countOf = (index: number) => counts[index] ?? 0;
  return {
    counted,
    valuesOf: (name: CountedField, limit?: number) => values.filter(({ field }) => field === name).slice(0, limit),
    spoofable: [
      { name: "false", count: counted.count - spoofable },
      { name: "true", count: spoofable },
    ],
    classes: INTENTIONS.map((name, index) => ({ name, count: countOf(index) })),
    actorCounts: actorNames.map((name, index) => ({ name, count: countOf(INTENTIONS.length + index) })),
  };
}
