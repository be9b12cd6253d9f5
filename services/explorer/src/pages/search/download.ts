import { CSV_HEADER, listSearched, toCsvRow } from "@noisefloor/domain/feeds/listed-address.ts";
import type { SearchPage } from "../../api/operations.ts";
import { saveFile } from "../../shell/save-file.ts";

export const FORMATS = ["CSV", "NDJSON"] as const;
type Format = (typeof FORMATS)[number];

/** The most that a page of the API has. */
const PAGE_SIZE = 10_000;

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
  const lines: string[] = format === "CSV" ? [CSV_HEADER] : [];
  let saved = 0;
  let scroll = "";
  do {
    const { data, request_metadata: page } = await readPage(scroll, PAGE_SIZE);
    for (const row of data) lines.push(format === "CSV" ? toCsvRow(listSearched(row)) : `${JSON.stringify(row)}\n`);
    saved += data.length;
    onProgress(saved, page.count);
    scroll = page.scroll;
  } while (scroll !== "");
  const type = format === "CSV" ? "text/csv" : "application/x-ndjson";
  saveFile(`addresses.${format.toLowerCase()}`, new Blob(lines, { type }));
  return saved;
}
