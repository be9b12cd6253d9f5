import { z } from "zod";
import { printable } from "../framework/output.ts";

const errorsSchema = z
  .array(z.object({ message: z.string(), position: z.int().min(0), length: z.int().min(0) }))
  .min(1);
type QueryError = z.infer<typeof errorsSchema>[number];

/** How much of a long query is shown before and after an error, in characters. */
const AROUND = 60;

/**
 * What is wrong with a query of the search language, each error with its part of the query underlined.
 * @param errors the member `errors` of a 400. @returns undefined where it has another shape.
 */
export function formatQueryErrors(query: string, errors: unknown): string | undefined {
  const parsed = errorsSchema.safeParse(errors);
  if (!parsed.success) return undefined;
  return ["the query cannot be run", ...parsed.data.map((error) => formatError(query, error))].join("\n");
}

function formatError(query: string, { message, position, length }: QueryError): string {
  const start = Math.max(0, position - AROUND);
  const end = Math.min(query.length, position + length);
  const before = `${start > 0 ? "..." : ""}${printable(query.slice(start, position))}`;
  const wrong = printable(query.slice(position, end)).slice(0, 2 * AROUND);
  const after = `${printable(query.slice(end, end + AROUND))}${end + AROUND < query.length ? "..." : ""}`;
  const mark = " ".repeat(before.length) + "^".repeat(Math.max(1, wrong.length));
  return [`  ${before}${wrong}${after}`, `  ${mark}`, `  ${printable(message)}`].join("\n");
}
