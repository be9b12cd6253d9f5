import { groupBy } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { isIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { readParameter } from "@noisefloor/http/requests/parameters.ts";
import type { FastifyInstance } from "fastify";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { AuthorizedCaller } from "../auth.ts";
import { CALLBACKS_COST } from "../costs.ts";
import { readScopes } from "../parameters.ts";
import { admitQuery } from "../search/admit-query.ts";
import type { SearchRouteDeps } from "../search/answers.ts";
import { SEARCH_DAYS } from "../search/parameters.ts";
import { compile, prepareSearch, type SearchRequest, searchCost } from "../search/search.ts";
import { type CallbackDeps, nameKnown, readKnown } from "./known.ts";
import { CALLBACKS_LIMIT, getCallbacks, IS_KNOWN, VISITORS, type WireCallback } from "./operation.ts";
import { type Asked, callbackHosts, callbackTexts } from "./queries.ts";
import { callbacksSince } from "./since.ts";

type CallbackRouteDeps = SearchRouteDeps & CallbackDeps;

export function registerCallbacks(app: FastifyInstance, deps: CallbackRouteDeps): void {
  const { read } = deps;
  app.implement(getCallbacks, async (request, _reply, { signal }) => {
    const caller = deps.authenticate(request);
    const scopes = readScopes("ip", request.query, caller);
    const days = readParameter(request.query, SEARCH_DAYS);
    const isKnown = readParameter(request.query, IS_KNOWN);
    const limit = readParameter(request.query, CALLBACKS_LIMIT);
    const search = await readVisitors(request, { caller, scopes, days }, deps, signal);
    const since = callbacksSince(caller, days, deps);
    const asked: Asked = { maxScopes: scopes.length, search, isKnown };
    await refreshOutdated(deps);
    const find = deps.knownHostsOf(caller.workspaceId);
    const cost = CALLBACKS_COST + (search === undefined ? 0 : searchCost(search));
    return app.admission.run(request, cost, signal, async () => {
      const known = isKnown === undefined ? [] : [...(await readKnown({ scopes, since, find }, deps, signal)).keys()];
      const params = { ...(search?.params ?? { scopes, from: since }), since };
      const hosts = await read(callbackHosts(asked), { ...params, limit, known }, signal);
      const names = hosts.map(({ host }) => host);
      const texts = names.length === 0 ? [] : await read(callbackTexts(asked), { ...params, hosts: names }, signal);
      const valuesOf = (wanted: string, kind: (typeof texts)[number]["kind"]) =>
        byKind.get(`${wanted} ${kind}`)?.map(({ value }) => value) ?? [];
      const byKind = groupBy(texts, ({ host, kind }) => `${host} ${kind}`);
      const callbacks = hosts.map(({ host, firstSeen, lastSeen, count: _, ...row }): WireCallback => {
        const as = find(host);
        return {
          host,
          kind: isIpv4(host) ? "address" : "name",
          known: as !== undefined,
          known_as: as === undefined ? "" : nameKnown(as),
          ...row,
          first_seen: formatTimestamp(firstSeen),
          last_seen: formatTimestamp(lastSeen),
          commands: valuesOf(host, "command"),
          urls: valuesOf(host, "url"),
          sha256: valuesOf(host, "sha256"),
        };
      });
      return { count: hosts[0]?.count ?? 0, callbacks };
    });
  });
}

/** The search that selects the visitors; undefined where all count. @throws HttpError 400 for a wrong query. */
async function readVisitors(
  request: SearchRequest,
  asked: { readonly caller: AuthorizedCaller; readonly scopes: Scope[]; readonly days: number | undefined },
  deps: CallbackRouteDeps,
  signal: AbortSignal,
) {
  const query = readParameter(request.query, VISITORS);
  if (query === undefined) return undefined;
  return compile(
    await admitQuery(request, query, signal, (asking) => prepareSearch({ ...asked, query }, deps, asking)),
  );
}
