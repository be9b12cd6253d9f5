import type { AccessDirectory } from "@noisefloor/clickhouse/access-directory.ts";
import type { Caller } from "@noisefloor/domain/caller.ts";
import { type Plans, type PlanLimits, UNAUTHENTICATED_PLAN } from "@noisefloor/domain/plan.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import type { FastifyRequest } from "fastify";

/** A caller with what its plan allows. */
export type AuthorizedCaller = Caller & { readonly terms: PlanLimits };

/** Who sends this request. Throws a 401 for a key that is not known; no key, or an empty one, is nobody in particular. */
export type Authenticate = (request: FastifyRequest) => AuthorizedCaller;

const ANONYMOUS: Caller = { plan: UNAUTHENTICATED_PLAN, entitlements: new Set() };

export function authenticator(directory: AccessDirectory, plans: Plans): Authenticate {
  const least = plans.get(UNAUTHENTICATED_PLAN);
  if (least === undefined) throw new Error(`there is no plan called ${UNAUTHENTICATED_PLAN}`);
  return (request) => {
    const key = request.headers.key;
    const caller = key === undefined || key === "" ? ANONYMOUS : directory.callerOf(String(key));
    if (caller === undefined) throw new HttpError(401, "Unauthorized");
    request.workspaceId = caller.workspaceId;
    // A workspace on a plan that is no longer configured may do what everybody may.
    return { ...caller, terms: plans.get(caller.plan) ?? least };
  };
}
