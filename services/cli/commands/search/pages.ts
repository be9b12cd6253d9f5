import { z } from "zod";
import type { CommandContext } from "../../framework/command.ts";
import { printable } from "../../framework/output.ts";
import { progressBar } from "../../framework/progress.ts";
import type { QueryClient } from "../../query-client/client.ts";
import { pageSizeFor } from "./page-size.ts";

/** A search as the command line asks for it. */
export type Search = {
  readonly client: QueryClient;
  readonly query: string;
  readonly days: number | undefined;
  /** At most this many addresses, or entries a list. */
  readonly limit: number | undefined;
};

const metadataSchema = z.object({ count: z.int(), scroll: z.string(), adjusted_query: z.string() });
const validationSchema = z.object({ warnings: z.array(z.string()) });

export type Listed = { readonly listed: number; readonly matching: number };

/**
 * Reads the matches page by page, so that memory does not grow with their number.
 * @param path of a call that answers pages: `/v3/gnql` or `/v3/gnql/metadata`.
 * @param onRows called once a page with its rows, in order.
 */
export async function readPages<Row extends z.ZodType>(
  { client, query, days, limit = Number.POSITIVE_INFINITY }: Search,
  path: string,
  row: Row,
  onRows: (rows: readonly z.output<Row>[]) => void,
  context: CommandContext,
): Promise<Listed> {
  const pageSchema = z.object({ request_metadata: metadataSchema, data: z.array(row) });
  const size = pageSizeFor(limit);
  let progress: ReturnType<typeof progressBar> | undefined;
  let listed = 0;
  try {
    for (let scroll: string | undefined; ; ) {
      const parameters = { query, days, size, scroll };
      const { request_metadata: page, data } = await client.ask({ path, parameters, query }, pageSchema);
      if (progress === undefined) warnOfAdjusted(page.adjusted_query, context);
      progress ??= progressBar("Reading", Math.min(page.count, limit), context.settings.logLevel !== "silent");
      const rows = data.slice(0, limit - listed);
      onRows(rows);
      listed += rows.length;
      progress.advance(rows.length);
      if (page.scroll === "" || listed >= limit) return { listed, matching: page.count };
      scroll = page.scroll;
    }
  } finally {
    progress?.end();
  }
}

/** On standard error: the result is of less than was asked for. */
export function warnOfAdjusted(adjusted: string, { log }: Pick<CommandContext, "log">): void {
  if (adjusted === "") return;
  log.warn(`the query was adjusted; what ran: ${printable(adjusted)}`);
}

/** A query of a tag that does not exist is right and finds nothing: says so. */
export async function warnOfNothing({ client, query }: Search, { log }: Pick<CommandContext, "log">): Promise<void> {
  const question = { method: "POST", path: "/v3/gnql/validate", body: { query } } as const;
  const { warnings } = await client.ask(question, validationSchema);
  for (const warning of warnings) log.warn(printable(warning));
}
