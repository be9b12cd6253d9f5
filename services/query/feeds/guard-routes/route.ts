import { randomUUID } from "node:crypto";
import {
  deleteGuardNetwork,
  type GuardNetwork,
  writeGuardNetwork,
} from "@noisefloor/clickhouse/feeds/guard-networks.ts";
import { ipv4ToNumber, isIpv4, numberToIpv4, parseNetwork } from "@noisefloor/domain/address/ipv4.ts";
import { plainIpv4 } from "@noisefloor/domain/address/ipv6.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { defineOperation, errorResponse, NO_CONTENT, NOTHING } from "@noisefloor/http/operations/operation.ts";
import { type Parameter, type PathParameter, readParameter } from "@noisefloor/http/requests/parameters.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { ADDRESSES_ROUTE, rejectBody } from "../../request-body.ts";
import { ip, storedText, timestamp, uuid } from "../../wire.ts";
import { readAttackers } from "../guard/attackers.ts";
import type { FeedRouteDeps } from "../requests/deps.ts";
import { managerOf } from "../requests/readers.ts";
import { FEEDS, UNAUTHORIZED } from "../requests/wire-feed.ts";
import { REASONS, reasonMembers, toWireReason } from "./wire-reason.ts";

const MAX_NETWORKS = 10_000;
const TOO_MANY = `A workspace guards at most ${MAX_NETWORKS} networks`;
const NOT_FOUND = "Guarded network not found";
const BAD_BODY = 'The request body must be {"network": "198.51.100.0/24", "note": "..."}';

const IP: Parameter<string | undefined> = {
  name: "ip",
  description: "An address: the answer says whether it is guarded, and why.",
  takes: "an IPv4 address",
  schema: z.string().overwrite(plainIpv4).refine(isIpv4).optional(),
  describedBy: "input",
  example: "192.175.48.6",
};
const GUARD_ID: PathParameter = {
  schema: z.string(),
  description: "The id of a guarded network.",
  errorMessage: "Invalid parameter: id",
  example: "5d1a4f60-3f3f-4f6e-9d5f-5f4c1d1f8a10",
};

const networkSchema = z.object({ network: z.string(), note: storedText.max(1_000).optional() }).meta({ id: "Guard" });
const guardSchema = z
  .strictObject({ id: uuid, network: z.string(), note: z.string(), created_at: timestamp })
  .meta({ id: "GuardedNetwork" });
export const EXAMPLE_GUARD = {
  id: GUARD_ID.example,
  network: "198.51.100.0/24",
  note: "a partner",
  created_at: "2026-11-20T12:00:00Z",
};

/** `GET /v3/guard`. */
export const getGuard = defineOperation({
  ...FEEDS,
  id: "getGuard",
  method: "GET",
  path: "/v3/guard",
  summary: "The networks that no feed of the workspace lists, or why an address is guarded",
  description:
    "Guarded are also benign services of trust level 1 and 2, known benign actors whose addresses did not attack, and the addresses of `OWN_ADDRESSES`. They stay findable in the search.",
  pathParameters: {},
  queryParameters: [IP],
  success: {
    status: 200,
    description: "The networks; with `ip` the address, with a reason where it is guarded.",
    schema: z.union([
      z.strictObject({ networks: z.array(guardSchema) }).meta({ id: "GuardedNetworks" }),
      z
        .strictObject({ ip, guarded: z.boolean(), ...reasonMembers, reason: z.enum([...REASONS, ""]) })
        .meta({ id: "GuardedAddress" }),
    ]),
    example: { networks: [EXAMPLE_GUARD] },
  },
  errorResponses: {
    400: errorResponse("`ip` is no address.", "Invalid parameter: ip takes an IPv4 address"),
    401: UNAUTHORIZED,
  },
});

/** `POST /v3/guard`. */
export const addGuard = defineOperation({
  ...FEEDS,
  id: "addGuard",
  method: "POST",
  path: "/v3/guard",
  summary: "Guards a network: no feed of the workspace lists its addresses",
  pathParameters: {},
  queryParameters: [],
  body: { description: "An IPv4 network or address.", schema: networkSchema, example: { network: "198.51.100.0/24" } },
  success: { status: 201, description: "The network is guarded.", schema: guardSchema, example: EXAMPLE_GUARD },
  errorResponses: {
    400: errorResponse("The body has no such network.", BAD_BODY),
    401: UNAUTHORIZED,
    409: errorResponse("As many networks are guarded as may be.", TOO_MANY),
  },
});

/** `DELETE /v3/guard/{id}`. */
export const deleteGuard = defineOperation({
  ...FEEDS,
  id: "deleteGuard",
  method: "DELETE",
  path: "/v3/guard/{id}",
  summary: "Guards a network no longer",
  pathParameters: { id: GUARD_ID },
  queryParameters: [],
  success: { status: 204, description: "The network is not guarded.", ...NOTHING },
  errorResponses: { 401: UNAUTHORIZED, 404: errorResponse("There is no such network.", NOT_FOUND) },
});

export const GUARD_OPERATIONS = [getGuard, addGuard, deleteGuard] as const;

export function registerGuard(app: FastifyInstance, deps: FeedRouteDeps): void {
  const { cache, client, feeds, now } = deps;

  app.implement(getGuard, async (request, _reply, { signal }) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    const address = readParameter(request.query, IP);
    if (address === undefined) return { networks: cache.guardOf(workspaceId).networks.map(toWireGuard) };
    const number = ipv4ToNumber(address);
    const attacked = (await readAttackers([number], deps, signal)).has(number);
    const reason = feeds.guardOf(workspaceId)(number, attacked);
    if (reason !== undefined) return { ip: address, guarded: true, ...toWireReason(reason, attacked) };
    return { ip: address, guarded: false, reason: "" as const, name: "", network: "", note: "", attacked };
  });

  app.implement(
    addGuard,
    async (request) => {
      const { workspaceId } = managerOf(request, deps.authenticate);
      const body = networkSchema.safeParse(request.body);
      if (!body.success) throw new HttpError(400, BAD_BODY);
      const parsed = parseNetwork(plainIpv4(body.data.network));
      if (typeof parsed === "string") throw new HttpError(400, `The request body: network: ${parsed}`);
      await cache.refresh();
      if (cache.guardOf(workspaceId).networks.length >= MAX_NETWORKS) throw new HttpError(409, TOO_MANY);
      const guard = {
        id: randomUUID(),
        workspaceId,
        network: `${numberToIpv4(parsed.first)}/${parsed.length}`,
        note: body.data.note ?? "",
        createdAt: now(),
      };
      await writeGuardNetwork(client, guard, now());
      await cache.refresh();
      return toWireGuard(guard);
    },
    { ...ADDRESSES_ROUTE, errorHandler: rejectBody(() => new HttpError(400, BAD_BODY)) },
  );

  app.implement(deleteGuard, async (request) => {
    const { workspaceId } = managerOf(request, deps.authenticate);
    await cache.refresh();
    const guard = cache.guardOf(workspaceId).networks.find(({ id }) => id === request.params.id);
    if (guard === undefined) throw new HttpError(404, NOT_FOUND);
    await deleteGuardNetwork(client, guard, now());
    await cache.refresh();
    return NO_CONTENT;
  });
}

function toWireGuard({ id, network, note, createdAt }: Pick<GuardNetwork, "id" | "network" | "note" | "createdAt">) {
  return { id, network, note, created_at: formatTimestamp(createdAt) };
}
