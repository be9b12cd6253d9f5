import { ParamGroup } from "@noisefloor/clickhouse/client/query.ts";
import { ADDRESS_FACETS } from "@noisefloor/clickhouse/client/table-names.ts";
import type { FacetField } from "@noisefloor/clickhouse/facets/facets.ts";
import { DATASETS, type Scope } from "@noisefloor/domain/access/scope.ts";
import { z } from "zod";

/**
 * The scopes that a query may read, for the condition {@link IN_SCOPES} or, by tag, {@link inSeries}. Every query over
 * observations or their rollups uses one of the two, so that this file decides what a caller may read.
 */
export const scopesParam = z
  .array(z.custom<Scope>())
  .max(DATASETS.length)
  .transform((scopes) => {
    // Beyond the last they are empty, and no row has an empty dataset.
    const params = DATASETS.flatMap((_, index) => [
      [`dataset${index}`, scopes[index]?.dataset ?? ""],
      [`workspace${index}`, scopes[index]?.workspaceId ?? ""],
    ]);
    return new ParamGroup(Object.fromEntries(params));
  });

/** The dataset and the workspace of a scope. To take them out of an array takes the server a millisecond to plan. */
const scope = (index: number) => [`{dataset${index}:String}`, `{workspace${index}:String}`] as const;

/**
 * Whether a row is in one of the scopes.
 *
 * Compares column by column, which the server does once per distinct value. For `(dataset, workspace_id) IN ...` it
 * would make a tuple of every row.
 * @param maxScopes with one scope alone, the server finds the rows in a table's key exactly.
 */
export function inScopes(maxScopes: number): string {
  const conditions = Array.from({ length: maxScopes }, (_, index) => {
    const [dataset, workspace] = scope(index);
    return `(dataset = ${dataset} AND workspace_id = ${workspace})`;
  });
  return `(${conditions.join(" OR ")})`;
}

/** The condition for any number of scopes. */
export const IN_SCOPES = inScopes(DATASETS.length);

/**
 * Whether a row is of {tag:UUID} and in one of the scopes, in a table whose key begins with `series`: to compare one
 * column takes the server less time than to compare three.
 * @param maxScopes each takes the server a while to plan.
 */
export function inSeries(maxScopes: number): string {
  const series = Array.from({ length: maxScopes }, (_, index) => {
    const [dataset, workspace] = scope(index);
    return `series = sipHash128({tag:UUID}, ${dataset}, ${workspace})`;
  });
  return `(${series.join(" OR ")})`;
}

/**
 * SQL after FROM, to which conditions can be added: the rows of facets in the scopes, of addresses that were seen with the
 * value since a time. @param since the parameter that has the time, in milliseconds since 1970 UTC.
 */
export function facetRows(
  fields: FacetField | readonly FacetField[],
  maxScopes: number = DATASETS.length,
  since = "from",
) {
  const isField = typeof fields === "string" ? `= '${fields}'` : `IN (${fields.map((name) => `'${name}'`).join(", ")})`;
  return `${ADDRESS_FACETS} WHERE ${inScopes(maxScopes)} AND field ${isField}
      AND last_seen >= fromUnixTimestamp64Milli({${since}:Int64}, 'UTC')`;
}

/** The rows of several servers' results: all those of an address are in one of them. */
export function allRows(results: string): string {
  return `SELECT * FROM ${results}`;
}
