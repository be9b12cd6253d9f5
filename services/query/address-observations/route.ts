import { onlyRow } from "@noisefloor/clickhouse/client/query.ts";
import type { Caller } from "@noisefloor/domain/access/caller.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { formatTimestamp, retentionStart } from "@noisefloor/domain/time/window.ts";
import type { OperationRequest } from "@noisefloor/http/operations/operation.ts";
import type { Deadline } from "@noisefloor/http/requests/deadline.ts";
import { type RawQuery, readParameter, readPath } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyReply } from "fastify";
import { refreshOutdated } from "../address/lookup-caches.ts";
import type { RouteDeps } from "../address/route-deps.ts";
import { TIMELINE_COST } from "../costs.ts";
import { ADDRESS, LIMIT, namedSensorScopes, readScopes } from "../parameters.ts";
import { KEY_NEEDED } from "../sensors/operation.ts";
import { CURSOR, getAddressObservations, OBSERVATIONS_FORMAT } from "./observations-operation.ts";
import { getAddressInteraction, getAddressSensors, getAddressTags } from "./operations.ts";
import {
  countEntries,
  ENTRY_LISTS,
  type EntryList,
  type OfAddress,
  readAddressSensors,
  readEntries,
  readTags,
} from "./queries.ts";
import { readAddressObservations } from "./read-observations.ts";

/** `GET /v3/noise/ips/{ip}/...`, besides the timeline: details of an address, with the scopes of the timeline. */
export function registerAddressObservations(app: FastifyInstance, deps: RouteDeps): void {
  app.implement(getAddressTags, (request, reply, deadline) =>
    readAddress(app, deps, { request, reply, deadline }, timelineScopes(request), (address) =>
      tagsOf(address, deps, deadline.signal),
    ),
  );
  app.implement(getAddressInteraction, (request, reply, deadline) =>
    readAddress(app, deps, { request, reply, deadline }, timelineScopes(request), (address) =>
      interactionOf(address, deps, deadline.signal),
    ),
  );
  app.implement(getAddressSensors, (request, reply, deadline) =>
    readAddress(app, deps, { request, reply, deadline }, sensorScopes, (address) =>
      sensorsOf(address, deps, deadline.signal),
    ),
  );
  app.implement(getAddressObservations, async (request, reply, deadline, { toMediaBody }) => {
    const page = { limit: readParameter(request.query, LIMIT), after: CURSOR.read(request.query) };
    const format = readParameter(request.query, OBSERVATIONS_FORMAT);
    return readAddress(app, deps, { request, reply, deadline }, timelineScopes(request), async (address, caller) => {
      await refreshOutdated(deps);
      const query = { ...address, ...page, namedScopes: namedSensorScopes(caller) };
      const { observations, cursor } = await readAddressObservations(query, deps, deadline.signal);
      if (format === "json") return { ip: address.ip, observations, cursor };
      if (cursor !== "") reply.header("next-cursor", cursor);
      return toMediaBody(
        "application/x-ndjson; charset=utf-8",
        observations.map((one) => `${JSON.stringify(one)}\n`),
      );
    });
  });
}

type ScopesOf = (caller: Caller) => Scope[];

const timelineScopes =
  ({ query }: { readonly query: RawQuery }): ScopesOf =>
  (caller) =>
    readScopes("timeline", query, caller);

type Call = {
  readonly request: OperationRequest<"/v3/noise/ips/{ip}/tags">;
  readonly reply: FastifyReply;
  readonly deadline: Deadline;
};

/** Checks a request about one address and counts it as a lookup. */
function readAddress<Answer>(
  app: FastifyInstance,
  { authenticate, countLookups, now, retentionDays }: RouteDeps,
  { request, reply, deadline }: Call,
  scopesOf: ScopesOf,
  read: (address: OfAddress, caller: Caller) => Promise<Answer>,
): Promise<Answer> {
  const caller = authenticate(request);
  const ip = readPath(request.params.ip, ADDRESS);
  const scopes = scopesOf(caller);
  const since = retentionStart(now(), retentionDays());
  return countLookups({ request, reply, caller, lookups: 1, deadline }, () =>
    app.admission.run(request, TIMELINE_COST, deadline.signal, () => read({ ip, scopes, since }, caller)),
  );
}

/** Tags that are no longer in the catalogue have no name and are left out. */
async function tagsOf(address: OfAddress, deps: RouteDeps, signal: AbortSignal) {
  const [rows] = await Promise.all([deps.read(readTags, address, signal), refreshOutdated(deps)]);
  const known = rows.flatMap((row) => {
    const tag = deps.catalogue.byId(row.id);
    return tag === undefined ? [] : [{ tag, row }];
  });
  known.sort((a, b) => b.row.last_seen - a.row.last_seen || (a.tag.slug < b.tag.slug ? -1 : 1));
  const tags = known.map(({ tag: { id, slug, name, category, intention }, row }) => ({
    id,
    slug,
    name,
    category,
    intention,
    first_seen: formatTimestamp(row.first_seen),
    last_seen: formatTimestamp(row.last_seen),
    observations: row.observations,
  }));
  return { ip: address.ip, tags };
}

async function sensorsOf({ ip, ...range }: OfAddress, { read }: RouteDeps, signal: AbortSignal) {
  const rows = await read(readAddressSensors, { ip, ...range }, signal);
  return {
    ip,
    sensors: rows.map(({ sensor_id, first_seen, last_seen, observations }) => ({
      sensor_id,
      first_seen: formatTimestamp(first_seen),
      last_seen: formatTimestamp(last_seen),
      observations,
    })),
    total_sensors: rows[0]?.total_sensors ?? 0,
  };
}

async function interactionOf(address: OfAddress, { read }: RouteDeps, signal: AbortSignal) {
  const [entries, { totals, ...attempts }] = await Promise.all([
    read(readEntries, address, signal),
    read(countEntries, address, signal).then((rows) => onlyRow(countEntries, rows)),
  ]);
  const inList = (list: EntryList) => entries.filter((entry) => entry.list === list);
  const totalOf = (list: EntryList) => totals[ENTRY_LISTS.indexOf(list)] ?? 0;
  return {
    ip: address.ip,
    ...attempts,
    credentials: inList("credentials").map(({ first: username, second: password, observations }) => ({
      username,
      password,
      observations,
    })),
    total_credentials: totalOf("credentials"),
    commands: inList("commands").map(({ first: command, observations }) => ({ command, observations })),
    total_commands: totalOf("commands"),
    urls: inList("urls").map(({ first: url, observations }) => ({ url, observations })),
    total_urls: totalOf("urls"),
    payloads: inList("payload_sha256").map(({ first: sha256, observations }) => ({ sha256, observations })),
    total_payloads: totalOf("payload_sha256"),
  };
}

/** The data whose sensors a caller may know by name. @throws HttpError 403: the caller has no key. */
function sensorScopes(caller: Caller): Scope[] {
  if (caller.workspaceId === undefined) throw new HttpError(403, KEY_NEEDED);
  return namedSensorScopes(caller);
}
