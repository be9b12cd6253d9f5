import type { Bind } from "@noisefloor/clickhouse/client/bound-values.ts";
import type { SetSource } from "./set-sql.ts";

/**
 * The server takes 128 KiB of SQL. Of more sets, those of the same rows are read together, which makes the SQL shorter.
 */
const MAX_SETS_READ_ALONE = 32;
/** The server plans more joins slower than it copies the bitmaps into a map. */
export const MAX_SETS_JOINED = 12;

type NumberedSource = SetSource & { readonly number: number };

/**
 * SQL: a SELECT of one row with a bitmap for each set, in the columns `set0`, `set1` and so on. Few bitmaps are joined,
 * which copies none of them: for those with `before` there are `earlier0` and so on, too.
 */
export function readBitmapsSql(sources: readonly SetSource[], bind: Bind): string {
  if (sources.length > MAX_SETS_JOINED) {
    const columns = sources.map((_, number) => `sets[${number}] AS set${number}`).join(", ");
    return `SELECT ${columns} FROM (
      SELECT mapFromArrays(groupArray(number), groupArray(addresses)) AS sets FROM (${readSetsSql(sources, bind)}))`;
  }
  const read = sources.map((source, number) => {
    const earlier = source.before === undefined ? "" : `, ${earlierSql(source.before)} AS earlier${number}`;
    return `(SELECT ${BITMAP} AS set${number}${earlier} ${fromSql(source)}) AS read${number}`;
  });
  return `SELECT * FROM ${read.join(", ")}`;
}

/**
 * SQL: a SELECT with a row for each set that has addresses: the set's `number`, from 0 in the order given, and a bitmap
 * of its `addresses`. Sets for which the same rows are read share that reading.
 */
export function readSetsSql(sources: readonly SetSource[], bind: Bind): string {
  const groups = new Map<string, NumberedSource[]>();
  const areFew = sources.filter(({ reading }) => reading === "range").length <= MAX_SETS_READ_ALONE;
  for (const [number, source] of sources.entries()) {
    const isAlone = source.reading === "range" && areFew;
    const key = isAlone ? String(number) : `${source.rows} ${source.text}`;
    groups.set(key, [...(groups.get(key) ?? []), { ...source, number }]);
  }
  return [...groups.values()].map((group) => groupSql(group, bind)).join(" UNION ALL ");
}

const BITMAP = "groupBitmapState(toUInt32(source_ip))";
const earlierSql = (before: string) => `groupBitmapStateIf(toUInt32(source_ip), last_seen < ${before})`;

/** SQL: the rows of one set. */
function fromSql(set: SetSource): string {
  const { rows, reading, condition } = set;
  const isIn =
    reading === "values"
      ? `value IN (SELECT value FROM (SELECT DISTINCT value FROM ${rows}) WHERE ${condition()})`
      : condition();
  return `FROM ${rows} AND ${isIn}`;
}

/**
 * SQL: a SELECT with a row for each set: its `number`, how many `rows` its reading has, and how many `addresses` it has.
 */
export const countRowsSql = (sources: readonly SetSource[]): string =>
  sources
    .map((set, number) => {
      const [isIn, from] = set.reading === "range" ? ["1", fromSql(set)] : [set.condition(), `FROM ${set.rows}`];
      return `SELECT ${number} AS number, count() AS rows, uniqExactIf(source_ip, ${isIn}) AS addresses ${from}`;
    })
    .join(" UNION ALL ");

function groupSql(group: readonly NumberedSource[], bind: Bind): string {
  const [first, second] = group;
  if (first === undefined) throw new RangeError("a group has sets");
  if (second === undefined) return `SELECT ${first.number} AS number, ${BITMAP} AS addresses ${fromSql(first)}`;
  const rows =
    first.reading === "values"
      ? `SELECT source_ip, number FROM (SELECT source_ip, value FROM ${first.rows}) AS row
          INNER JOIN (${matchedWordsSql(first, group, bind)}) AS matched ON row.value = matched.value`
      : `SELECT source_ip, ${matchedSql(group)} AS number FROM ${first.rows}`;
  return `SELECT number, ${BITMAP} AS addresses FROM (${rows}) GROUP BY number`;
}

/** SQL: a row for each set whose condition holds. */
function matchedSql(group: readonly NumberedSource[]): string {
  const numbers = group.map(({ number }) => number);
  const conditions = group.map(({ condition }) => `(${condition()})`).join(", ");
  return `arrayJoin(arrayFilter((number, isIn) -> isIn, [${numbers}], [${conditions}]))`;
}

/**
 * SQL: the values that have the words of a set, each with the set's number. Hundreds of sets are one expression, which
 * looks each word of a value up: to prepare a condition takes the server milliseconds.
 */
function matchedWordsSql({ rows, text }: SetSource, group: readonly NumberedSource[], bind: Bind): string {
  const wanted = group.map(({ words = [] }) => words.join(" "));
  const lengths = [...new Set(group.map(({ words = [] }) => words.length))];
  const sequences = lengths.map(
    (length) => `arrayMap(first -> arrayStringConcat(arraySlice(words, first, ${length}), ' '),
      range(1, greatest(1, toInt64(length(words)) + ${2 - length})))`,
  );
  return `SELECT value, transform(arrayJoin(arrayConcat(${sequences.join(", ")})), ${bind("Array(String)", wanted)},
        [${group.map(({ number }) => `toInt32(${number})`)}], toInt32(-1)) AS number
      FROM (SELECT value, extractAll(${text}, '${WORD}') AS words FROM (SELECT DISTINCT value FROM ${rows}))
      WHERE number >= 0`;
}

const WORD = String.raw`[\\pL\\pM\\pN]+`;
