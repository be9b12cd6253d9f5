import {
  ClockError,
  explainFullDisk,
  explainMissingRight,
  isOverLimit,
  isTransient,
  StoreFullError,
} from "@noisefloor/clickhouse/client/errors.ts";
import type { ToHttpError } from "@noisefloor/http/error-handler.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";

/** The error response to a ClickHouse error: 503 for what passes by itself or succeeds with a smaller query. */
export const storeHttpError: ToHttpError = (error) => {
  if (isOverLimit(error)) {
    return new HttpError(503, "The query hit a limit of time or memory: ask for less, or again later");
  }
  if (error instanceof ClockError) {
    return new HttpError(
      503,
      `Nothing is stored: ${error.message}. Let NTP set the clocks, and send the request again`,
    );
  }
  if (error instanceof StoreFullError) {
    return new HttpError(503, "The store's disk is nearly full: nothing is stored until space is freed");
  }
  if (explainFullDisk(error) !== undefined) {
    return new HttpError(503, "The store cannot accept data right now: send the request again later");
  }
  if (explainMissingRight(error) !== undefined) {
    return new HttpError(503, "The service may not do this in its store: its ClickHouse user lacks a right");
  }
  if (isTransient(error)) {
    return new HttpError(503, "The store cannot be reached at the moment: send the request again later");
  }
  return undefined;
};
