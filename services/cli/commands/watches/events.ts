import { setTimeout as sleep } from "node:timers/promises";
import { repeatEvery } from "@noisefloor/domain/time/repeat-every.ts";
import { eventSchema, type WatchEvent } from "@noisefloor/domain/watches/event.ts";
import { z } from "zod";
import type { CommandContext } from "../../framework/command.ts";
import { printable, show } from "../../framework/output.ts";
import { queryClient } from "../../query-client/client.ts";
import { type WatchesOptions, watchPath } from "./watches.ts";

export type EventsOptions = WatchesOptions & { readonly limit: number; readonly follow: boolean };

const pageSchema = z.object({ events: z.array(eventSchema), cursor: z.string(), has_more: z.boolean() });
const EVERY_MS = 2_000;

/** `noisefloor watches events`. @param id undefined for the events of all watches. */
export async function runWatchesEvents(
  id: string | undefined,
  { limit, follow, ...options }: EventsOptions,
  context: CommandContext,
): Promise<void> {
  const { print, log } = context;
  const client = await queryClient(options, context);
  const path = id === undefined ? "/v3/watches/events" : watchPath(id, "/events");
  const printEvents = (events: readonly WatchEvent[]) => {
    for (const event of events) print(options.json ? JSON.stringify(event) : formatEvent(event));
  };
  const newest = await client.ask({ path, parameters: { newest: "true", limit } }, pageSchema);
  printEvents(newest.events);
  if (!follow) {
    if (newest.events.length === 0 && !options.json) print("none");
    return;
  }
  const { signal } = context;
  let after = newest.cursor;
  const read = async () => {
    for (let hasMore = true; hasMore && !signal.aborted; ) {
      const page = await client.ask({ path, parameters: { after } }, pageSchema);
      printEvents(page.events);
      ({ cursor: after, has_more: hasMore } = page);
    }
  };
  const { run } = repeatEvery(read, {
    everyMs: undefined,
    onError: (error) => log.warn({ err: error }, "events cannot be read, retrying"),
    onRecovery: () => log.info({}, "events can be read again"),
  });
  while (!signal.aborted) {
    await run();
    // Its timer alone keeps the process alive.
    await sleep(EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

const formatEvent = ({ detected_at: at, watch, summary }: WatchEvent) =>
  `${at}  ${printable(watch.name)}: ${printable(summary)}`;

const deliverySchema = z.object({
  event_id: z.string(),
  destination: z.string(),
  state: z.string(),
  attempts: z.int(),
  last_status: z.int(),
  last_error: z.string(),
  last_attempt_at: z.string(),
  next_attempt_at: z.string(),
});

/** `noisefloor watches deliveries`. */
export async function runWatchesDeliveries(
  id: string,
  { limit, ...options }: WatchesOptions & { readonly limit: number },
  context: CommandContext,
): Promise<void> {
  const client = await queryClient(options, context);
  const question = { path: watchPath(id, "/deliveries"), parameters: { limit } };
  const { deliveries } = await client.ask(question, z.object({ deliveries: z.array(deliverySchema) }));
  show(deliveries, options, context);
}

/** `noisefloor watches retry`. */
export async function runWatchesRetry(
  id: string,
  event: string,
  options: WatchesOptions,
  context: CommandContext,
): Promise<void> {
  const client = await queryClient(options, context);
  const path = watchPath(id, `/deliveries/${encodeURIComponent(event)}/retry`);
  await client.ask({ method: "POST", path }, z.unknown());
  context.print(options.json ? JSON.stringify({ retried: event }) : `delivers the event ${printable(event)} again`);
}
