import type { SetSource } from "./set-sql.ts";

/**
 * The server takes 128 KiB of SQL. Of more sets, those of one source are read together, which makes the SQL shorter.
 */
const MAX_SETS_READ_ALONE = 32;

type NumberedSource = SetSource & { readonly number: number };

/**
 * SQL: a SELECT with a row for each set that has addresses: the set's `number`, from 0 in the order given, and a bitmap
 * of its `addresses`. Sets for which all rows of a source are read share that reading.
 */
export function readSetsSql(sources: readonly SetSource[]): string {
  const groups = new Map<string, NumberedSource[]>();
  const areFew = sources.filter(({ reading }) => reading !== "rows").length <= MAX_SETS_READ_ALONE;
  for (const [number, source] of sources.entries()) {
    const isAlone = source.reading !== "rows" && areFew;
    const key = isAlone ? String(number) : source.source;
    groups.set(key, [...(groups.get(key) ?? []), { ...source, number }]);
  }
  return [...groups.values()].map(groupSql).join(" UNION ALL ");
}

const ADDRESSES = "groupBitmapState(toUInt32(source_ip)) AS addresses";

function groupSql(group: readonly NumberedSource[]): string {
  const [first, second] = group;
  if (first === undefined) throw new RangeError("a group has sets");
  const { source } = first;
  const values = `SELECT DISTINCT value FROM (${source})`;
  if (second === undefined) {
    const { number, reading, condition } = first;
    const isIn = reading === "values" ? `value IN (SELECT value FROM (${values}) WHERE ${condition})` : condition;
    return `SELECT ${number} AS number, ${ADDRESSES} FROM (${source}) WHERE ${isIn}`;
  }
  const conditions = group.map(({ condition }) => `(${condition})`).join(", ");
  const number = `arrayJoin(arrayFilter((number, isIn) -> isIn, [${group.map(({ number }) => number)}], [${conditions}])) AS number`;
  const rows = group.some(({ reading }) => reading === "values")
    ? `SELECT source_ip, number FROM (${source}) AS row
        INNER JOIN (SELECT value, ${number} FROM (${values})) AS matched ON row.value = matched.value`
    : `SELECT source_ip, ${number} FROM (${source})`;
  return `SELECT number, ${ADDRESSES} FROM (${rows}) GROUP BY number`;
}
