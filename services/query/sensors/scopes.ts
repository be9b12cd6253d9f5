import type { Caller } from "@noisefloor/domain/access/caller.ts";
import { authorizeScopes, type Scope } from "@noisefloor/domain/access/scope.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import { KEY_NEEDED } from "./operation.ts";

/** The data whose sensors a caller may know by name. @throws HttpError 403: the caller has no key. */
export function sensorScopes(caller: Caller): Scope[] {
  if (caller.workspaceId === undefined) throw new HttpError(403, KEY_NEEDED);
  const shared = caller.entitlements.has("sensors") ? (["global", "community"] as const) : [];
  const scopes = authorizeScopes(
    "timeline",
    { supplied: true, recognized: ["personal", ...shared], unrecognized: [] },
    caller,
  );
  if (Array.isArray(scopes)) return scopes;
  throw new HttpError(scopes.status, scopes.message);
}
