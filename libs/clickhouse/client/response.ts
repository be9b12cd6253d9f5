import { z } from "zod";
import { IncompleteResponseError } from "./errors.ts";

/** The members of a JSONCompact document that we read. */
const documentSchema = z.object({
  meta: z.array(z.object({ name: z.string() })),
  data: z.custom<readonly (readonly unknown[])[]>(isTable),
  rows: z.int(),
  /** Present when the query failed half-way and the server closed the document all the same. */
  exception: z.undefined().optional(),
});

/** The server writes one row a line, and a line break within a string is always escaped. */
const DATA_START = '\n\t"data":\n\t[\n';
const DATA_END = "\n\t],\n";
const ROW_END = ",\n";

/** Parsed and checked before other requests get their turn. */
const PIECE_CHARACTERS = 32 * 1024;

/**
 * The rows of a response in the format JSONCompact, as objects by column name. A large response comes in pieces, so
 * that its reader can let other requests have their turn in between.
 * @throws IncompleteResponseError after the last piece at the latest, unless the document is complete and holds as many
 * rows as it states: a full disk, a lost connection or a proxy may cut a response whose status was 200, which would
 * read as fewer rows.
 */
export function* responseRows(text: string): Generator<Record<string, unknown>[]> {
  const { start, end } = dataOf(text);
  const { meta, data, rows } = parse(documentSchema, text, () => text.slice(0, start) + text.slice(end));
  const names = meta.map(({ name }) => name);
  let count = data.length;
  if (count > 0) yield data.map((values) => rowOf(names, values));
  for (let from = start; from < end; ) {
    const to = pieceEnd(text, from, end);
    const piece = parse(tableSchema, text, () => `[${text.slice(from, to)}]`);
    count += piece.length;
    yield piece.map((values) => rowOf(names, values));
    from = to + ROW_END.length;
  }
  if (count !== rows) throw new IncompleteResponseError(`the response states ${rows} rows and holds ${count}`);
}

const tableSchema = z.custom<readonly (readonly unknown[])[]>(isTable);

/** Each row is checked against its query's own definition. */
function isTable(value: unknown): boolean {
  return Array.isArray(value) && value.every(Array.isArray);
}

/** Where the rows are in the text of a large response; nowhere in a small one, which is parsed whole. */
function dataOf(text: string): { readonly start: number; readonly end: number } {
  const whole = { start: text.length, end: text.length };
  if (text.length <= PIECE_CHARACTERS) return whole;
  const marker = text.indexOf(DATA_START);
  const start = marker + DATA_START.length;
  const end = text.indexOf(DATA_END, start);
  return marker < 0 || end < 0 ? whole : { start, end };
}

function pieceEnd(text: string, from: number, end: number): number {
  const to = text.indexOf(ROW_END, from + PIECE_CHARACTERS);
  return to < 0 || to > end ? end : to;
}

function rowOf(names: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (const [column, name] of names.entries()) row[name] = values[column];
  return row;
}

function parse<Schema extends z.ZodType>(schema: Schema, text: string, json: () => string): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(json()));
  } catch (error) {
    throw new IncompleteResponseError(`the response is incomplete: it has ${text.length} characters`, { cause: error });
  }
}
