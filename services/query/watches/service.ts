import type { TableChanges } from "@noisefloor/clickhouse/caches/table-changes.ts";
import type { WatchCache } from "@noisefloor/clickhouse/caches/watch-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/client.ts";
import { watchDefinitions } from "@noisefloor/clickhouse/watches/definitions.ts";
import { deliveryIdOf, deliveries as deliveryStates } from "@noisefloor/clickhouse/watches/deliveries.ts";
import { LOG_START, type LoggedEvent, readEvents } from "@noisefloor/clickhouse/watches/log.ts";
import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import type { DestinationType, Watch } from "@noisefloor/domain/watches/watch.ts";
import type { AuthorizedCaller } from "../auth.ts";
import { checkDestination, type DestinationRules } from "./deliver/check-destination.ts";
import { openDeliveries } from "./deliver/deliveries.ts";
import { newSecret } from "./deliver/secrets.ts";
import type { Sender } from "./deliver/sender.ts";
import type { MatchDeps } from "./kinds/search-matches.ts";
import { knowing } from "./known.ts";
import { type LooksState, openLooks } from "./looks/looks.ts";
import type { WatchesService } from "./routes/deps.ts";

export type WatchesOptions = {
  /** Its user may write the tables of watches. */
  readonly client: ClickHouseClient;
  readonly cache: WatchCache;
  /** Undefined for a workspace that is gone. */
  readonly callerOf: (workspaceId: string) => AuthorizedCaller | undefined;
  readonly deps: MatchDeps;
  readonly changes: TableChanges | undefined;
  readonly publicUrl: string;
  readonly sender: Sender;
  readonly rules: DestinationRules;
  readonly onEvent: (type: string) => void;
  readonly onAttempt: (type: DestinationType, isDelivered: boolean) => void;
  /** Called with the first of consecutive failures of what is named. */
  readonly onError: (what: "looks" | "deliveries", error: unknown) => void;
  readonly onRecovery: (what: "looks" | "deliveries") => void;
  readonly onFailure: (watchId: string, error: unknown) => void;
  /** How often watches are looked after; without it when they are told to. */
  readonly everyMs?: number;
};

export type Watches = WatchesService & {
  look(): Promise<void>;
  state(): LooksState & { readonly undelivered: number };
  stop(): Promise<void>;
};

/** Deliveries are tried for three days. */
const TRIED_MS = 3 * DAY_MS;
const PAGE = 1_000;

/** The watches of a process: one of several looks after them and delivers, all answer. */
export function openWatches(options: WatchesOptions): Watches {
  const { client, cache, deps, sender, rules } = options;
  const ensureKnown = knowing(client, deps);
  const deliveries = openDeliveries({
    client,
    sender,
    now: deps.now,
    watches: cache.byId,
    async onGone({ id }, destinationId) {
      await cache.refresh();
      const watch = cache.byId(id);
      if (watch === undefined) return;
      const deliver = watch.deliver.map((each) => (each.id === destinationId ? { ...each, isOff: true } : each));
      await watchDefinitions.write(client, [{ ...watch, deliver }], deps.now());
      await cache.refresh();
    },
    onAttempt: options.onAttempt,
    onError: (error) => options.onError("deliveries", error),
    onRecovery: () => options.onRecovery("deliveries"),
  });
  /** Goes on with what the process before this one had still to deliver. */
  const takeOver = async () => {
    const since = deps.now() - TRIED_MS;
    for (let from = LOG_START; ; ) {
      const events = await readEvents(client, { from, since, limit: PAGE });
      await deliveries.load(events);
      const last = events.at(-1);
      if (last === undefined || events.length < PAGE) return;
      from = { look: last.look, index: last.index + 1 };
    }
  };
  const looks = openLooks({
    ...options,
    ensureKnown,
    onEvents(events: readonly LoggedEvent[]) {
      deliveries.add(events);
      for (const { watchId } of events) options.onEvent(cache.byId(watchId)?.on.type ?? "");
    },
    onLead: takeOver,
    onError: (error) => options.onError("looks", error),
    onRecovery: () => options.onRecovery("looks"),
  });
  const eventOf = async (watch: Watch, eventId: string) => {
    for (let from = LOG_START; ; ) {
      const events = await readEvents(client, { workspaceId: watch.workspaceId, watchId: watch.id, from, limit: PAGE });
      const event = events.find(({ id }) => id === eventId);
      const last = events.at(-1);
      if (event !== undefined || last === undefined || events.length < PAGE) return event;
      from = { look: last.look, index: last.index + 1 };
    }
  };
  return {
    cache,
    client,
    ensureKnown,
    newSecret,
    checkDestination: (destination) => checkDestination(destination, rules),
    send: sender.send,
    async retry(watch, eventId) {
      const event = await eventOf(watch, eventId);
      if (event === undefined) return false;
      const states = await deliveryStates.readByIds(
        client,
        watch.deliver.map(({ id }) => deliveryIdOf(event.id, id)),
      );
      const have = new Set(states.flatMap((each) => (each.state === "delivered" ? [each.destinationId] : [])));
      const missing = watch.deliver.filter(({ id }) => !have.has(id));
      for (const { id } of missing.length > 0 ? missing : watch.deliver) await deliveries.retry(event, id);
      return watch.deliver.length > 0;
    },
    look: looks.look,
    state: () => ({ ...looks.state(), undelivered: deliveries.pending() }),
    async stop() {
      await looks.stop();
      await deliveries.stop();
    },
  };
}
