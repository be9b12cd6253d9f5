import type { TagCatalogue } from "@noisefloor/clickhouse/caches/tag-catalogue.ts";
import type { Authenticate } from "../auth.ts";
import type { CountLookups } from "../rate-limit/count-lookups.ts";
import type { SummaryDeps } from "./read-contexts.ts";
import type { LookUpAddress } from "./records.ts";

/** What every route may use. */
export type RouteDeps = SummaryDeps & {
  readonly catalogue: TagCatalogue;
  readonly authenticate: Authenticate;
  readonly countLookups: CountLookups;
  /** Looks up a single address of the global dataset. */
  readonly lookUp: LookUpAddress;
};
