import { z } from "zod";
import { IncompleteAnswerError } from "./errors.ts";

/** The members of a JSONCompact document that we read. */
const documentSchema = z.object({
  meta: z.array(z.object({ name: z.string() })),
  data: z.array(z.array(z.unknown())),
  rows: z.int(),
  /** Present when the query failed half-way and the server closed the document all the same. */
  exception: z.undefined().optional(),
});

/**
 * The rows of an answer in the format JSONCompact, as objects by column name.
 * @throws IncompleteAnswerError unless the document is complete and holds as many rows as it states: a full disk, a
 * lost connection or a proxy may cut an answer whose status was 200, which would read as fewer rows.
 */
export function answerRows(text: string): Record<string, unknown>[] {
  const { meta, data, rows } = readDocument(text);
  if (data.length !== rows) throw new IncompleteAnswerError(`the answer states ${rows} rows and holds ${data.length}`);
  return data.map((values) => Object.fromEntries(meta.map(({ name }, column) => [name, values[column]])));
}

function readDocument(text: string): z.output<typeof documentSchema> {
  try {
    return documentSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new IncompleteAnswerError(`the answer is incomplete: it has ${text.length} characters`, { cause: error });
  }
}
