import type { FastifyReply } from "fastify";
import type { Search } from "./search.ts";

type Adjusted = Pick<Search, "query" | "meant">;

/** What ran, where it is not what was sent. */
export const adjustedQueryOf = ({ query, meant }: Adjusted) => (meant.text === query ? "" : meant.text);

/** What a response says of the query that ran, as a 206 where the caller's plan took something away. */
export function describeSearch(search: Search, isLess: boolean, reply: FastifyReply) {
  const isCut = search.isCut || isLess;
  if (isCut) reply.code(206);
  const cutQuery = `(${search.meant.text}) last_seen:${search.caller.limits.reach_days}d`;
  return { query: search.query, adjusted_query: isCut ? cutQuery : adjustedQueryOf(search) };
}

export const ADJUSTED_QUERY_HEADER = {
  "Adjusted-Query": "What ran, percent-encoded, where it is not what was sent.",
} as const;
/** Max bytes of header fields that common clients accept. */
const MAX_HEADER_BYTES = 8_192;

/** Says what ran for a response that has no place for it. */
export function setAdjustedQuery(reply: FastifyReply, search: Adjusted): void {
  const adjusted = encodeURIComponent(adjustedQueryOf(search).toWellFormed());
  if (adjusted !== "" && adjusted.length <= MAX_HEADER_BYTES) reply.header("adjusted-query", adjusted);
}
