import { onlyRow, type Read } from "@noisefloor/clickhouse/client/query.ts";
import type { FacetField } from "@noisefloor/clickhouse/facets/facets.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { RouteDeps } from "../address/route-deps.ts";
import type { SetQuery } from "../conditions/address-set.ts";
import type { CompiledSearch } from "../conditions/compile-bitmaps.ts";
import { MEMORY_SEARCH_COST } from "../costs.ts";
import type { FacetIndex } from "../facet-index/facet-index.ts";
import type { FoundPage, FoundValue, NarrowerCounts } from "./found.ts";
import { answerInMemory } from "./in-memory.ts";
import { searchCounts, searchPage } from "./queries.ts";
import { compile, type Search, searchCost } from "./search.ts";
import { logSlow } from "./slow-search.ts";
import { countByValue } from "./stats-queries.ts";

/** The questions about the addresses that match a search. */
export type Questions = {
  /** The first addresses from a number on, ascending. */
  page(search: Search, page: { readonly first: number; readonly limit: number }): Promise<FoundPage>;
  counts(search: Search, narrower?: readonly SetQuery[]): Promise<NarrowerCounts>;
  /** For each field the values that most of the addresses have, ties by value. */
  values(search: Search, fields: readonly FacetField[], limit: number): Promise<readonly FoundValue[]>;
};

/** Who asks: what an answer costs is admitted for the request, and the response says where the answer is from. */
export type Asked = { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly signal: AbortSignal };

/** Answers from memory what is there, and all else from the store. */
export type AnswerSearch = (app: FastifyInstance, asked: Asked) => Questions;

/** What routes of searches may use. */
export type SearchRouteDeps = RouteDeps & { readonly answerSearch: AnswerSearch };

export function searchAnswers(read: Read, index: FacetIndex | undefined): AnswerSearch {
  const inMemory = index && answerInMemory(index);
  return ({ admission }, { request, reply, signal }) => {
    const answer = async <T>(
      search: Search,
      fromMemory: (questions: NonNullable<typeof inMemory>) => Promise<T | undefined>,
      fromStore: (compiled: CompiledSearch, read: Read) => Promise<T>,
      narrower?: readonly SetQuery[],
    ): Promise<T> => {
      const found = inMemory && (await admission.run(request, MEMORY_SEARCH_COST, signal, () => fromMemory(inMemory)));
      reply.header("server-timing", `read;desc=${found === undefined ? "store" : "memory"}`);
      if (found !== undefined) return found;
      const compiled = compile(search, narrower);
      const logged = logSlow(read, compiled, request.log);
      return admission.run(request, searchCost(compiled), signal, () => fromStore(compiled, logged));
    };
    return {
      page: (search, page) =>
        answer(
          search,
          (memory) => memory.page(search, page, signal),
          async (compiled, logged) => {
            const query = searchPage(compiled);
            return onlyRow(query, await logged(query, { ...compiled.params, ...page }, signal));
          },
        ),
      counts: (search, narrower = []) =>
        answer(
          search,
          (memory) => memory.counts(search, narrower, signal),
          async (compiled, logged) => {
            const query = searchCounts(compiled);
            return onlyRow(query, await logged(query, compiled.params, signal));
          },
          narrower,
        ),
      values: (search, fields, limit) =>
        answer(
          search,
          (memory) => memory.values(search, fields, limit, signal),
          (compiled, logged) => logged(countByValue(compiled, fields), { ...compiled.params, limit }, signal),
        ),
    };
  };
}
