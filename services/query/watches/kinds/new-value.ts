import { numberColumn, wideNumbers } from "@noisefloor/clickhouse/client/native.ts";
import { defineQuery } from "@noisefloor/clickhouse/client/query.ts";
import { type NewsField, type NewsValues, valueHash } from "@noisefloor/clickhouse/watches/news.ts";
import { GLOBAL_SCOPE } from "@noisefloor/domain/access/scope.ts";
import { ATTACK_TAG_ID } from "@noisefloor/domain/tags/attack.ts";
import { NIL_TAG_ID } from "@noisefloor/domain/tags/nil-tag.ts";
import { retentionStart } from "@noisefloor/domain/time/window.ts";
import { MAX_LISTED, type NewValueField } from "@noisefloor/domain/watches/watch.ts";
import { z } from "zod";
import type { LookupDeps } from "../../address/store-lookup.ts";
import { allRows, facetRows, scopesParam } from "../../scope-sql.ts";
import type { SearchDeps } from "../../search/search.ts";
import { nameSome } from "./describe-addresses.ts";
import type { Finding, IsTold, Watching } from "./kind.ts";
import { hashOf } from "./sensor-silent.ts";

type ValueDeps = Pick<SearchDeps, "catalogue"> & LookupDeps;

/** Values of the store that a field's values are made of: a CVE is named by tags. */
export const STORED_AS: Readonly<Record<NewValueField, NewsField>> = {
  "raw_data.http.path": "path",
  cve: "tag",
  tags: "tag",
};

/** A value as a watch tells of it, what identifies it, and the values of the store that have it. */
type FieldValue = { readonly value: string; readonly subject: number; readonly stored: readonly string[] };

/** The values of a field that some values of the store stand for. Tags that no longer exist stand for none. */
function valuesOf(
  field: NewValueField,
  stored: Iterable<readonly [string, number]>,
  { catalogue }: ValueDeps,
): ReadonlyMap<number, FieldValue> {
  const values = new Map<number, FieldValue>();
  for (const [value, subject] of stored) {
    if (field === "raw_data.http.path") {
      values.set(subject, { value, subject, stored: [value] });
      continue;
    }
    if (value === ATTACK_TAG_ID || value === NIL_TAG_ID) continue;
    const tag = catalogue.byId(value);
    if (tag === undefined) continue;
    if (field === "tags") values.set(subject, { value: tag.slug, subject, stored: [value] });
    else
      for (const cve of tag.cves) {
        const number = hashOf(cve);
        values.set(number, { value: cve, subject: number, stored: tagsOfCve(cve, catalogue) });
      }
  }
  return values;
}

const tagsOfCve = (cve: string, catalogue: ValueDeps["catalogue"]): readonly string[] =>
  catalogue.all().flatMap(({ id, cves }) => (cves.includes(cve) ? [id] : []));

const storedValues = (field: NewsField) =>
  defineQuery({
    name: "watch-stored-values",
    sql: `SELECT ${field === "path" ? "CAST([], 'Array(String)')" : "groupArray(value)"} AS texts, groupArray(hash) AS hashes
      FROM (SELECT DISTINCT value, ${valueHash("value")} AS hash FROM ${facetRows(field, 1)})`,
    combine: allRows,
    params: z.object({ scopes: scopesParam, from: z.int() }),
    row: z.object({ texts: z.array(z.string()).readonly(), hashes: wideNumbers }),
    format: "Native",
  });

/** What identifies the values of a field that are stored now. */
export async function readStoredValues(
  field: NewValueField,
  deps: ValueDeps,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const from = retentionStart(deps.now(), deps.retentionDays());
  const rows = await deps.read(storedValues(STORED_AS[field]), { scopes: [GLOBAL_SCOPE], from }, signal);
  if (field === "raw_data.http.path") return rows.flatMap(({ hashes }) => hashes);
  const pairs = rows.flatMap(({ texts, hashes }) => texts.map((text, index) => [text, hashes[index] ?? 0] as const));
  return [...valuesOf(field, pairs, deps).keys()];
}

const addressesOf = (field: NewsField) =>
  defineQuery({
    name: "watch-value-addresses",
    // By the number of each wanted value, as one may be made of several.
    sql: `SELECT groupArray(number) AS numbers, groupArray(addresses) AS addresses FROM (
        SELECT arrayJoin(arrayFilter((number, values) -> has(values, value), arrayEnumerate({wanted:Array(Array(String))}),
          {wanted:Array(Array(String))})) AS number, toUInt32(uniqExact(source_ip)) AS addresses
        FROM ${facetRows(field, 1)} AND value IN arrayFlatten({wanted:Array(Array(String))})
        GROUP BY number)`,
    combine: allRows,
    params: z.object({ scopes: scopesParam, from: z.int(), wanted: z.array(z.array(z.string())) }),
    row: z.object({ numbers: numberColumn, addresses: numberColumn }),
    format: "Native",
  });

/** A parameter's text must stay below the server's 128 KiB. */
const MAX_CHARACTERS = 60_000;

/** How many distinct addresses each value has in the retention. */
async function countAddresses(
  field: NewValueField,
  values: readonly FieldValue[],
  deps: ValueDeps,
  signal: AbortSignal,
) {
  const from = retentionStart(deps.now(), deps.retentionDays());
  const counts = new Map<FieldValue, number>();
  for (let start = 0; start < values.length; ) {
    let [end, characters] = [start, 0];
    do characters += JSON.stringify(values[end++]?.stored).length;
    while (end < values.length && characters + JSON.stringify(values[end]?.stored).length < MAX_CHARACTERS);
    const wanted = values.slice(start, end);
    const query = addressesOf(STORED_AS[field]);
    const params = { scopes: [GLOBAL_SCOPE], from, wanted: wanted.map(({ stored }) => [...stored]) };
    for (const { numbers, addresses } of await deps.read(query, params, signal)) {
      for (const [index, number] of numbers.entries()) {
        const value = wanted[number - 1];
        // Each server counts its own addresses.
        if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + (addresses[index] ?? 0));
      }
    }
    start = end;
  }
  return counts;
}

/** The values among those that were stored which were not there before, and that enough addresses have. */
export async function findNewValues(
  { watch }: Watching<"new_value">,
  news: readonly NewsValues[],
  isTold: IsTold,
  deps: ValueDeps,
  signal: AbortSignal,
): Promise<Finding | undefined> {
  const { field, min_addresses } = watch.on;
  const at = deps.now() / 1_000;
  const name = `${STORED_AS[field]} ${GLOBAL_SCOPE.dataset} `;
  const stored = new Map<string, number>();
  for (const { names, values, hashes } of news) {
    for (const [index, value] of values.entries()) if (names[index] === name) stored.set(value, hashes[index] ?? 0);
  }
  const once = { ...watch, repeatAfterHours: 0 };
  const candidates = [...valuesOf(field, stored, deps).values()].filter(({ subject }) => !isTold(once, subject, at));
  if (candidates.length === 0) return undefined;
  const counts = await countAddresses(field, candidates, deps, signal);
  const found = candidates
    .map((each) => ({ ...each, addresses: counts.get(each) ?? 0 }))
    .filter(({ addresses }) => addresses >= min_addresses)
    .sort((one, other) => other.addresses - one.addresses || (one.value < other.value ? -1 : 1));
  if (found.length === 0) return undefined;
  const named = nameSome(found.map(({ value }) => value));
  return {
    watch,
    subjects: new Map(found.map(({ subject }) => [subject, Math.floor(at)])),
    describe: async () => ({
      type: "new_value",
      summary: `${found.length === 1 ? "A value" : `${found.length} values`} of ${field} never seen before: ${named}`,
      data: {
        field,
        count: found.length,
        truncated: found.length > MAX_LISTED,
        values: found.slice(0, MAX_LISTED).map(({ value, addresses }) => ({ value, addresses })),
      },
    }),
  };
}
