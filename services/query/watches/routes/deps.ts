import type { AccessCache } from "@noisefloor/clickhouse/caches/access-cache.ts";
import type { WatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import type { StoredEvent } from "@noisefloor/clickhouse/watches/log.ts";
import type { Destination, Watch } from "@noisefloor/domain/watches/watch.ts";
import type { Authenticate } from "../../auth.ts";
import type { SearchDeps } from "../../search/search.ts";
import type { Sent } from "../deliver/sender.ts";
import type { EnsureKnown } from "../known.ts";

/** The watches of a process: what its routes need. */
export type WatchesService = {
  readonly cache: WatchCache;
  /** Its user may write the tables of watches. */
  readonly client: ClickHouseClient;
  readonly ensureKnown: EnsureKnown;
  /** @returns why events may not be sent there. */
  checkDestination(destination: Destination): string | undefined;
  newSecret(): string;
  /** Tries to deliver an event to a destination now, once. */
  send(destination: Destination, event: StoredEvent, signal: AbortSignal): Promise<Sent>;
  /** Tries to deliver an event now where it is missing, or to all if it is missing nowhere. @returns whether there is anything. */
  retry(watch: Watch, eventId: string): Promise<boolean>;
};

export type WatchRouteDeps = SearchDeps & {
  readonly watches: WatchesService;
  readonly accessCache: Pick<AccessCache, "callerOf">;
  readonly authenticate: Authenticate;
  /** The base of links in responses, without a trailing slash. */
  readonly publicUrl: string;
};
