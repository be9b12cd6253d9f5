/** A line of a CSV file, RFC 4180, with its line end. */
export function formatCsvLine(fields: readonly string[]): string {
  return `${formatCsvFields(fields)}\r\n`;
}

/** The same without the line end. */
export function formatCsvFields(fields: readonly string[]): string {
  return fields.map(formatCsvField).join(",");
}

/** Spreadsheets run a text that begins like a formula, so an apostrophe is put before it. */
function formatCsvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
