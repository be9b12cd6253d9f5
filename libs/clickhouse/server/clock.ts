import { HOUR_MS } from "@noisefloor/domain/time/window.ts";
import { z } from "zod";
import { openPollingCache, type PollingOptions } from "../caches/polling-cache.ts";
import { askServers } from "../client/ask-servers.ts";
import type { ClickHouseClient } from "../client/client.ts";
import { ClockError } from "../client/errors.ts";
import { defineQuery, runForOne } from "../client/query.ts";

const serverClock = defineQuery({
  name: "server-clock",
  sql: "SELECT toUnixTimestamp64Milli(now64(3)) AS at, version() AS version, uptime() AS uptime",
  params: z.object({}),
  row: z.object({ at: z.int(), version: z.string(), uptime: z.int() }),
});

export type ServerClock = {
  /** How far the server's clock is ahead of ours, in milliseconds; negative when it is behind. */
  readonly skewMs: number;
  readonly version: string;
  readonly uptimeSeconds: number;
};

/**
 * Compares the server's clock with ours, as it was in the middle of the request. Of a cluster: the clock that is
 * furthest from ours, the version of each server where they differ, and the uptime of the server that started last.
 */
export async function readServerClock(client: ClickHouseClient): Promise<ServerClock> {
  const clocks = await askServers(client, readOne);
  return clocks.reduce((all, one) => ({
    skewMs: Math.abs(one.skewMs) > Math.abs(all.skewMs) ? one.skewMs : all.skewMs,
    version: all.version.split(", ").includes(one.version) ? all.version : `${all.version}, ${one.version}`,
    uptimeSeconds: Math.min(all.uptimeSeconds, one.uptimeSeconds),
  }));
}

/** Kafka's brokers refuse messages from further ahead, and what is the future or expired is wrong by as much. */
const MAX_SKEW_MS = HOUR_MS;

/** @param skewMs how far its clock is ahead of ours, undefined when it does not say. @throws ClockError. */
export function assertClock(owner: string, skewMs: number | undefined): void {
  if (skewMs === undefined || Math.abs(skewMs) <= MAX_SKEW_MS) return;
  const hours = (Math.abs(skewMs) / HOUR_MS).toFixed(1);
  throw new ClockError(`this machine's clock is ${hours} hours ${skewMs > 0 ? "behind" : "ahead of"} ${owner}'s`);
}

const POLL_MS = 10_000;

/** How far the store's clock is ahead of ours, kept in memory. */
export async function openStoreClock(client: ClickHouseClient, options: PollingOptions = {}) {
  let skewMs = 0;
  const read = async () => {
    ({ skewMs } = await readServerClock(client));
    return String(skewMs);
  };
  return openPollingCache(read, async () => skewMs, { intervalMs: POLL_MS, ...options });
}

async function readOne(server: ClickHouseClient): Promise<ServerClock> {
  const start = Date.now();
  const { at, version, uptime } = await runForOne(server, serverClock, {});
  return { skewMs: Math.round(at - (start + Date.now()) / 2), version, uptimeSeconds: uptime };
}
