import { TupleParam } from "@clickhouse/client";
import type { Scope } from "@noisefloor/domain/scope.ts";
import { z } from "zod";

/**
 * The scopes of data that a question may touch, and the one condition that binds a query to them. Every query over
 * observations or their rollups carries both, so that what a caller may see is decided in one place.
 */
export const scopesParam = z
  .array(z.custom<Scope>())
  .transform((scopes) => scopes.map(({ dataset, workspaceId }) => new TupleParam([dataset, workspaceId])));

export const IN_SCOPES = "(dataset, workspace_id) IN {scopes:Array(Tuple(String, String))}";
