import { isOverLimit, isTransient, StoreFullError } from "@noisefloor/clickhouse/client/errors.ts";
import { HttpError } from "./errors.ts";
import type { RefusalOf } from "./refusals.ts";

/** What the store's failures mean for a caller: 503 for what passes by itself or with a smaller question. */
export const storeRefusal: RefusalOf = (error) => {
  if (isOverLimit(error)) {
    return new HttpError(503, "The query hit a limit of time or memory: ask for less, or again later");
  }
  if (error instanceof StoreFullError) {
    return new HttpError(503, "The store's disk is nearly full: nothing is stored until there is room again");
  }
  if (isTransient(error)) {
    return new HttpError(503, "The store cannot be reached at the moment: send the request again later");
  }
  return undefined;
};
