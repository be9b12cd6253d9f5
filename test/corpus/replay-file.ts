import { type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { defineQuery, run } from "@noisefloor/clickhouse/client/query.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { applyRetention } from "@noisefloor/clickhouse/storage/retention.ts";
import { z } from "zod";
import { dropDatabase, MIGRATIONS } from "../support/worlds/databases.ts";
import { runInProcess } from "../support/worlds/in-process.ts";
import { environmentOf } from "../support/worlds/ingest-process.ts";

const summarySchema = z.object({
  read: z.int(),
  accepted: z.int(),
  rejected: z.int(),
  reasons: z.record(z.string(), z.int()),
  ignored: z.record(z.string(), z.int()),
});

const storedQuery = defineQuery({
  name: "corpus-stored",
  sql: `SELECT count() AS rows, uniqExact(source_ip) AS sources,
      uniqExactIf((source_ip, session_id), session_id != '') AS sessions, uniqExact(destination_port) AS ports,
      sum(login_attempts) AS logins, uniqExactArray(commands) AS commands, uniqExactArray(payload_sha256) AS files,
      groupUniqArray(toUInt32(source_ip)) AS addresses, groupUniqArrayIf(toUInt32(source_ip), established) AS proven
    FROM observations FINAL`,
  params: z.object({}),
  row: z.object({
    rows: z.int(),
    sources: z.int(),
    sessions: z.int(),
    ports: z.int(),
    logins: z.int(),
    commands: z.int(),
    files: z.int(),
    addresses: z.array(z.int()),
    /** Those that were in contact, as one of their observations proves. */
    proven: z.array(z.int()),
  }),
});

/** Whom the observations told to call, by what named it; the last row is about all of them. */
const callbacksQuery = defineQuery({
  name: "corpus-callbacks",
  sql: `SELECT named_in, uniqExactIf(host, match(host, '^[0-9.]+$')) AS addresses, uniqExactIf(host, NOT match(host, '^[0-9.]+$')) AS names,
      uniqExact(source_ip) AS visitors, uniqExactIf(sha256, sha256 != '') AS files
    FROM (SELECT source_ip, callback.host AS host, callback.sha256 AS sha256, arrayJoin(['all', multiIf(
        has(commands, callback.text), 'commands', has(urls, callback.text), 'URLs', has(http_header_lines, callback.text), 'headers',
        callback.text = http_user_agent, 'user agents', startsWith(callback.text, http_path) AND http_path != '', 'paths', 'bodies'
      )]) AS named_in
      FROM observations FINAL ARRAY JOIN callbacks AS callback)
    GROUP BY named_in ORDER BY named_in`,
  params: z.object({}),
  row: z.object({ named_in: z.string(), addresses: z.int(), names: z.int(), visitors: z.int(), files: z.int() }),
});

export type Replayed = z.infer<typeof summarySchema> & {
  readonly stored: z.infer<typeof storedQuery.row>;
  readonly callbacks: readonly z.infer<typeof callbacksQuery.row>[];
};

const RETENTION_DAYS = 3_650;

/** Replays a file, as the command does, into a database of its own. @throws Error when the replay ends early. */
export async function replayFile(
  path: string,
  format: string,
  server: ClickHouseConnection,
  env: Record<string, string>,
): Promise<Replayed> {
  const connection = { ...server, database: "corpus" };
  const client = connect(connection, "noisefloor-corpus");
  try {
    await migrate(connection, MIGRATIONS);
    await applyRetention(client, RETENTION_DAYS);
    const args = ["replay", path, "--format", format, "--shift-to", "now", "--keep-going", "--yes", "--json"];
    const { stdout, stderr } = await runInProcess(args, {
      ...env,
      ...environmentOf(connection),
      LOG_LEVEL: "error",
      RETENTION_DAYS: String(RETENTION_DAYS),
    });
    const line = stdout.split("\n").find((text) => text.startsWith("{"));
    if (line === undefined) throw new Error(`${path}: ${stderr.trim()}`);
    const [stored] = await run(client, storedQuery, {});
    if (stored === undefined) throw new Error(`${path}: nothing was counted`);
    const callbacks = await run(client, callbacksQuery, {});
    return { ...summarySchema.parse(JSON.parse(line)), stored, callbacks };
  } finally {
    await dropDatabase(client, connection.database);
    await client.close();
  }
}
