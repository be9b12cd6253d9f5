import type { FastifyInstance } from "fastify";
import { DEFINITION_OPERATIONS, registerDefinitions } from "./definitions.ts";
import { DELIVERY_OPERATIONS, registerDeliveries } from "./deliveries.ts";
import type { WatchRouteDeps } from "./deps.ts";
import { EVENT_OPERATIONS, registerEvents } from "./events.ts";

export const WATCH_OPERATIONS = [...DEFINITION_OPERATIONS, ...EVENT_OPERATIONS, ...DELIVERY_OPERATIONS] as const;

export function registerWatches(app: FastifyInstance, deps: WatchRouteDeps): void {
  registerDefinitions(app, deps);
  registerEvents(app, deps);
  registerDeliveries(app, deps);
}
