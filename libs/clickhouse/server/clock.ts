import { z } from "zod";
import { askServers } from "../client/ask-servers.ts";
import type { ClickHouseClient } from "../client/client.ts";
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

async function readOne(server: ClickHouseClient): Promise<ServerClock> {
  const start = Date.now();
  const { at, version, uptime } = await runForOne(server, serverClock, {});
  return { skewMs: Math.round(at - (start + Date.now()) / 2), version, uptimeSeconds: uptime };
}
