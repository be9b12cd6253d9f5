import { TupleParam } from "@clickhouse/client";
import type { Scope } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";

/**
 * The scopes that a query may read, for the condition {@link IN_SCOPES}. Every query over observations or their rollups
 * uses both, so that one condition decides what a caller may read.
 */
export const scopesParam = z
  .array(z.custom<Scope>())
  .transform((scopes) => scopes.map(({ dataset, workspaceId }) => new TupleParam([dataset, workspaceId])));

export const IN_SCOPES = "(dataset, workspace_id) IN {scopes:Array(Tuple(String, String))}";
