import type { Caller } from "@noisefloor/domain/caller.ts";
import { type DataRoom, openRooms, type ScopedOperation } from "@noisefloor/domain/scope.ts";
import { HttpError } from "@noisefloor/http/errors.ts";
import { type RawQuery, readParameter } from "@noisefloor/http/parameters.ts";
import { WORKSPACE_LABELS } from "./parameters.ts";

/** The rooms that a request's `workspace_labels` open to its caller; throws the refusal that the operation prescribes. */
export function readRooms(operation: ScopedOperation, query: RawQuery, caller: Caller): DataRoom[] {
  const rooms = openRooms(operation, readParameter(query, WORKSPACE_LABELS), caller);
  if (Array.isArray(rooms)) return rooms;
  throw new HttpError(rooms.status, rooms.message);
}
