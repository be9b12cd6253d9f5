import type { OperationHandler } from "@noisefloor/http/operations/operation.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { streamContexts, streamSummaries } from "../../address/read-contexts.ts";
import { namedSensorScopes } from "../../parameters.ts";
import { REQUEST_METADATA, toFullContext, toQuickContext } from "../../address/response.ts";
import { bulkCost } from "../../costs.ts";
import { describeSearch, setAdjustedQuery } from "../adjusted-query.ts";
import type { SearchRouteDeps } from "../answers.ts";
import type { Search } from "../search.ts";
import { csvLines } from "./csv.ts";
import { EXCLUDE, withoutMembers } from "./exclude.ts";
import { FORMAT, QUICK, SCROLL, search, searchMetadata } from "./operations.ts";
import { readPage } from "./read-page.ts";

export function registerSearchPages(app: FastifyInstance, deps: SearchRouteDeps): void {
  app.implement(search, pages(app, deps, new Set()));
  app.implement(searchMetadata, pages(app, deps, new Set(["raw_data"])));
}

type Pages = typeof search | typeof searchMetadata;

/** Answers with pages of rows. @param always members that no row has. */
function pages(
  app: FastifyInstance,
  deps: SearchRouteDeps,
  always: ReadonlySet<string>,
): OperationHandler<Pages["path"], Pages["success"]["schema"]> {
  return async (request, reply, deadline, { toJsonArray, toMediaBody }) => {
    const isCsv = readParameter(request.query, FORMAT) === "csv";
    const quick = readParameter(request.query, QUICK);
    const excluded = new Set([...always, ...readParameter(request.query, EXCLUDE)]);
    if (isCsv && readParameter(request.query, SCROLL.parameter) !== undefined) {
      throw new HttpError(400, "Invalid parameter: scroll is for format=json alone");
    }
    const { signal } = deadline;
    const page = await readPage(app, request, { quick, always: [...always] }, deps, { reply, signal });
    const { search, ips, count, isLess, scroll } = page;
    const { caller } = search;
    if (isCsv) {
      return deps.countLookups({ request, reply, caller, lookups: ips.length, deadline }, () =>
        app.admission.run(request, bulkCost(ips.length, false), signal, async () => {
          const lines = await toMediaBody("text/csv; charset=utf-8", csvLines(ips, search, deps, signal));
          describeSearch(search, isLess, reply.header("search-count", count));
          setAdjustedQuery(reply, search);
          return lines;
        }),
      );
    }
    const rows = async () =>
      quick
        ? toJsonArray(quickRows(ips, search, deps, signal))
        : toJsonArray(fullRows(ips, search, deps, excluded, signal));
    const data = await deps.countLookups({ request, reply, caller, lookups: ips.length, deadline }, () =>
      app.admission.run(request, bulkCost(ips.length, quick), signal, rows),
    );
    return {
      request_metadata: {
        ...REQUEST_METADATA,
        message: "" as const,
        ...describeSearch(search, isLess, reply),
        count,
        scroll,
        complete: scroll === "",
      },
      data,
    };
  };
}

async function* quickRows(ips: readonly string[], { scopes }: Search, deps: SearchRouteDeps, signal: AbortSignal) {
  for await (const [ip, summary] of streamSummaries(ips, scopes, deps, signal)) yield toQuickContext(ip, summary);
}

async function* fullRows(
  ips: readonly string[],
  { scopes, caller }: Search,
  deps: SearchRouteDeps,
  excluded: ReadonlySet<string>,
  signal: AbortSignal,
) {
  const withDetails = true;
  const namedScopes = namedSensorScopes(caller);
  for await (const [ip, context] of streamContexts(ips, scopes, withDetails, deps, signal)) {
    const row = toFullContext(ip, context, deps.catalogue, namedScopes);
    yield {
      ...row,
      internet_scanner_intelligence: withoutMembers(row.internet_scanner_intelligence, excluded),
    };
  }
}
