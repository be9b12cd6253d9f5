import type { RawFile } from "./raw/count-raw.ts";
import type { Replayed } from "./replay-file.ts";

export type Comparison = {
  /** The cells of the table, by column. */
  readonly row: Readonly<Record<string, string | number>>;
  /** Differences that neither a rejection nor a documented limit explains. */
  readonly silent: readonly string[];
};

/** Compares what a file's raw records say with what its replay has stored. */
export function compare(file: string, raw: RawFile, replayed: Replayed): Comparison {
  const { read, accepted, rejected, reasons, ignored, stored, callbacks } = replayed;
  const ignoredRecords = Object.values(ignored).reduce((sum, records) => sum + records, 0);
  const silent: string[] = [];
  if (read !== accepted + rejected + ignoredRecords) {
    silent.push(`read ${read}, but ${accepted} accepted, ${rejected} rejected, ${ignoredRecords} ignored`);
  }
  if (raw.format === undefined) silent.push("no counter knows its records");
  const counts = raw.counts.map(({ name, raw: inFile, expected }) => {
    const inStore = stored[name];
    if (inStore === expected) {
      return [name, inFile === inStore ? String(inFile) : `${inFile} raw, ${inStore} (explained)`] as const;
    }
    const isTold = rejected > 0 && inStore < expected;
    if (!isTold) silent.push(`${name}: ${expected} expected, ${inStore} stored`);
    return [name, `${expected} expected, ${inStore} ${isTold ? "(rejected)" : "DIFFERENT"}`] as const;
  });
  const row = {
    file,
    format: raw.format ?? "?",
    read,
    accepted,
    rejected: withReasons(rejected, reasons),
    ignored: withReasons(ignoredRecords, ignored),
    rows: stored.rows,
    // Accepted, and no row of their own: they joined a session, or equal another record to the byte.
    joined: accepted - stored.rows,
    ...Object.fromEntries(counts),
    ...Object.fromEntries(
      callbacks.map(({ named_in, addresses, names, visitors, files }) => [
        `called in ${named_in}`,
        `${addresses} addresses and ${names} names by ${visitors} visitors, ${files} files`,
      ]),
    ),
    explained: raw.reasons.join("; "),
  };
  return { row, silent };
}

function withReasons(count: number, reasons: Readonly<Record<string, number>>): string {
  const each = Object.entries(reasons).map(([reason, records]) => `${reason} ${records}`);
  return each.length === 0 ? String(count) : `${count} (${each.join(", ")})`;
}
