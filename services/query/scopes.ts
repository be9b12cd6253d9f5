import type { Caller } from "@noisefloor/domain/access/caller.ts";
import { authorizeScopes, type Scope, type ScopedOperation } from "@noisefloor/domain/access/scope.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import { type RawQuery, readParameter } from "@noisefloor/http/parameters.ts";
import { WORKSPACE_LABELS } from "./parameters.ts";

/** The scopes of `workspace_labels` that the caller may read. @throws HttpError as the operation prescribes. */
export function readScopes(operation: ScopedOperation, query: RawQuery, caller: Caller): Scope[] {
  const scopes = authorizeScopes(operation, readParameter(query, WORKSPACE_LABELS), caller);
  if (Array.isArray(scopes)) return scopes;
  throw new HttpError(scopes.status, scopes.message);
}
