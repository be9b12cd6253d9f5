import { TupleParam } from "@clickhouse/client";
import { DATASETS, type Scope } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";

/**
 * The scopes that a query may read, for the condition {@link IN_SCOPES}. Every query over observations or their rollups
 * uses both, so that one condition decides what a caller may read.
 */
export const scopesParam = z
  .array(z.custom<Scope>())
  .max(DATASETS.length)
  .transform((scopes) => scopes.map(({ dataset, workspaceId }) => new TupleParam([dataset, workspaceId])));

/** One of the scopes, numbered from 1. Beyond the last the values are empty, and no row has an empty dataset. */
const scope = (number: number, member: number) =>
  `tupleElement({scopes:Array(Tuple(String, String))}[${number}], ${member})`;

/**
 * Compares column by column, which the server does once per distinct value. For `(dataset, workspace_id) IN ...` it
 * would make a tuple of every row, which takes eight times as long.
 */
export const IN_SCOPES = `(${DATASETS.map(
  (_, index) => `(dataset = ${scope(index + 1, 1)} AND workspace_id = ${scope(index + 1, 2)})`,
).join(" OR ")})`;
