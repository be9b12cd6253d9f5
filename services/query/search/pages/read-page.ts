import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { digestOf } from "@noisefloor/http/requests/page-token.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { SearchRouteDeps } from "../answers.ts";
import { SEARCH_DAYS } from "../parameters.ts";
import { readSearch, type Search, type SearchRequest } from "../search.ts";
import { SCROLL, SIZE } from "./operations.ts";

/** A page of the addresses that match a search. */
type SearchedPage = {
  readonly search: Search;
  readonly ips: readonly string[];
  /** How many match on all pages. */
  readonly count: number;
  /** Whether the caller's plan took any away. */
  readonly isLess: boolean;
  /** The token of the next page; empty on the last. */
  readonly scroll: string;
};

/**
 * Reads the page that a request asks for.
 * @param form the parameters of the rows: a token continues a list of the same form alone.
 * @throws HttpError 400 for a wrong query or token.
 */
export async function readPage(
  app: FastifyInstance,
  request: SearchRequest,
  form: object,
  deps: SearchRouteDeps,
  { reply, signal }: { readonly reply: FastifyReply; readonly signal: AbortSignal },
): Promise<SearchedPage> {
  const days = readParameter(request.query, SEARCH_DAYS);
  const search = await readSearch(request, days, deps, signal);
  const { query, scopes } = search;
  const size = readParameter(request.query, SIZE);
  // Neither the size of a page nor what its rows leave out changes which addresses follow.
  const digest = digestOf({ query: query.trim(), days, ...form, scopes: scopes.map(({ dataset }) => dataset).sort() });
  const continued = { digest, now: deps.now() };
  const first = SCROLL.read(request.query, continued) ?? 0;
  // One more than the page has, which says whether another page follows.
  const page = { first, limit: size + 1 };
  const { count, matching, addresses } = await deps.answerSearch(app, { request, reply, signal }).page(search, page);
  const next = addresses[size];
  return {
    search,
    ips: addresses.slice(0, size).map(numberToIpv4),
    count,
    isLess: matching > count,
    scroll: next === undefined ? "" : SCROLL.format(next, continued),
  };
}
