import type { ClickHouseSettings } from "@clickhouse/client";

/** A statement with it ends when the server, and each of its replicas that answers, has changed the rows. */
export const WAIT_FOR_MUTATION = { mutations_sync: "3" } as const satisfies ClickHouseSettings;
