import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { numberToIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { z } from "zod";
import type { FoundAddresses } from "../search-questions.ts";
import { COLUMNS, SEPARATOR } from "./search-rows.ts";

/** DuckDB with each value of each address, sorted by value, and when an address was last seen. */
export type DuckDbSearch = {
  /** @param condition SQL over the columns `ip` and `last_seen`. */
  ask(condition: string): Promise<FoundAddresses>;
  close(): Promise<void>;
};

const foundSchema = z.tuple([z.coerce.number(), z.string().nullable()]);

/** @param rows the file of `search-rows.ts`. @param limit how many addresses are listed. */
export async function openDuckDbSearch(rows: string, limit: number): Promise<DuckDbSearch> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-duckdb-"));
  const database = await DuckDBInstance.create(join(folder, "rows.duckdb"));
  const connection = await database.connect();
  const columns = COLUMNS.map((name) => `'${name}': '${name === "last_seen" ? "BIGINT" : "VARCHAR"}'`).join(", ");
  const number = [0, 1, 2, 3]
    .map((part) => `split_part(ip, '.', ${part + 1})::UINTEGER * ${256 ** (3 - part)}`)
    .join(" + ");
  await connection.run(`CREATE TEMP TABLE documents AS SELECT * REPLACE ((${number})::UINTEGER AS ip)
    FROM read_csv('${rows}', delim = '\t', header = false, quote = '', escape = '', nullstr = '', columns = {${columns}})`);
  await connection.run("CREATE TABLE addresses AS SELECT ip, last_seen FROM documents ORDER BY ip");
  const facts = COLUMNS.filter((name) => name !== "ip" && name !== "last_seen").map(
    (name) => `SELECT '${name}' AS field, unnest(string_split(${name}, '${SEPARATOR}')) AS value, ip FROM documents`,
  );
  await connection.run(`CREATE TABLE facts AS SELECT * FROM (${facts.join(" UNION ALL ")}) ORDER BY field, value, ip`);
  await connection.run("DROP TABLE documents");
  return {
    async ask(condition) {
      const reader =
        await connection.runAndReadAll(`WITH found AS MATERIALIZED (SELECT ip FROM addresses WHERE ${condition})
        SELECT (SELECT count(*) FROM found),
          (SELECT string_agg(ip::VARCHAR, ',' ORDER BY ip) FROM (SELECT ip FROM found ORDER BY ip LIMIT ${limit}))`);
      const [count, first] = foundSchema.parse(reader.getRows()[0]);
      return { count, first: first === null ? [] : first.split(",").map((ip) => numberToIpv4(Number(ip))) };
    },
    async close() {
      connection.closeSync();
      database.closeSync();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
