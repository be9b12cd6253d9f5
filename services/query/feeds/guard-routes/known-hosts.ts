import { deleteKnownHost, type StoredKnownHost, writeKnownHost } from "@noisefloor/clickhouse/callbacks/known-hosts.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { INCLUDED_HOSTS, INCLUDED_HOSTS_DATE } from "@noisefloor/domain/callbacks/included-hosts.ts";
import { readHost } from "@noisefloor/domain/callbacks/known-hosts.ts";
import { formatTimestamp, retentionStart } from "@noisefloor/domain/time/window.ts";
import { defineOperation, errorResponse, NO_CONTENT, NOTHING } from "@noisefloor/http/operations/operation.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { readKnown } from "../../callbacks/known.ts";
import { CALLBACKS } from "../../callbacks/operation.ts";
import { knownCounts } from "../../callbacks/queries.ts";
import { CALLBACKS_COST } from "../../costs.ts";
import { ADDRESSES_ROUTE, rejectBody } from "../../request-body.ts";
import { count, date, none, storedText, timestamp } from "../../wire.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { managerOf } from "../requests/readers.ts";
import { UNAUTHORIZED } from "../requests/wire-feed.ts";

const MAX_HOSTS = 10_000;
const TOO_MANY = `A workspace knows at most ${MAX_HOSTS} hosts of its own`;
const NOT_FOUND = "Known host not found";
const BAD_BODY =
  'The request body must be {"host": "example.org", "note": "..."}: a name of two labels or more, or an IPv4 address';

const bodySchema = z
  .object({ host: z.string(), note: storedText.max(1_000).optional() })
  .meta({ id: "KnownHostToAdd" });

const knownHostSchema = z
  .strictObject({
    host: z.string(),
    origin: z.enum(["included", "own"]).describe("`included`: it comes along; `own`: the workspace added it."),
    below: z.boolean().describe("Whether every name below it is known, too."),
    operator: z.string().describe("Of one that comes along; else empty."),
    source: z.string().describe("The page that it is known from, of one that comes along; else empty."),
    note: z.string(),
    date: date.describe("When it was added; of the list that comes along, when that was put together."),
    held_back: z
      .strictObject({ hosts: count, visitors: count, last_seen: timestamp.or(none) })
      .describe("The callbacks of the global dataset that are in no feed because of it."),
  })
  .meta({ id: "KnownHost" });
type WireKnownHost = z.output<typeof knownHostSchema>;

const NOTHING_HELD: WireKnownHost["held_back"] = { hosts: 0, visitors: 0, last_seen: "" };
export const EXAMPLE_KNOWN_HOST: WireKnownHost = {
  ...{ host: "downloads.example.org", origin: "own", below: true, operator: "", source: "", note: "our mirror" },
  ...{ date: "2026-11-20", held_back: NOTHING_HELD },
};
const HOST = {
  schema: z.string(),
  description: "A host that the workspace added.",
  errorMessage: "Invalid parameter: host",
  example: EXAMPLE_KNOWN_HOST.host,
};

/** `GET /v3/callback/known`. */
export const getKnownHosts = defineOperation({
  ...CALLBACKS,
  id: "getKnownHosts",
  method: "GET",
  path: "/v3/callback/known",
  summary: "The well-known hosts of code and files, and how often each held something back",
  description:
    "No feed lists a host that is one of them. Addresses are known, too, that the guard of feeds holds back: of known benign services and actors, `OWN_ADDRESSES` and guarded networks.",
  pathParameters: {},
  queryParameters: [],
  success: {
    status: 200,
    description: "The workspace's own ones, then those that come along, by their names.",
    schema: z
      .strictObject({
        hosts: z.array(knownHostSchema),
        guarded: count.describe("How many addresses of callbacks are held back by the guard of feeds."),
      })
      .meta({ id: "KnownHosts" }),
    example: { hosts: [EXAMPLE_KNOWN_HOST], guarded: 1 },
  },
  errorResponses: { 401: UNAUTHORIZED },
});

/** `POST /v3/callback/known`. */
export const addKnownHost = defineOperation({
  ...CALLBACKS,
  id: "addKnownHost",
  method: "POST",
  path: "/v3/callback/known",
  summary: "Makes a host, and every name below it, a known one: no feed of the workspace lists it",
  pathParameters: {},
  queryParameters: [],
  body: {
    description: "A name of two labels or more, or an IPv4 address. One that is there already gets the new note.",
    schema: bodySchema,
    example: { host: "downloads.example.org", note: "our mirror" },
  },
  success: { status: 201, description: "The host is known.", schema: knownHostSchema, example: EXAMPLE_KNOWN_HOST },
  errorResponses: {
    400: errorResponse("The body has no such host.", BAD_BODY),
    401: UNAUTHORIZED,
    409: errorResponse("The workspace has as many hosts as it may have.", TOO_MANY),
  },
});

/** `DELETE /v3/callback/known/{host}`. */
export const deleteKnownHostOperation = defineOperation({
  ...CALLBACKS,
  id: "deleteKnownHost",
  method: "DELETE",
  path: "/v3/callback/known/{host}",
  summary: "Makes a host of the workspace a known one no longer",
  description: "Hosts that come along stay.",
  pathParameters: { host: HOST },
  queryParameters: [],
  success: { status: 204, description: "The host is no known one.", ...NOTHING },
  errorResponses: { 401: UNAUTHORIZED, 404: errorResponse("The workspace added no such host.", NOT_FOUND) },
});

export const KNOWN_HOST_OPERATIONS = [getKnownHosts, addKnownHost, deleteKnownHostOperation] as const;

export function registerKnownHosts(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { cache, client, now, read } = deps;

  app.implement(getKnownHosts, async (request, _reply, { signal }) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    const held = await app.admission.run(request, CALLBACKS_COST, signal, () => readHeldBack(workspaceId, signal));
    const heldOf = (origin: WireKnownHost["origin"], host: string) => held.byEntry.get(`${origin} ${host}`);
    const included = INCLUDED_HOSTS.toSorted((one, other) => (one.host < other.host ? -1 : 1)).map(
      ({ host, isExact, operator, source }): WireKnownHost => ({
        ...{ host, origin: "included", below: !isExact, operator, source, note: "", date: INCLUDED_HOSTS_DATE },
        held_back: heldOf("included", host) ?? NOTHING_HELD,
      }),
    );
    const own = cache.knownHostsOf(workspaceId).hosts.map((known) => toWireOwn(known, heldOf("own", known.host)));
    return { hosts: [...own, ...included], guarded: held.guarded };
  });

  /** What each known host holds back: an entry holds back what no nearer one does. */
  async function readHeldBack(workspaceId: string, signal: AbortSignal) {
    const scopes = [GLOBAL_SCOPE];
    const since = retentionStart(now(), deps.retentionDays());
    const known = await readKnown({ scopes, since, find: deps.feeds.knownHostsOf(workspaceId) }, deps, signal);
    const entries = [...known].map(([host, as]) => [host, "host" in as ? `${as.type} ${as.host}` : ""] as const);
    const named = entries.filter(([, entry]) => entry !== "");
    const params = { scopes, since, hosts: named.map(([host]) => host), entries: named.map(([, entry]) => entry) };
    const rows = named.length === 0 ? [] : await read(knownCounts(scopes.length), params, signal);
    const byEntry = new Map<string, WireKnownHost["held_back"]>();
    for (const { entry, visitors, lastSeen } of rows) {
      const hosts = named.filter(([, other]) => other === entry).length;
      byEntry.set(entry, { hosts, visitors, last_seen: formatTimestamp(lastSeen) });
    }
    return { byEntry, guarded: entries.length - named.length };
  }

  app.implement(
    addKnownHost,
    async (request) => {
      const { workspaceId } = managerOf(request, deps.authenticate);
      const body = bodySchema.safeParse(request.body);
      const host = body.success ? readHost(body.data.host) : undefined;
      if (!body.success || host === undefined) throw new HttpError(400, BAD_BODY);
      await cache.refresh();
      const { hosts } = cache.knownHostsOf(workspaceId);
      const before = hosts.find((known) => known.host === host);
      if (before === undefined && hosts.length >= MAX_HOSTS) throw new HttpError(409, TOO_MANY);
      const known = { workspaceId, host, note: body.data.note ?? "", createdAt: before?.createdAt ?? now() };
      await writeKnownHost(client, known, now());
      await cache.refresh();
      return toWireOwn(known, undefined);
    },
    { ...ADDRESSES_ROUTE, errorHandler: rejectBody(() => new HttpError(400, BAD_BODY)) },
  );

  app.implement(deleteKnownHostOperation, async (request) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    await cache.refresh();
    const host = readHost(request.params.host);
    const known = cache.knownHostsOf(workspaceId).hosts.find((each) => each.host === host);
    if (known === undefined) throw new HttpError(404, NOT_FOUND);
    await deleteKnownHost(client, known, now());
    await cache.refresh();
    return NO_CONTENT;
  });
}

function toWireOwn(
  { host, note, createdAt }: Pick<StoredKnownHost, "host" | "note" | "createdAt">,
  held: WireKnownHost["held_back"] = NOTHING_HELD,
): WireKnownHost {
  return {
    ...{ host, origin: "own", below: true, operator: "", source: "", note },
    ...{ date: formatTimestamp(createdAt).slice(0, 10), held_back: held },
  };
}
