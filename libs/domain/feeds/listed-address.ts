import { formatCsvLine } from "../text/csv.ts";
import { formatTimestamp } from "../time/window.ts";

/** An address as lists have it. Times are RFC 3339 in UTC; texts that are not known are empty. */
export type ListedAddress = {
  readonly ip: string;
  /** A time, or its UTC day alone where a list is made of rows of a search, which have no more. */
  readonly first_seen: string;
  readonly last_seen: string;
  readonly classification: string;
  /** Slugs. */
  readonly tags: readonly string[];
  /** Like `AS64500`. */
  readonly asn: string;
  readonly organization: string;
  /** The two letters of ISO 3166. */
  readonly country: string;
  /** Whether it could be forged: no observation shows that it received what was sent to it. */
  readonly spoofable: boolean;
};

/**
 * An address as it is stored. Times are milliseconds since 1970 UTC; an unknown one is undefined, an unknown network 0.
 */
type StoredAddress = Omit<ListedAddress, "first_seen" | "last_seen" | "asn"> & {
  readonly firstSeen: number | undefined;
  readonly lastSeen: number | undefined;
  readonly asn: number;
};

/** Its members, in this order, are those of lists in JSON, too. */
export function listStored({ firstSeen, lastSeen, asn, ...stored }: StoredAddress): ListedAddress {
  return {
    ip: stored.ip,
    first_seen: firstSeen === undefined ? "" : formatTimestamp(firstSeen),
    last_seen: lastSeen === undefined ? "" : formatTimestamp(lastSeen),
    classification: stored.classification,
    tags: stored.tags,
    asn: asn === 0 ? "" : `AS${asn}`,
    organization: stored.organization,
    country: stored.country,
    spoofable: stored.spoofable,
  };
}

export const CSV_COLUMNS = [
  "ip",
  "first_seen",
  "last_seen",
  "classification",
  "tags",
  "asn",
  "organization",
  "country",
  "spoofable",
] as const satisfies readonly (keyof ListedAddress)[];

/** Its fields in the order of {@link CSV_COLUMNS}: slugs have no spaces, so that a space separates them. */
export function toCsvFields(address: ListedAddress): string[] {
  return CSV_COLUMNS.map((column) => (column === "tags" ? address.tags.join(" ") : String(address[column])));
}

export const CSV_HEADER = formatCsvLine(CSV_COLUMNS);
export const toCsvRow = (address: ListedAddress): string => formatCsvLine(toCsvFields(address));

/** What lists show of a row of `GET /v3/gnql/metadata`. Members that the API leaves out are not known. */
export type SearchedRow = {
  readonly ip: string;
  readonly internet_scanner_intelligence: {
    readonly classification?: string | undefined;
    readonly spoofable?: boolean | undefined;
    /** A UTC day. */
    readonly first_seen?: string | undefined;
    /** Like `2026-11-20 17:01:34`, in UTC. */
    readonly last_seen_timestamp?: string | undefined;
    readonly tags?: readonly { readonly slug?: string | undefined }[] | undefined;
    readonly metadata?:
      | {
          readonly asn?: string | undefined;
          readonly organization?: string | undefined;
          readonly source_country_code?: string | undefined;
        }
      | undefined;
  };
};

export function listSearched({ ip, internet_scanner_intelligence: scanner }: SearchedRow): ListedAddress {
  const { classification = "", spoofable = false, tags = [], metadata } = scanner;
  const { first_seen = "", last_seen_timestamp: last = "" } = scanner;
  return {
    ip,
    first_seen,
    last_seen: last === "" ? "" : `${last.replace(" ", "T")}Z`,
    classification,
    tags: tags.flatMap(({ slug }) => slug ?? []).toSorted(),
    asn: metadata?.asn ?? "",
    organization: metadata?.organization ?? "",
    country: metadata?.source_country_code ?? "",
    spoofable,
  };
}
