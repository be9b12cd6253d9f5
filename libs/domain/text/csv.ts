/** A line of a CSV file, RFC 4180, with its line end. */
export function formatCsvLine(fields: readonly string[]): string {
  return `${formatCsvFields(fields)}\r\n`;
}

/** The same without the line end. */
export function formatCsvFields(fields: readonly string[]): string {
  return fields.map(formatCsvField).join(",");
}

/**
 * Where a cell may begin that a spreadsheet would run as a formula: some read a file with another separator than the
 * comma, and then a field of ours is several cells.
 */
const FORMULA = /(^|[,;\t\r\n])([\s"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;

/** An apostrophe before a formula makes it a text. */
function formatCsvField(text: string): string {
  const safe = text.replace(FORMULA, "$1$2'");
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
