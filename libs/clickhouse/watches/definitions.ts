import { conditionSchema, destinationSchema, EVENTS_KEPT_DAYS, type Watch } from "@noisefloor/domain/watches/watch.ts";
import { z } from "zod";
import type { ClickHouseClient } from "../client/client.ts";
import { defineRecords } from "../records/define-records.ts";

const records = defineRecords({
  table: "watches",
  id: "id",
  columns: { id: "watch_id" },
  orderBy: "workspace_id, created_at, watch_id",
  row: z.object({
    id: z.string(),
    workspaceId: z.string(),
    name: z.string(),
    origin: z.enum(["api", "file"]),
    condition: z.string(),
    deliver: z.string(),
    repeatAfterHours: z.int(),
    isEnabled: z.boolean(),
    sinceAt: z.int(),
    createdAt: z.int(),
    updatedAt: z.int(),
  }),
  forget: { afterDays: EVENTS_KEPT_DAYS },
});

const deliverSchema = z.array(destinationSchema);

/** A watch to write. */
type Written = Omit<Watch, "updatedAt">;

const toStored = ({ on, deliver, ...watch }: Written) => ({
  ...watch,
  condition: JSON.stringify(on),
  deliver: JSON.stringify(deliver),
});

/** The watches of all workspaces. */
export const watchDefinitions = {
  table: records.table,
  /** All but deleted ones. */
  async read(client: ClickHouseClient): Promise<Watch[]> {
    return (await records.read(client)).map(({ condition, deliver, ...watch }) => ({
      ...watch,
      on: conditionSchema.parse(JSON.parse(condition)),
      deliver: deliverSchema.parse(JSON.parse(deliver)),
    }));
  },
  /** Adds watches, or replaces those with the same ids. */
  write: (client: ClickHouseClient, watches: readonly Written[], now: number) =>
    records.write(client, watches.map(toStored), now),
  delete: (client: ClickHouseClient, watches: readonly Written[], now: number) =>
    records.delete(client, watches.map(toStored), now),
  forgetDeleted: records.forgetDeleted,
};
