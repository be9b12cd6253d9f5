import type { FeedCache } from "@noisefloor/clickhouse/caches/feed-cache.ts";
import type { ClickHouseClient } from "@noisefloor/clickhouse/client/connect.ts";
import { readCountsBefore } from "@noisefloor/clickhouse/feeds/refreshes.ts";
import { nameOf, type SensorSummary } from "@noisefloor/clickhouse/sensors/sensor-summaries.ts";
import { readEventsLately } from "@noisefloor/clickhouse/watches/lately.ts";
import type { Caller } from "@noisefloor/domain/access/caller.ts";
import { ipv4ToNumber } from "@noisefloor/domain/address/ipv4.ts";
import type { Feed } from "@noisefloor/domain/feeds/feed-definition.ts";
import { writeValue } from "@noisefloor/domain/query-language/completion/complete.ts";
import { formatTimestamp } from "@noisefloor/domain/time/window.ts";
import { eventSchema } from "@noisefloor/domain/watches/event.ts";
import { type LookupDeps, lookUpMany } from "../address/store-lookup.ts";
import { findIn, rangesOf } from "../feeds/guard/guard.ts";
import type { Feeds } from "../feeds/service/feeds.ts";
import { readSensors, sensorWorkspaces } from "../sensors/read-sensors.ts";
import { MAX_LISTED, type Today, type TodaySearch } from "./operation.ts";
import { readOwnAddresses } from "./own-addresses.ts";
import type { Day } from "./tags.ts";

export type WorkspaceDeps = LookupDeps & {
  readonly feeds: Pick<Feeds, "ofWorkspace">;
  readonly cache: Pick<FeedCache, "guardOf">;
  /** Its user may read the tables of feeds. */
  readonly client: ClickHouseClient;
};
export type SearchOf = (query: string, days?: number, page?: string) => TodaySearch;

/** What a day was like for a workspace. */
export async function readWorkspaceNews(
  day: Day,
  { workspaceId, entitlements }: Pick<Caller, "entitlements"> & { readonly workspaceId: string },
  deps: WorkspaceDeps,
  searchOf: SearchOf,
  signal: AbortSignal,
) {
  const [own_addresses, sensors, feeds, events] = await Promise.all([
    listOwnAddresses(day, workspaceId, deps, searchOf, signal),
    readSensors(sensorWorkspaces(workspaceId, { entitlements }), deps, signal),
    listFeeds(day, deps.feeds.ofWorkspace(workspaceId), deps, searchOf),
    listEvents(day, workspaceId, deps),
  ]);
  return { own_addresses, silent_sensors: listSilent(sensors, searchOf), feeds, events };
}

async function listOwnAddresses(
  { scopes, start }: Day,
  workspaceId: string,
  deps: WorkspaceDeps,
  searchOf: SearchOf,
  signal: AbortSignal,
): Promise<Today["own_addresses"]> {
  const { networks } = deps.cache.guardOf(workspaceId);
  const found = await readOwnAddresses(networks, { scopes, from: start, limit: MAX_LISTED }, deps.read, signal);
  const ips = found.latest.map(([, ip]) => ip);
  if (ips.length === 0) return { count: 0, entries: [] };
  const records = await lookUpMany(ips, scopes, deps, signal);
  const networkOf = findIn(rangesOf(networks));
  const byId = new Map(networks.map((guard) => [guard.id, guard]));
  return {
    count: found.count,
    entries: found.latest.map(([last, ip]) => {
      const guard = byId.get(networkOf(ipv4ToNumber(ip)) ?? "");
      return {
        ip,
        network: guard?.network ?? "",
        note: guard?.note ?? "",
        classification: records.get(ip)?.noise?.classification ?? "unknown",
        last_seen: formatTimestamp(last),
        search: searchOf(`ip:${ip}`),
      };
    }),
  };
}

function listSilent(sensors: readonly SensorSummary[], searchOf: SearchOf): Today["silent_sensors"] {
  const silent = sensors.filter(({ isSilent }) => isSilent).toSorted((one, other) => one.lastSeen - other.lastSeen);
  return {
    count: silent.length,
    entries: silent.slice(0, MAX_LISTED).map((sensor) => ({
      name: nameOf(sensor),
      sensor_id: sensor.sensorId,
      source: sensor.source,
      last_seen: formatTimestamp(sensor.lastSeen),
      // No search finds the records of a sensor that has no id.
      search: sensor.sensorId === "" ? searchOf("", 0, "/sensors") : searchOf(`sensor:${writeValue(sensor.sensorId)}`),
    })),
  };
}

async function listEvents({ start }: Day, workspaceId: string, { client }: WorkspaceDeps): Promise<Today["events"]> {
  const { count, undelivered, latest } = await readEventsLately(client, workspaceId, start);
  return {
    ...{ count, undelivered },
    entries: latest.map((body) => {
      const { id, watch, detected_at, summary, link } = eventSchema.parse(JSON.parse(body));
      return { id, watch, detected_at, summary, link };
    }),
  };
}

async function listFeeds(
  { start }: Day,
  feeds: readonly Feed[],
  { client }: WorkspaceDeps,
  searchOf: SearchOf,
): Promise<Today["feeds"]> {
  const enabled = new Map(feeds.flatMap((feed) => (feed.isEnabled ? [[feed.id, feed]] : [])));
  const changed = (await readCountsBefore(client, [...enabled.keys()], start))
    .filter(({ count, before, fellFrom }) => count !== before || fellFrom > 0)
    .toSorted((one, other) => Number(other.fellFrom > 0) - Number(one.fellFrom > 0) || changeOf(other) - changeOf(one));
  return {
    count: changed.length,
    entries: changed.slice(0, MAX_LISTED).flatMap(({ feedId, count, before, fellFrom }) => {
      const feed = enabled.get(feedId);
      if (feed === undefined) return [];
      const search = searchOf(feed.query, feed.days);
      return [{ name: feed.name, count, previous_count: before, fell_from: fellFrom, search }];
    }),
  };
}

/** How many times a list is as long as before, or was before as long as now. */
function changeOf({ count, before }: { readonly count: number; readonly before: number }): number {
  return (Math.max(count, before) + 1) / (Math.min(count, before) + 1);
}
