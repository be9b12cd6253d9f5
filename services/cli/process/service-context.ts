import type { Settings } from "@noisefloor/config/settings.ts";
import type { Logger } from "@noisefloor/telemetry/logger.ts";
import type { Metrics } from "@noisefloor/telemetry/metrics.ts";
import type { CloseStack } from "../framework/close-stack.ts";
import type { Store } from "../store/store.ts";

/** Which of the services one process runs. */
export type Roles = { readonly ingest: boolean; readonly query: boolean };

/** What every part of a service is built from. */
export type ServiceContext = {
  readonly roles: Roles;
  readonly store: Store;
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** A part adds here how to close what it opens. */
  readonly closeStack: CloseStack;
};
