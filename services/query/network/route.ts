import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import { ipv4ToNumber, isRoutableIpv4, lastAddress, numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { formatTimestamp, retentionStart } from "@noisefloor/domain/time/window.ts";
import { readParameter, readPath } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { LookupRow } from "../address/lookup-queries.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { toRecord } from "../address/store-lookup.ts";
import { STATS_COST } from "../costs.ts";
import { ADDRESS, LIMIT, NOT_ROUTABLE, readScopes } from "../parameters.ts";
import { getNetwork, LENGTH, NETWORK_ADDRESS } from "./operation.ts";
import { countNetwork, listNetwork } from "./queries.ts";

export function registerNetwork(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(getNetwork, async (request, reply, deadline) => {
    const caller = deps.authenticate(request);
    const { text, first, last } = readNetwork(request.params);
    const limit = readParameter(request.query, LIMIT);
    const scopes = readScopes("timeline", request.query, caller);

    const params = { first, last, scopes, since: retentionStart(deps.now(), deps.retentionDays()) };
    const read = async () => {
      const [rows, counted] = await Promise.all([
        deps.read(listNetwork, { ...params, limit }, deadline.signal),
        deps.read(countNetwork, params, deadline.signal),
        refreshOutdated(deps),
      ]);
      return { rows, total: onlyRow(countNetwork, counted).total_ips };
    };
    const { rows, total } = await app.admission.run(request, STATS_COST, deadline.signal, read);
    // Only now is known how many records the answer gives out.
    const lookups = Math.max(1, rows.length);
    return deps.countLookups({ request, reply, caller, lookups, deadline }, async () => ({
      network: text,
      ips: rows.map((row) => toWire(row, deps)),
      total_ips: total,
      truncated: total > rows.length,
    }));
  });
}

/** @throws HttpError 400 also for a network that the Internet does not route. */
function readNetwork(params: { readonly ip: string; readonly length: string }) {
  const address = ipv4ToNumber(readPath(params.ip, NETWORK_ADDRESS));
  const length = Number(readPath(params.length, LENGTH));
  const first = address - (address % 2 ** (32 - length));
  const last = lastAddress({ first, length });
  // No network of these lengths has addresses that are routed between a first and a last one that are not.
  if (![first, last].some((end) => isRoutableIpv4(numberToIpv4(end)))) {
    throw new HttpError(400, `${ADDRESS.errorMessage} (${NOT_ROUTABLE})`);
  }
  return { text: `${numberToIpv4(first)}/${length}`, first, last };
}

function toWire(row: LookupRow, deps: RouteDeps) {
  const { noise } = toRecord(row.ip, row, deps);
  return {
    ip: row.ip,
    classification: noise?.classification ?? "unknown",
    last_seen: formatTimestamp(row.latest),
    tags: (noise?.tagIds ?? []).flatMap((id) => deps.catalogue.byId(id)?.slug ?? []).sort(),
  };
}
