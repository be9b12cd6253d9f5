import type { ClickHouseClient } from "../client/client.ts";
import { readRetention } from "../storage/retention.ts";
import { openPollingCache, type PollingCache, type PollingOptions } from "./polling-cache.ts";

/** It changes rarely, and each poll reads the definition of a large table. */
const POLL_MS = 10_000;

/**
 * The retention in days, kept up to date: an intake that went by a longer one from before would take in observations
 * that the server deletes immediately.
 */
export function openRetentionCache(
  client: ClickHouseClient,
  options: PollingOptions = {},
): Promise<PollingCache<number>> {
  return openPollingCache(
    async () => String(await readRetention(client)),
    () => readRetention(client),
    { intervalMs: POLL_MS, ...options },
  );
}
