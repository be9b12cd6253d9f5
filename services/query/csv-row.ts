import { formatCsvLine } from "@noisefloor/domain/text/csv.ts";

/** An address as lists have it. Times are RFC 3339 in UTC; texts that are not known are empty. */
export type ListedAddress = {
  readonly ip: string;
  readonly first_seen: string;
  readonly last_seen: string;
  readonly classification: string;
  /** Slugs. */
  readonly tags: readonly string[];
  /** Like `AS64500`. */
  readonly asn: string;
  readonly organization: string;
  /** ISO 3166's code of two letters. */
  readonly country: string;
};

export const CSV_COLUMNS = [
  "ip",
  "first_seen",
  "last_seen",
  "classification",
  "tags",
  "asn",
  "organization",
  "country",
] as const satisfies readonly (keyof ListedAddress)[];

export const CSV_HEADER = formatCsvLine(CSV_COLUMNS);

/** Its fields in the order of {@link CSV_COLUMNS}: slugs have no spaces, so that a space separates them. */
export function toCsvFields(address: ListedAddress): string[] {
  return CSV_COLUMNS.map((column) => (column === "tags" ? address.tags.join(" ") : address[column]));
}

export const toCsvRow = (address: ListedAddress): string => formatCsvLine(toCsvFields(address));
