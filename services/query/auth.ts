import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { Caller } from "@noisefloor/domain/access/caller.ts";
import { type PlanLimits, type Plans, UNAUTHENTICATED_PLAN } from "@noisefloor/domain/access/plan.ts";
import { keyOf } from "@noisefloor/http/requests/key.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { FastifyRequest } from "fastify";

/** A caller with the limits of its plan. */
export type AuthorizedCaller = Caller & { readonly limits: PlanLimits };

/** The caller of a request, unauthenticated without a key or with an empty one. @throws HttpError 401: unknown key. */
export type Authenticate = (request: FastifyRequest) => AuthorizedCaller;

const UNAUTHENTICATED: Caller = { plan: UNAUTHENTICATED_PLAN, entitlements: new Set() };

/** Adds a caller's limits: the plan of a workspace may no longer be configured. */
export function callerWithLimits(plans: Plans): (caller: Caller) => AuthorizedCaller {
  const unauthenticatedLimits = plans.get(UNAUTHENTICATED_PLAN);
  if (unauthenticatedLimits === undefined) throw new Error(`the plan ${UNAUTHENTICATED_PLAN} is missing`);
  // Not by spreading: V8 would make a hidden class a request.
  return ({ workspaceId, plan, entitlements }) => ({
    workspaceId,
    plan,
    entitlements,
    limits: plans.get(plan) ?? unauthenticatedLimits,
  });
}

export function authenticator(accessCache: AccessCache, plans: Plans): Authenticate {
  const withLimits = callerWithLimits(plans);
  return (request) => {
    const key = keyOf(request.headers);
    const caller = key === "" ? UNAUTHENTICATED : accessCache.callerOf(key);
    if (caller === undefined) throw new HttpError(401, "Unauthorized");
    request.workspaceId = caller.workspaceId;
    return withLimits(caller);
  };
}
