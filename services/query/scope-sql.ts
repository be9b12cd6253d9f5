import { TupleParam } from "@clickhouse/client";
import type { Scope } from "@noisefloor/domain/scope.ts";
import { z } from "zod";

/**
 * The scopes that a query may read, for the condition {@link IN_SCOPES}. Every query over observations or their rollups
 * uses both, so that one condition decides what a caller may read. At most one of them has a workspace: the caller's.
 */
export const scopesParam = z
  .array(z.custom<Scope>())
  .refine((scopes) => new Set(scopes.map(({ workspaceId }) => workspaceId).filter((id) => id !== "")).size <= 1)
  .transform((scopes) => scopes.map(({ dataset, workspaceId }) => new TupleParam([dataset, workspaceId])));

const SCOPES = "{scopes:Array(Tuple(String, String))}";
/** The scope with a workspace; without one, a pair that no row has. */
const OWN = `arrayFirst(scope -> scope.2 != '', ${SCOPES})`;

/**
 * Compares column by column: the server does that once per distinct value. For `(dataset, workspace_id) IN ...` it
 * makes a tuple of each row, which takes eight times as long.
 */
export const IN_SCOPES = `((workspace_id = '' AND dataset IN arrayMap(scope -> scope.1, arrayFilter(scope -> scope.2 = '', ${SCOPES})))
      OR (workspace_id = tupleElement(${OWN}, 2) AND dataset = tupleElement(${OWN}, 1)))`;
