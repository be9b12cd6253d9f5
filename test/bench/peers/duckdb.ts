import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { DuckDBInstance } from "@duckdb/node-api";
import { z } from "zod";
import type { ActivityAnswer, ActivityQuestion } from "../activity-question.ts";
import type { World } from "../world.ts";
import { GLOBAL } from "./severities.ts";

/** DuckDB with the distinct rows (tag, hour, address) of some tags, sorted by tag and hour. */
export type DuckDb = {
  /** Buckets, total and lists; it holds nothing that would tell classes. */
  ask(question: ActivityQuestion): Promise<ActivityAnswer>;
  close(): Promise<void>;
};

const countsSchema = z.array(z.tuple([z.int(), z.int()]));

export async function openDuckDb({ client, heavy, ordinary, steady }: World): Promise<DuckDb> {
  const folder = await mkdtemp(join(tmpdir(), "noisefloor-duckdb-"));
  const file = join(folder, "rows.parquet");
  const tags = [heavy, ordinary, steady];
  const { stream } = await client.exec({
    query: `SELECT DISTINCT toUInt8(indexOf({tags:Array(UUID)}, arrayJoin(tags))) AS tag,
        toUInt32(toStartOfHour(observed_at, 'UTC')) AS hour, toUInt32(source_ip) AS address
      FROM observations WHERE ${GLOBAL} AND hasAny(tags, {tags:Array(UUID)})
      FORMAT Parquet`,
    query_params: { tags: tags.map(({ id }) => id) },
  });
  await pipeline(stream, createWriteStream(file));
  const database = await DuckDBInstance.create(join(folder, "rows.duckdb"));
  const connection = await database.connect();
  await connection.run(`CREATE TABLE rows AS SELECT * FROM '${file}' WHERE tag > 0 ORDER BY tag, hour, address`);
  const readCounts = async (sql: string) => {
    const rows = (await connection.runAndReadAll(sql)).getRows();
    return countsSchema.parse(rows.map((row) => row.map(Number)));
  };
  return {
    async ask({ tag, start, end, width, includeIps }) {
      const slice = `FROM rows WHERE tag = ${tags.indexOf(tag) + 1} AND hour >= ${start} AND hour < ${end}`;
      const bucket = `(hour - ${start}) // ${width} AS bucket`;
      const counted = new Map(await readCounts(`SELECT ${bucket}, count(DISTINCT address) ${slice} GROUP BY bucket`));
      const [[, total = 0] = []] = await readCounts(`SELECT 0, count(DISTINCT address) ${slice}`);
      const listed = includeIps ? await listLowest(connection, bucket, slice) : undefined;
      const buckets = Array.from({ length: Math.ceil((end - start) / width) }, (_, number) => counted.get(number) ?? 0);
      return { total, buckets, listed };
    },
    async close() {
      connection.closeSync();
      database.closeSync();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Reads a thousand addresses of each bucket, those with the lowest hash values. @returns how many they are. */
async function listLowest(
  connection: Awaited<ReturnType<DuckDBInstance["connect"]>>,
  bucket: string,
  slice: string,
): Promise<number> {
  const result = await connection.runAndReadAll(`
    SELECT bucket, address FROM (SELECT DISTINCT ${bucket}, address ${slice})
    QUALIFY row_number() OVER (PARTITION BY bucket ORDER BY hash(address)) <= 1000`);
  return result.currentRowCount;
}
