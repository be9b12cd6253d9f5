import { ENTITLEMENTS } from "@noisefloor/domain/access/caller.ts";
import { z } from "zod";
import { defineRecords } from "../records/define-records.ts";

const workspaceSchema = z.object({
  workspaceId: z.string(),
  name: z.string(),
  plan: z.string(),
  entitlements: z.array(z.enum(ENTITLEMENTS)),
});
export type Workspace = z.infer<typeof workspaceSchema>;

export const workspaces = defineRecords({
  table: "workspaces",
  row: workspaceSchema,
  id: "workspaceId",
});
