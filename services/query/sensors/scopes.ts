import type { Caller } from "@noisefloor/domain/access/caller.ts";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import { KEY_NEEDED } from "./operation.ts";

/** The data whose sensors a caller may know by name. @throws HttpError 403: the caller has no key. */
export function sensorScopes(caller: Caller): Scope[] {
  if (caller.workspaceId === undefined) throw new HttpError(403, KEY_NEEDED);
  return namedSensorScopes(caller);
}

/** The same for any caller: without a key, none. */
export function namedSensorScopes({ workspaceId, entitlements }: Caller): Scope[] {
  if (workspaceId === undefined) return [];
  const shared = entitlements.has("sensors") ? (["global", "community"] as const) : [];
  return [{ dataset: "personal", workspaceId }, ...shared.map((dataset) => ({ dataset, workspaceId: "" }))];
}
