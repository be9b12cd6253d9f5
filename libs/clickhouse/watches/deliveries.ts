import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineQuery, run } from "../client/query.ts";
import { defineStates } from "../records/define-states.ts";

export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;

const row = z.object({
  /** As {@link deliveryIdOf}. */
  deliveryId: z.string(),
  watchId: z.string(),
  eventId: z.string(),
  destinationId: z.string(),
  state: z.enum(DELIVERY_STATES),
  attempts: z.int(),
  /** Of HTTP; 0 without one. */
  lastStatus: z.int(),
  lastError: z.string(),
  /** 0 before the first attempt. */
  lastAttemptAt: z.int(),
  nextAttemptAt: z.int(),
  updatedAt: z.int(),
});
/** How the delivery of an event to a destination goes. Times in milliseconds since 1970 UTC. */
export type Delivery = z.infer<typeof row>;

export const deliveryIdOf = (eventId: string, destinationId: string) => `${eventId}/${destinationId}`;

/** What was tried to deliver: an event without a state was not tried yet. */
export const deliveries = defineStates({ table: "watch_deliveries", id: "deliveryId", row });

const ofWatch = defineQuery({
  name: "watch-deliveries",
  sql: `SELECT delivery_id AS deliveryId, toString(watch_id) AS watchId, toString(event_id) AS eventId,
      destination_id AS destinationId, state, attempts, last_status AS lastStatus, last_error AS lastError,
      toUnixTimestamp64Milli(last_attempt_at) AS lastAttemptAt, toUnixTimestamp64Milli(next_attempt_at) AS nextAttemptAt,
      toUnixTimestamp64Milli(record.updated_at) AS updatedAt
    FROM watch_deliveries AS record FINAL WHERE watch_id = {watchId:UUID}
    ORDER BY updated_at DESC, delivery_id LIMIT {limit:UInt32}`,
  params: z.object({ watchId: z.string(), limit: z.int() }),
  row,
});

/** The deliveries of a watch, those that changed last first. */
export const readDeliveriesOf = (client: ClickHouseClient, watchId: string, limit: number): Promise<Delivery[]> =>
  run(client, ofWatch, { watchId, limit });
