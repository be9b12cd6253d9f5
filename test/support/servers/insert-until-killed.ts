import { connect } from "@noisefloor/clickhouse/client/connect.ts";
import { startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";

/** Starts an embedded server and inserts 1, 2, 3, ... until it is killed; prints each acknowledged number. */
const server = await startEmbedded(process.argv[2] ?? "");
const client = connect({ ...server.connection, database: "default" }, "noisefloor-tests");
await client.command({ query: "CREATE TABLE IF NOT EXISTS inserted (x UInt64) ENGINE = MergeTree ORDER BY x" });
const result = await client.query({ query: "SELECT max(x) FROM inserted", format: "TabSeparated" });
for (let x = Number(await result.text()) + 1; ; x++) {
  await client.insert({ table: "inserted", values: [{ x }], format: "JSONEachRow" });
  process.stdout.write(`${x}\n`);
}
