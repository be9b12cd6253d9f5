import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { writeKnown } from "@noisefloor/clickhouse/watches/known.ts";
import type { Watch } from "@noisefloor/domain/watches/watch.ts";
import { HttpError } from "@noisefloor/http/responses/errors.ts";
import type { AuthorizedCaller } from "../auth.ts";
import type { SearchDeps } from "../search/search.ts";
import { readStoredValues } from "./kinds/new-value.ts";
import { MAX_KNOWN_ADDRESSES, readMatching } from "./kinds/search-matches.ts";

/** Stores what is there before a watch's condition counts. @throws HttpError 400 for a query that cannot be watched. */
export type EnsureKnown = (
  watch: Pick<Watch, "id" | "sinceAt" | "on">,
  caller: AuthorizedCaller,
  signal: AbortSignal,
) => Promise<void>;

const TOO_MANY = `The search matches more than ${MAX_KNOWN_ADDRESSES} addresses: a watch takes a narrower one`;

export function knowing(client: ClickHouseClient, deps: SearchDeps): EnsureKnown {
  return async ({ on, ...watch }, caller, signal) => {
    if (on.type === "search_matches") {
      const matching = await readMatching({ watch: { on }, caller }, deps, signal);
      if (matching === undefined) throw new HttpError(400, TOO_MANY);
      await writeKnown(client, watch, [...matching]);
    } else if (on.type === "new_value") {
      await writeKnown(client, watch, await readStoredValues(on.field, deps, signal));
    }
  };
}
