import { groupBy } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import type { RawQuery } from "@noisefloor/http/requests/parameters.ts";
import { readPath } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { refreshOutdated } from "../../address/lookup-caches.ts";
import { CALLBACKS_COST } from "../../costs.ts";
import { readScopes } from "../../parameters.ts";
import { MAX_BODY_BYTES, rejectBody } from "../../request-body.ts";
import { typeOfFile } from "../file-types.ts";
import { type CallbackDeps, readKnown } from "../known.ts";
import { callbacksSince } from "../since.ts";
import { type CallbackFilter, filterSchema, pageSchema, readBody } from "./filter.ts";
import {
  CALLBACK_ADDRESS,
  type CallbackItem,
  exportCallbackIps,
  getCallbackIp,
  getCallbackOverview,
  listCallbackIps,
  NOT_SEEN,
} from "./operations.ts";
import { callbackAddresses, callbackLinks, callbackOverview, callbackPage } from "./queries.ts";

/** Clients send JSON with any Content-Type or none, and often no body at all. */
const FILTER_ROUTE = {
  bodyLimit: MAX_BODY_BYTES,
  onRequest: async ({ raw: { headers } }: FastifyRequest) => {
    const isEmpty = headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0";
    if (isEmpty) delete headers["content-type"];
    else headers["content-type"] = "application/json";
  },
  errorHandler: rejectBody(() => new HttpError(400, "The request body has too many values")),
};

/** The four calls of the hosted service, whose clients read them as they are. */
export function registerHostedCallbacks(app: FastifyInstance, deps: CallbackDeps): void {
  const { read } = deps;

  /** Runs a read of what a caller may read, without well-known hosts. */
  const admitted = async <Result>(
    request: FastifyRequest<{ Querystring: RawQuery }>,
    signal: AbortSignal,
    answer: (asked: Asked) => Promise<Result>,
  ): Promise<Result> => {
    const caller = deps.authenticate(request);
    const scopes = readScopes("ip", request.query, caller);
    const since = callbacksSince(caller, undefined, deps);
    await refreshOutdated(deps);
    const find = deps.knownHostsOf(caller.workspaceId);
    return app.admission.run(request, CALLBACKS_COST, signal, async () => {
      const known = await readKnown({ scopes, since, find }, deps, signal, { isOfAddresses: true });
      return answer({ scopes, since, known: [...known.keys()] });
    });
  };

  const readPage = async (
    asked: Asked,
    filter: CallbackFilter,
    { offset, limit }: { readonly offset: number; readonly limit: number },
    signal: AbortSignal,
  ) => {
    const { query, params } = callbackPage(filter, asked.scopes.length);
    const { total, page } = onlyRow(query, await read(query, { ...params, ...asked, offset, limit }, signal));
    const hosts = page.map(([host]) => host);
    const { scopes, since } = asked;
    const links = hosts.length === 0 ? [] : await read(callbackLinks(scopes.length), { scopes, since, hosts }, signal);
    const linksOf = groupBy(links, ({ host, kind }) => `${kind} ${host}`);
    const items = page.map(
      ([ip, first, last, visitors, files]): CallbackItem => ({
        ...{ ip, source_workspaces: [], is_stage_1: true, is_stage_2: false },
        first_seen: formatTimestamp(first),
        last_seen: formatTimestamp(last),
        scanner_ips: linksOf.get(`scanner ${ip}`)?.map(({ value }) => value) ?? [],
        scanner_count: visitors,
        file_count: files,
        files: (linksOf.get(`file ${ip}`) ?? []).map(({ value, file }) => ({
          ...{ sha256: value, file_name: file, type: typeOfFile(file), vt_threat_name: "", vt_detection_count: 0 },
        })),
      }),
    );
    return { items, total };
  };

  app.implement(
    listCallbackIps,
    async (request, _reply, { signal }) => {
      const { page = 0, page_size = 20, ...filter } = readBody(pageSchema, request.body);
      return admitted(request, signal, async (asked) => {
        const found = await readPage(asked, filter, { offset: page * page_size, limit: page_size }, signal);
        return { ...found, page, page_size };
      });
    },
    FILTER_ROUTE,
  );

  app.implement(getCallbackIp, async (request, _reply, { signal }) => {
    const ip = readPath(request.params.ip, CALLBACK_ADDRESS);
    return admitted(request, signal, async (asked) => {
      const [item] = (await readPage(asked, { ips: [ip] }, { offset: 0, limit: 1 }, signal)).items;
      if (item === undefined) throw new HttpError(404, NOT_SEEN);
      const active_files = item.files.map(({ sha256, file_name, type }) => ({
        ...{ sha256, md5: "" as const, sha1: "" as const, threat_name: "" as const, vt_detection_count: 0 as const },
        ...{ vt_engine_count: 0 as const, file_name, size: 0 as const, type },
      }));
      return { ...item, active_files };
    });
  });

  app.implement(
    getCallbackOverview,
    async (request, _reply, { signal }) => {
      const filter = readBody(filterSchema, request.body);
      return admitted(request, signal, async (asked) => {
        const { query, params } = callbackOverview(filter, asked.scopes.length);
        const numbers = onlyRow(query, await read(query, { ...params, ...asked }, signal));
        const { ips, files, withFiles, fileLinks, visitorLinks, distinctVisitors } = numbers;
        return {
          ...{ total_ips: ips, stage_1_ips: ips, stage_2_ips: 0 as const },
          ...{ total_files: files, files_with_vt: 0 as const, files_without_vt: files },
          ...{ total_cross_refs: fileLinks, total_scanner_links: visitorLinks },
          ...{ ips_with_files: withFiles, ips_without_files: ips - withFiles },
          ...{ ips_with_scanners: ips, ips_without_scanners: 0 as const, distinct_scanners: distinctVisitors },
          top_threat_names: [],
        };
      });
    },
    FILTER_ROUTE,
  );

  app.implement(
    exportCallbackIps,
    async (request, _reply, { signal }, { toMediaBody }) => {
      const filter = readBody(filterSchema, request.body);
      const rows = await admitted(request, signal, async (asked) => {
        const { query, params } = callbackAddresses(filter, asked.scopes.length);
        return read(query, { ...params, ...asked }, signal);
      });
      return toMediaBody("text/plain; charset=utf-8", lines(rows));
    },
    FILTER_ROUTE,
  );
}

type Asked = {
  readonly scopes: Parameters<typeof readKnown>[0]["scopes"];
  readonly since: number;
  readonly known: string[];
};

function* lines(rows: readonly { readonly host: string }[]): Generator<string> {
  for (const { host } of rows) yield `${host}\n`;
}
