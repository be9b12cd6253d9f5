import { randomUUID } from "node:crypto";
import { readActivity } from "@noisefloor/clickhouse/watches/activity.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { readStoreTime } from "@noisefloor/clickhouse/watches/log.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import { defineOperation, errorResponse, NO_CONTENT, NOTHING } from "@noisefloor/http/operations/operation.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import type { AuthorizedCaller } from "../../auth.ts";
import { managerOf } from "../../feeds/requests/readers.ts";
import { ADDRESSES_ROUTE, rejectBody } from "../../request-body.ts";
import { admitQuery } from "../../search/admit-query.ts";
import { wrongQuery } from "../../search/operations.ts";
import { compile, prepareSearch, searchCost } from "../../search/search.ts";
import { type Definition, goesOn, NO_DEFINITION, toChanged, toDefinition, WrongWatchError } from "./definition.ts";
import type { WatchRouteDeps } from "./deps.ts";
import {
  changedWatchSchema,
  EXAMPLE_WATCH,
  NO_WATCH,
  SENT_WATCH,
  sentWatchSchema,
  toWireWatch,
  UNAUTHORIZED,
  WATCH_ID,
  WATCH_NOT_FOUND,
  WATCHES,
  watchSchema,
} from "./wire-watch.ts";

const MAX_WATCHES = 2_000;
const TOO_MANY = `A workspace has at most ${MAX_WATCHES} watches`;
const OF_FILE = "The watch is one of WATCHES_FILE: change it there";
const NO_BODY = `The request body ${NO_DEFINITION}`;
const CONFLICT = errorResponse("There are as many watches as there may be, or the watch is one of a file.", OF_FILE);

/** `GET /v3/watches`. */
export const listWatches = defineOperation({
  ...WATCHES,
  id: "listWatches",
  method: "GET",
  path: "/v3/watches",
  summary: "The watches of a workspace",
  description: "In the order in which they were made.",
  pathParameters: {},
  queryParameters: [],
  success: {
    status: 200,
    description: "The watches, without their secrets.",
    schema: z.strictObject({ watches: z.array(watchSchema) }).meta({ id: "Watches" }),
    example: { watches: [EXAMPLE_WATCH] },
  },
  errorResponses: { 401: UNAUTHORIZED },
});

/** `GET /v3/watches/{id}`. */
export const getWatch = defineOperation({
  ...WATCHES,
  id: "getWatch",
  method: "GET",
  path: "/v3/watches/{id}",
  summary: "A watch",
  pathParameters: { id: WATCH_ID },
  queryParameters: [],
  success: { status: 200, description: "The watch.", schema: watchSchema, example: EXAMPLE_WATCH },
  errorResponses: { 401: UNAUTHORIZED, 404: WATCH_NOT_FOUND },
});

/** `POST /v3/watches`. */
export const addWatch = defineOperation({
  ...WATCHES,
  id: "addWatch",
  method: "POST",
  path: "/v3/watches",
  summary: "Makes a watch: what is stored from now on may make events",
  description:
    "The secret of each webhook is in this answer alone. What matches already, or is a value already, makes no event.",
  pathParameters: {},
  queryParameters: [],
  body: { description: "What is left out gets its default.", schema: sentWatchSchema, example: SENT_WATCH },
  success: { status: 201, description: "The watch.", schema: watchSchema, example: EXAMPLE_WATCH },
  errorResponses: { 400: wrongQuery, 401: UNAUTHORIZED, 409: CONFLICT },
});

/** `PUT /v3/watches/{id}`. */
export const putWatch = defineOperation({
  ...WATCHES,
  id: "putWatch",
  method: "PUT",
  path: "/v3/watches/{id}",
  summary: "Replaces a watch",
  description:
    "With another condition, or when it is enabled again, it begins anew: what is stored since then counts. A destination with the `id` of one keeps its secret.",
  pathParameters: { id: WATCH_ID },
  queryParameters: [],
  body: { description: "What is left out gets its default.", schema: sentWatchSchema, example: SENT_WATCH },
  success: { status: 200, description: "The watch.", schema: watchSchema, example: EXAMPLE_WATCH },
  errorResponses: { 400: wrongQuery, 401: UNAUTHORIZED, 404: WATCH_NOT_FOUND, 409: CONFLICT },
});

/** `PATCH /v3/watches/{id}`. */
export const patchWatch = defineOperation({
  ...WATCHES,
  id: "patchWatch",
  method: "PATCH",
  path: "/v3/watches/{id}",
  summary: "Changes some members of a watch",
  pathParameters: { id: WATCH_ID },
  queryParameters: [],
  body: { description: "What is left out stays.", schema: changedWatchSchema, example: { enabled: false } },
  success: { status: 200, description: "The watch.", schema: watchSchema, example: EXAMPLE_WATCH },
  errorResponses: { 400: wrongQuery, 401: UNAUTHORIZED, 404: WATCH_NOT_FOUND, 409: CONFLICT },
});

/** `DELETE /v3/watches/{id}`. */
export const deleteWatch = defineOperation({
  ...WATCHES,
  id: "deleteWatch",
  method: "DELETE",
  path: "/v3/watches/{id}",
  summary: "Deletes a watch; what was not delivered of it is not delivered any more",
  pathParameters: { id: { ...WATCH_ID, example: "9d2a6f1e-1b7b-4d5e-8a44-0a4f6a3d5c11" } },
  queryParameters: [],
  success: { status: 204, description: "The watch is deleted.", ...NOTHING },
  errorResponses: { 401: UNAUTHORIZED, 404: WATCH_NOT_FOUND, 409: CONFLICT },
});

export const DEFINITION_OPERATIONS = [listWatches, getWatch, addWatch, putWatch, patchWatch, deleteWatch] as const;

const ROUTE = { ...ADDRESSES_ROUTE, errorHandler: rejectBody(() => new HttpError(400, NO_BODY)) };

export function registerDefinitions(app: FastifyInstance, deps: WatchRouteDeps): void {
  const { cache, client } = deps.watches;
  const readRules = async () => {
    const now = await readStoreTime(client);
    return { ...deps.watches, catalogue: deps.catalogue, now: () => now, retentionDays: deps.retentionDays };
  };
  const ownWatch = async (workspaceId: string, id: string) => {
    // Another process may have changed it a moment ago.
    await cache.refresh();
    const watch = cache.byId(id);
    if (watch?.workspaceId !== workspaceId) throw new HttpError(404, NO_WATCH);
    return watch;
  };
  const changeable = async (workspaceId: string, id: string) => {
    const watch = await ownWatch(workspaceId, id);
    if (watch.origin === "file") throw new HttpError(409, OF_FILE);
    return watch;
  };

  const activityOf = async (watch: Watch) => (await readActivity(client, watch.workspaceId))(watch);

  /** Makes what is there known before the watch counts, and stores it. */
  const save = async (
    request: FastifyRequest,
    caller: AuthorizedCaller & { readonly workspaceId: string },
    definition: Definition,
    before: Watch | undefined,
    now: number,
    signal: AbortSignal,
  ) => {
    const isSame = before !== undefined && goesOn(before, definition);
    const watch = {
      id: before?.id ?? randomUUID(),
      workspaceId: caller.workspaceId,
      origin: "api" as const,
      ...definition,
      sinceAt: isSame ? before.sinceAt : now,
      createdAt: before?.createdAt ?? now,
    };
    if (!isSame) await admitKnown(request, caller, watch, deps, signal);
    await watchDefinitions.write(client, [watch], now);
    await cache.refresh();
    const made = new Set(watch.deliver.map(({ id }) => id));
    for (const { id } of before?.deliver ?? []) made.delete(id);
    const saved = cache.byId(watch.id) ?? { ...watch, updatedAt: now };
    return toWireWatch(saved, await activityOf(saved), made);
  };
  app.implement(listWatches, async (request) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    await cache.refresh();
    const activityIn = await readActivity(client, workspaceId);
    return { watches: cache.ofWorkspace(workspaceId).map((watch) => toWireWatch(watch, activityIn(watch))) };
  });

  app.implement(getWatch, async (request) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    const watch = await ownWatch(workspaceId, request.params.id);
    return toWireWatch(watch, await activityOf(watch));
  });

  app.implement(
    addWatch,
    async (request, _reply, { signal }) => {
      const caller = managerOf(request, deps.authenticate);
      const rules = await readRules();
      const definition = orBadRequest(() => toDefinition(request.body, [], rules));
      await cache.refresh();
      if (cache.ofWorkspace(caller.workspaceId).length >= MAX_WATCHES) throw new HttpError(409, TOO_MANY);
      return save(request, caller, definition, undefined, rules.now(), signal);
    },
    ROUTE,
  );

  app.implement(
    putWatch,
    async (request, _reply, { signal }) => {
      const caller = managerOf(request, deps.authenticate);
      const before = await changeable(caller.workspaceId, request.params.id);
      const rules = await readRules();
      const definition = orBadRequest(() => toDefinition(request.body, before.deliver, rules));
      return save(request, caller, definition, before, rules.now(), signal);
    },
    ROUTE,
  );

  app.implement(
    patchWatch,
    async (request, _reply, { signal }) => {
      const caller = managerOf(request, deps.authenticate);
      const before = await changeable(caller.workspaceId, request.params.id);
      const rules = await readRules();
      const definition = orBadRequest(() => toChanged(request.body, before, rules));
      return save(request, caller, definition, before, rules.now(), signal);
    },
    ROUTE,
  );

  app.implement(deleteWatch, async (request) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    const watch = await changeable(workspaceId, request.params.id);
    await watchDefinitions.delete(client, [watch], deps.now());
    await cache.refresh();
    return NO_CONTENT;
  });
}

/** Reads and stores what is there already, at the cost of a search. @throws HttpError 400 for a wrong query. */
async function admitKnown(
  request: FastifyRequest,
  caller: AuthorizedCaller,
  watch: Omit<Watch, "updatedAt">,
  deps: WatchRouteDeps,
  signal: AbortSignal,
): Promise<void> {
  const { on } = watch;
  const { admission } = request.server;
  if (on.type !== "search_matches") {
    if (on.type !== "new_value") return;
    return admission.run(request, VALUES_COST, signal, () => deps.watches.ensureKnown(watch, caller, signal));
  }
  const parameters = { caller, query: on.query, days: undefined, scopes: [GLOBAL_SCOPE] };
  const search = await admitQuery(request, on.query, signal, (asking) => prepareSearch(parameters, deps, asking));
  const cost = searchCost(compile(search));
  await admission.run(request, cost, signal, () => deps.watches.ensureKnown(watch, caller, signal));
}

const VALUES_COST = 4;

/** @throws HttpError 400 for a definition that is wrong. */
function orBadRequest<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof WrongWatchError ? new HttpError(400, `The request body: ${error.message}`) : error;
  }
}
