import { createHash } from "node:crypto";

/** A row of `schema_migrations`. */
type AppliedRow = { readonly version: number; readonly name: string; readonly checksum: string };

/** The last commit that spread the same tables over 40 migrations. */
export const PREDECESSOR = "364d0e69";
/** Our migrations up to this one make the tables that it had. */
export const PREDECESSOR_VERSION = 12;
/** SHA-256 of the names and checksums of those. */
const DIGEST = "8a96c0cf1bc04efe11bbca83415bbc0240f5c9356ec1fa8b83cb46d8e88d7533";

/** The tables of earlier versions that are no more; the view `<table>_mv` filled each. */
export const RETIRED_TABLES: readonly string[] = ["tag_samples", "address_networks", "scope_tags", "address_values"];

/** How a migration is called in errors. */
export const labelOf = ({ version, name }: Omit<AppliedRow, "checksum">) =>
  `${String(version).padStart(4, "0")}_${name}`;

/** Whether a database has the migrations of the predecessor, all of them and no other. @param rows by version. */
export function matchesPredecessor(rows: readonly AppliedRow[]): boolean {
  const hash = createHash("sha256");
  for (const row of rows) hash.update(`${labelOf(row)} ${row.checksum}\n`);
  return hash.digest("hex") === DIGEST;
}

/**
 * The statements after which a predecessor's database takes our migrations. After the last one it has none on record;
 * as they create what is missing alone, they can be applied to it also when a crash comes between.
 */
export const ADOPTION: readonly string[] = [
  // The views first: an insert fails while a view has no table.
  ...RETIRED_TABLES.map((table) => `DROP VIEW IF EXISTS ${table}_mv SYNC`),
  ...RETIRED_TABLES.map((table) => `DROP TABLE IF EXISTS ${table} SYNC`),
  "TRUNCATE TABLE schema_migrations",
];
