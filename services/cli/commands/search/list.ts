import { CSV_COLUMNS, listSearched, toCsvFields } from "@noisefloor/domain/feeds/listed-address.ts";
import { formatCsvFields } from "@noisefloor/domain/text/csv.ts";
import { z } from "zod";
import type { CommandContext } from "../../framework/command.ts";
import { printable, show } from "../../framework/output.ts";
import { type Listed, readPages, type Search, warnOfNothing } from "./pages.ts";

const METADATA_PATH = "/v3/gnql/metadata";
const rowSchema = z.object({
  ip: z.string(),
  internet_scanner_intelligence: z.object({
    classification: z.string(),
    spoofable: z.boolean(),
    first_seen: z.string(),
    last_seen_timestamp: z.string(),
    tags: z.array(z.object({ slug: z.string() })),
    metadata: z.object({
      asn: z.string().optional(),
      organization: z.string().optional(),
      source_country: z.string().optional(),
      source_country_code: z.string().optional(),
    }),
  }),
});
type Row = z.output<typeof rowSchema>;

const DEFAULT_ROWS = 25;
/** A terminal has no space for more of a text. */
const MAX_SHOWN = 48;

/** For people: the first matches, and how many there are. */
export async function listAsTable(search: Search, context: CommandContext): Promise<void> {
  const rows: Row[] = [];
  const limited = { ...search, limit: search.limit ?? DEFAULT_ROWS };
  const found = await readPages(limited, METADATA_PATH, rowSchema, (more) => rows.push(...more), context);
  if (rows.length > 0) show(rows.map(toTableRow), { json: false }, context);
  context.print(formatFound(found));
  if (found.matching === 0) await warnOfNothing(search, context);
}

function formatFound({ listed, matching }: Listed): string {
  if (matching === 0) return "No address matches.";
  const count = matching === 1 ? "1 address matches" : `${matching} addresses match`;
  return listed < matching ? `${count}; these are ${listed}: --limit, --csv or --json list more.` : `${count}.`;
}

function toTableRow(row: Row) {
  const { ip, classification, tags, country, organization } = listSearched(row);
  return {
    address: ip,
    ...{ classification, last_seen: row.internet_scanner_intelligence.last_seen_timestamp.slice(0, 16) },
    tags: cut(tags.join(" ")),
    country,
    organization: cut(organization),
  };
}

const cut = (text: string) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 3)}...` : text);

/** Each match with all that is known of it, an object a line. */
export async function listAsJson(search: Search, context: CommandContext): Promise<void> {
  const printAll = (rows: readonly unknown[]) => {
    for (const row of rows) context.print(JSON.stringify(row));
  };
  const { matching } = await readPages(search, "/v3/gnql", z.unknown(), printAll, context);
  if (matching === 0) await warnOfNothing(search, context);
}

/**
 * All matches with the columns of every list, as the API's CSV has them but for `first_seen`, which is a day: rows of
 * pages have no more. A terminal gets control characters escaped.
 */
export async function listAsCsv(search: Search, context: CommandContext): Promise<void> {
  const { print, isTerminal } = context;
  const printFields = (fields: readonly string[]) =>
    print(formatCsvFields(isTerminal ? fields.map(printable) : fields));
  printFields(CSV_COLUMNS);
  const printAll = (rows: readonly Row[]) => {
    for (const row of rows) printFields(toCsvFields(listSearched(row)));
  };
  const { matching } = await readPages(search, METADATA_PATH, rowSchema, printAll, context);
  if (matching === 0) await warnOfNothing(search, context);
}
