import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { type AskedDeps, type AskedSearch, readSearch, type SearchRequest, searchCost } from "./asked.ts";
import { SCROLL, SIZE } from "./operations.ts";
import { paramsOf, searchPage } from "./queries.ts";
import { digestOf, readScroll, writeScroll } from "./scroll.ts";

/** A page of the addresses that match a search. */
type SearchedPage = {
  readonly asked: AskedSearch;
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
  deps: AskedDeps,
  signal: AbortSignal,
): Promise<SearchedPage> {
  const asked = await readSearch(request, deps, signal);
  const { query, days, scopes } = asked;
  const size = readParameter(request.query, SIZE);
  // Neither the size of a page nor what its rows leave out changes which addresses follow.
  const digest = digestOf({ query: query.trim(), days, ...form, scopes: scopes.map(({ dataset }) => dataset).sort() });
  const first = readScroll(readParameter(request.query, SCROLL), digest, deps.now());
  const { count, matching, addresses } = await app.admission.run(request, searchCost(asked), signal, async () => {
    if (scopes.length === 0) return { count: 0, matching: 0, addresses: [] };
    const page = searchPage(asked.compiled);
    // One more than the page has, which says whether another page follows.
    return onlyRow(page, await deps.read(page, { ...paramsOf(asked), first, limit: size + 1 }, signal));
  });
  const next = addresses[size];
  return {
    asked,
    ips: addresses.slice(0, size).map(numberToIpv4),
    count,
    isLess: matching > count,
    scroll: next === undefined ? "" : writeScroll(next, digest, deps.now()),
  };
}
