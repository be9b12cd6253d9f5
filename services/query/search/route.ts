import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { type OperationHandler, registerOperation } from "@noisefloor/http/operations/operation.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyReply } from "fastify";
import { type SummaryDeps, streamContexts, streamSummaries } from "../address/read-contexts.ts";
import { REQUEST_METADATA, toFullContext, toQuickContext } from "../address/response.ts";
import type { Authenticate } from "../auth.ts";
import { bulkCost } from "../costs.ts";
import type { CountLookups } from "../rate-limit/count-lookups.ts";
import { type AskedSearch, adjustedQueryOf, readSearch, searchCost, setAdjustedQuery } from "./asked.ts";
import { csvLines } from "./csv.ts";
import { EXCLUDE, withoutMembers } from "./exclude.ts";
import { countSearch, FORMAT, QUICK, SCROLL, search, searchIps, searchMetadata } from "./operations.ts";
import { paramsOf, searchAll, searchCount } from "./queries.ts";
import { readPage } from "./read-page.ts";

export type SearchDeps = SummaryDeps & {
  readonly catalogue: TagCatalogue;
  readonly authenticate: Authenticate;
  readonly countLookups: CountLookups;
};

/** What a response says of the query that ran, as a 206 where the caller's plan took something away. */
export function describeAsked(asked: AskedSearch, isLess: boolean, reply: FastifyReply) {
  const isCut = asked.isCut || isLess;
  if (isCut) reply.code(206);
  return { query: asked.query, adjusted_query: isCut ? asked.cutQuery : adjustedQueryOf(asked) };
}

type Counted = { readonly count: number; readonly matching: number };

export function registerSearch(app: FastifyInstance, deps: SearchDeps): void {
  const readCount = async (asked: AskedSearch, signal: AbortSignal): Promise<Counted> => {
    if (asked.scopes.length === 0) return { count: 0, matching: 0 };
    const query = searchCount(asked.compiled);
    return onlyRow(query, await deps.read(query, paramsOf(asked), signal));
  };

  registerOperation(app, countSearch, async (request, reply, { signal }) => {
    const asked = await readSearch(request, deps, signal);
    const { count, matching } = await app.admission.run(request, searchCost(asked), signal, () =>
      readCount(asked, signal),
    );
    return { ...describeAsked(asked, matching > count, reply), count };
  });

  registerOperation(app, search, pages(app, deps, new Set()));
  registerOperation(app, searchMetadata, pages(app, deps, new Set(["raw_data"])));

  registerOperation(app, searchIps, async (request, reply, deadline, { toJsonArray }) => {
    const asked = await readSearch(request, deps, deadline.signal);
    const { counted, blocks } = await app.admission.run(request, searchCost(asked), deadline.signal, async () => {
      const counted = await readCount(asked, deadline.signal);
      if (counted.count === 0) return { counted, blocks: [] };
      const query = searchAll(asked.compiled, asked.scopes.length);
      return { counted, blocks: await deps.read(query, paramsOf(asked), deadline.signal) };
    });
    const found = blocks.reduce((sum, { source_ip }) => sum + source_ip.length, 0);
    const { caller } = asked;
    return deps.countLookups({ request, reply, caller, lookups: found, deadline }, async () => ({
      ips: await toJsonArray(addressesOf(blocks)),
      request_metadata: {
        ...REQUEST_METADATA,
        message: "" as const,
        ...describeAsked(asked, counted.matching > counted.count, reply),
        count: found,
      },
    }));
  });
}

type Blocks = readonly { readonly source_ip: ArrayLike<number> & Iterable<number> }[];

function* addressesOf(blocks: Blocks): Generator<string> {
  for (const { source_ip } of blocks) for (const address of source_ip) yield numberToIpv4(address);
}

type Pages = typeof search | typeof searchMetadata;

/** Answers with pages of rows. @param always members that no row has. */
function pages(
  app: FastifyInstance,
  deps: SearchDeps,
  always: ReadonlySet<string>,
): OperationHandler<Pages["path"], Pages["success"]["schema"]> {
  return async (request, reply, deadline, { toJsonArray, toMediaBody }) => {
    const isCsv = readParameter(request.query, FORMAT) === "csv";
    const quick = readParameter(request.query, QUICK);
    const excluded = new Set([...always, ...readParameter(request.query, EXCLUDE)]);
    if (isCsv && readParameter(request.query, SCROLL) !== undefined) {
      throw new HttpError(400, "Invalid parameter: scroll is for format=json alone");
    }
    const { signal } = deadline;
    const page = await readPage(app, request, { quick, always: [...always] }, deps, signal);
    const { asked, ips, count, isLess, scroll } = page;
    const { caller } = asked;
    if (isCsv) {
      return deps.countLookups({ request, reply, caller, lookups: ips.length, deadline }, () =>
        app.admission.run(request, bulkCost(ips.length, false), signal, async () => {
          const lines = await toMediaBody("text/csv; charset=utf-8", csvLines(ips, asked, deps, signal));
          describeAsked(asked, isLess, reply.header("search-count", count));
          setAdjustedQuery(reply, asked);
          return lines;
        }),
      );
    }
    const rows = async () =>
      quick
        ? toJsonArray(quickRows(ips, asked, deps, signal))
        : toJsonArray(fullRows(ips, asked, deps, excluded, signal));
    const data = await deps.countLookups({ request, reply, caller, lookups: ips.length, deadline }, () =>
      app.admission.run(request, bulkCost(ips.length, quick), signal, rows),
    );
    return {
      request_metadata: {
        ...REQUEST_METADATA,
        message: "" as const,
        ...describeAsked(asked, isLess, reply),
        count,
        scroll,
        complete: scroll === "",
      },
      data,
    };
  };
}

async function* quickRows(ips: readonly string[], { scopes }: AskedSearch, deps: SearchDeps, signal: AbortSignal) {
  for await (const [ip, summary] of streamSummaries(ips, scopes, deps, signal)) yield toQuickContext(ip, summary);
}

async function* fullRows(
  ips: readonly string[],
  { scopes }: AskedSearch,
  deps: SearchDeps,
  excluded: ReadonlySet<string>,
  signal: AbortSignal,
) {
  const withDetails = true;
  for await (const [ip, context] of streamContexts(ips, scopes, withDetails, deps, signal)) {
    const row = toFullContext(ip, context, deps.catalogue);
    yield {
      ...row,
      internet_scanner_intelligence: withoutMembers(row.internet_scanner_intelligence, excluded),
    };
  }
}
