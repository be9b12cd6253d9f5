import { TupleParam } from "@clickhouse/client";
import type { DataRoom } from "@noisefloor/domain/scope.ts";
import { z } from "zod";

/**
 * The rooms of data that a question may touch, and the one condition that binds a query to them. Every query over
 * observations or their rollups carries both, so that what a caller may see is decided in one place.
 */
export const roomsParam = z
  .array(z.custom<DataRoom>())
  .transform((rooms) => rooms.map(({ dataset, workspaceId }) => new TupleParam([dataset, workspaceId])));

export const IN_ROOMS = "(dataset, workspace_id) IN {rooms:Array(Tuple(String, String))}";
