import { MAX_QUERY_LENGTH } from "@noisefloor/domain/query-language/query.ts";
import { type ReadQuery, readQuery } from "@noisefloor/domain/query-language/read-query.ts";
import { yieldToEventLoop } from "@noisefloor/domain/time/yield.ts";
import type { FastifyRequest } from "fastify";
import { NAMES_COST, readingCost } from "../costs.ts";

/** How a search reads the store before it runs: whether words stand in a name there. */
export type Asking = { readonly signal: AbortSignal; readonly run: <T>(read: () => Promise<T>) => Promise<T> };

/** For a search that no request asks for. */
export const unadmitted = (signal: AbortSignal): Asking => ({ signal, run: (read) => read() });

/** Whether reading, resolving and compiling a query may take a millisecond each. */
const isLong = (query: string): boolean => readingCost(query) > 0;

/**
 * Reads or resolves a query as a request asks for it. What that costs is counted before: of long queries, only as many
 * as there is capacity for are read side by side.
 * @throws HttpError 429 or 503 as admission does.
 */
export function admitQuery<T>(
  request: FastifyRequest,
  query: string,
  signal: AbortSignal,
  read: (asking: Asking) => Promise<T>,
): Promise<T> {
  const { admission } = request.server;
  if (!isLong(query)) return read({ signal, run: (names) => admission.run(request, NAMES_COST, signal, names) });
  // Together: a caller that holds all of its share and waits for more would wait for itself.
  const cost = Math.max(readingCost(query), NAMES_COST);
  return admission.run(request, cost, signal, () => read(unadmitted(signal)));
}

/** Reads a query, a long one in a turn of its own. */
export async function readInTurn(query: string, now: number, maxLength = MAX_QUERY_LENGTH): Promise<ReadQuery> {
  if (!isLong(query)) return readQuery(query, now, maxLength);
  await yieldToEventLoop();
  const read = readQuery(query, now, maxLength);
  await yieldToEventLoop();
  return read;
}

/** Lets others have their turn before more is done with a long query. */
export const yieldIfLong = (query: string): Promise<void> | undefined =>
  isLong(query) ? yieldToEventLoop() : undefined;
