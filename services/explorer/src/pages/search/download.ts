import { formatCsvLine } from "@noisefloor/domain/text/csv.ts";
import type { SearchPage } from "../../api/operations.ts";
import { saveFile } from "../../shell/save-file.ts";

export const FORMATS = ["CSV", "NDJSON"] as const;
type Format = (typeof FORMATS)[number];
type Row = SearchPage["data"][number];

/** The most that a page of the API has. */
const PAGE_SIZE = 10_000;
const COLUMNS = ["ip", "classification", "first_seen", "last_seen", "tags", "cves", "asn", "organization", "country"];

/**
 * Saves all matches as a file.
 * @param readPage the page after a token of the page before, empty for the first.
 * @returns how many were saved.
 */
export async function downloadMatches(
  format: Format,
  readPage: (scroll: string, size: number) => Promise<SearchPage>,
  onProgress: (done: number, total: number) => void,
): Promise<number> {
  const lines: string[] = format === "CSV" ? [formatCsvLine(COLUMNS)] : [];
  let saved = 0;
  let scroll = "";
  do {
    const { data, request_metadata: page } = await readPage(scroll, PAGE_SIZE);
    for (const row of data) lines.push(format === "CSV" ? toCsvLine(row) : `${JSON.stringify(row)}\n`);
    saved += data.length;
    onProgress(saved, page.count);
    scroll = page.scroll;
  } while (scroll !== "");
  const type = format === "CSV" ? "text/csv" : "application/x-ndjson";
  saveFile(`addresses.${format.toLowerCase()}`, new Blob(lines, { type }));
  return saved;
}

function toCsvLine({ ip, internet_scanner_intelligence: scanner }: Row): string {
  const metadata = scanner.metadata !== undefined && "asn" in scanner.metadata ? scanner.metadata : undefined;
  const fields = [
    ip,
    scanner.classification ?? "",
    scanner.first_seen ?? "",
    scanner.last_seen_timestamp ?? "",
    (scanner.tags ?? []).map(({ slug }) => slug).join(" "),
    (scanner.cves ?? []).join(" "),
    metadata?.asn ?? "",
    metadata?.organization ?? "",
    metadata?.source_country_code ?? "",
  ];
  return formatCsvLine(fields);
}
