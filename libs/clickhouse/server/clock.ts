import type { ClickHouseClient } from "@clickhouse/client";
import { z } from "zod";
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

/** Compares the server's clock with ours, as it was in the middle of the request. */
export async function readServerClock(client: ClickHouseClient): Promise<ServerClock> {
  const start = Date.now();
  const { at, version, uptime } = await runForOne(client, serverClock, {});
  return { skewMs: Math.round(at - (start + Date.now()) / 2), version, uptimeSeconds: uptime };
}
