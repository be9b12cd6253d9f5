import { TupleParam } from "@clickhouse/client";
import { DATASETS, type Scope } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";

/**
 * The scopes that a query may read, for the condition {@link IN_SCOPES} or, by tag, {@link inSeries}. Every query over
 * observations or their rollups uses one of the two, so that this file decides what a caller may read.
 */
export const scopesParam = z
  .array(z.custom<Scope>())
  .max(DATASETS.length)
  .transform((scopes) => scopes.map(({ dataset, workspaceId }) => new TupleParam([dataset, workspaceId])));

/** One of the scopes, numbered from 1. Beyond the last the values are empty, and no row has an empty dataset. */
const scope = (number: number, member: number) =>
  `tupleElement({scopes:Array(Tuple(String, String))}[${number}], ${member})`;

/**
 * Whether a row is in one of the scopes.
 *
 * Compares column by column, which the server does once per distinct value. For `(dataset, workspace_id) IN ...` it
 * would make a tuple of every row, which takes eight times as long.
 */
export const IN_SCOPES = `(${Array.from(
  DATASETS,
  (_, index) => `(dataset = ${scope(index + 1, 1)} AND workspace_id = ${scope(index + 1, 2)})`,
).join(" OR ")})`;

/**
 * Whether a row is of {tag:UUID} and in one of the scopes, in a table whose key begins with `series`: to compare one
 * column takes the server less time than to compare three.
 * @param most how many scopes there are at most: each takes the server a while to plan.
 */
export function inSeries(most: number): string {
  const series = Array.from({ length: most }, (_, index) => {
    const [dataset, workspaceId] = [scope(index + 1, 1), scope(index + 1, 2)];
    return `series = sipHash128({tag:UUID}, ${dataset}, ${workspaceId})`;
  });
  return `(${series.join(" OR ")})`;
}
