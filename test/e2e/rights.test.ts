import { watchTableChanges } from "@noisefloor/clickhouse/caches/table-changes.ts";
import { type ClickHouseConnection, connect } from "@noisefloor/clickhouse/client/connect.ts";
import { toDateTime64 } from "@noisefloor/clickhouse/client/query.ts";
import getPort from "get-port";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { eventually } from "../support/eventually.ts";
import { ask } from "../support/grafana/users.ts";
import { type ComposeClickHouse, startComposeClickHouse } from "../support/servers/compose-clickhouse.ts";
import { type CommandLine, openCommandLine } from "../support/worlds/command-line.ts";
import { runInProcess } from "../support/worlds/in-process.ts";

let compose: ComposeClickHouse;
let commandLine: CommandLine;

beforeAll(async () => {
  compose = await startComposeClickHouse();
});
afterAll(() => compose.stop());
beforeEach(async () => {
  commandLine = await openCommandLine();
});
afterEach(() => commandLine.close());

const envOf = ({ url, username, password, database }: ClickHouseConnection) => ({
  CLICKHOUSE_URL: url,
  CLICKHOUSE_USER: username,
  CLICKHOUSE_PASSWORD: password,
  CLICKHOUSE_DATABASE: database,
});

/** The error that a failed command prints: a sentence without a stack. */
async function errorOf(args: string[], env: Record<string, string>): Promise<string> {
  const { code, stderr } = await runInProcess(args, { ...env, HTTP_PORT: String(await getPort()) });
  expect(code).toBe(1);
  expect(stderr).not.toContain("    at ");
  return stderr;
}

test("the query service needs only the right to read, and creates no schema", async () => {
  const writer = { ...compose.connectionAs("noisefloor"), database: "elsewhere" };
  const readOnly = envOf({ ...writer, url: `${writer.url}/?ch_readonly=2` });
  const error = 'has no schema yet: run "noisefloor migrate"';
  expect(await errorOf(["query"], readOnly)).toContain(error);
  const named = `noisefloor: the database elsewhere of ClickHouse at ${writer.url} ${error}`;
  for (const command of [["query"], ["keys", "list"]]) {
    expect(await errorOf(command, envOf(writer)), "even if the user may create it").toContain(named);
  }
  expect(await runInProcess(["migrate"], envOf(writer))).toMatchObject({ code: 0, stderr: "" });

  const port = String(await getPort());
  const query = commandLine.run(["query"], { ...readOnly, HTTP_PORT: port });
  await eventually(async () => expect((await fetch(`http://localhost:${port}/readyz`)).status).toBe(200), 60_000);
  expect((await fetch(`http://localhost:${port}/v3/tags`)).status).toBe(200);
  query.child.kill("SIGTERM");
  expect(await query.finished).toMatchObject({ code: 0, stderr: "" });

  const client = connect(writer, "noisefloor-tests");
  await client.command({ query: "DELETE FROM schema_migrations WHERE name = 'access'" });
  await client.close();
  expect(await errorOf(["query"], readOnly)).toMatch(/migration \w+ has not been applied: run "noisefloor migrate"/);
});

test("the user of the queries may ask whether tables have changed", async () => {
  const writer = { ...compose.connectionAs("noisefloor"), database: "noisefloor" };
  expect(await runInProcess(["migrate"], envOf(writer))).toMatchObject({ code: 0 });
  const reader = connect(compose.connectionAs("noisefloor_reader"), "noisefloor-tests");
  const readQuiet = watchTableChanges(reader, { sharedForMs: -1, settleMs: -1 })(["schema_migrations"]);
  expect((await readQuiet()).isQuiet).toBe(true);
  await reader.close();
});

test("an error names the right that the user lacks, and what to do", async () => {
  const reader = compose.connectionAs("noisefloor_reader");
  const writer = connect({ ...compose.connectionAs("noisefloor"), database: "default" }, "noisefloor-tests");
  await writer.command({ query: "CREATE DATABASE lacking" });
  await writer.command({
    query:
      "CREATE TABLE lacking.schema_migrations (version UInt32, name String, checksum String) ENGINE = ReplacingMergeTree ORDER BY version",
  });
  await writer.close();
  expect(await errorOf(["query"], envOf({ ...reader, database: "lacking" }))).toMatch(
    /^noisefloor: ClickHouse's user lacks the right SELECT.* ON \w+\.schema_migrations: grant it, or set CLICKHOUSE_USER/,
  );
  expect(await errorOf(["migrate"], envOf(reader))).toContain("lacks the right CREATE DATABASE ON ");
  expect(await errorOf(["query"], envOf({ ...compose.connectionAs("grafana"), database: "lacking" }))).toMatch(
    /^noisefloor: ClickHouse's user may only read \(.*\): set CLICKHOUSE_USER to a user who may do this/,
  );
  expect(await errorOf(["query"], envOf({ ...reader, password: "wrong" }))).toMatch(
    /cannot be used as user noisefloor_reader: .* check CLICKHOUSE_USER and CLICKHOUSE_PASSWORD/,
  );
});

test("in docker-compose.yml queries run as a user who can only read, and write feeds", async () => {
  const writer = envOf(compose.connectionAs("noisefloor"));
  const reader = envOf(compose.connectionAs("noisefloor_reader"));
  expect(await runInProcess(["migrate"], writer)).toMatchObject({ code: 0, stderr: "" });
  const created = await runInProcess(["workspaces", "create", "lab", "--plan", "unlimited"], writer);
  expect(created).toMatchObject({ code: 0, stderr: "" });

  const { stdout } = await runInProcess(["keys", "create", "lab", "--json"], writer);
  const { key } = z.object({ key: z.string() }).parse(JSON.parse(stdout));

  const port = String(await getPort());
  const query = commandLine.run(["query"], { ...reader, HTTP_PORT: port });
  await eventually(async () => expect((await fetch(`http://localhost:${port}/readyz`)).status).toBe(200), 60_000);
  const put = { method: "PUT", headers: { key }, body: '{"query":"*"}' };
  expect((await fetch(`http://localhost:${port}/v3/feeds/all`, put)).status).toBe(201);
  expect((await fetch(`http://localhost:${port}/v3/feeds/all.txt`, { headers: { key } })).status).toBe(200);
  const token = { method: "POST", headers: { key }, body: '{"label":""}' };
  expect((await fetch(`http://localhost:${port}/v3/feeds/all/tokens`, token)).status).toBe(201);
  const guard = { method: "POST", headers: { key }, body: '{"network":"45.0.0.0/8"}' };
  expect((await fetch(`http://localhost:${port}/v3/guard`, guard)).status).toBe(201);
  expect((await fetch(`http://localhost:${port}/v3/tags`)).status).toBe(200);
  expect((await fetch(`http://localhost:${port}/v3/community/45.0.0.9`)).status).toBe(404);
  expect((await fetch(`http://localhost:${port}/v3/noise/ips/45.0.0.9/timeline`)).status).toBe(200);
  query.child.kill("SIGTERM");
  expect(await query.finished).toMatchObject({ code: 0, stderr: "" });

  expect(await errorOf(["keys", "create", "lab"], reader)).toContain("lacks the right");
  const client = connect(compose.connectionAs("noisefloor_reader"), "noisefloor-tests");
  onTestFinished(() => client.close());
  for (const statement of [
    "INSERT INTO tags SELECT * FROM tags",
    "INSERT INTO credentials (kind, id) VALUES ('workspace', 'made')",
    "INSERT INTO credentials (dataset, id) VALUES ('global', 'made')",
    "INSERT INTO credentials SELECT * FROM credentials",
    "ALTER TABLE tags DELETE WHERE 1",
    "DROP TABLE tags",
    "CREATE TABLE own (x UInt8) ENGINE = Memory",
    "BACKUP DATABASE noisefloor TO File('/var/lib/clickhouse/backups/x')",
    "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
    "SELECT * FROM remote('127.0.0.1:1', 'system', 'one')",
    "SELECT * FROM file('x', 'LineAsString')",
  ]) {
    await expect(client.command({ query: statement }), statement).rejects.toThrow();
  }
});

test("Grafana's user reads the personal data of the workspaces that GRAFANA_WORKSPACES names", async () => {
  const writer = envOf(compose.connectionAs("noisefloor"));
  const client = connect(compose.connectionAs("noisefloor"), "noisefloor-tests");
  onTestFinished(() => client.close());
  const migrated = await runInProcess(["migrate"], { ...writer, GRAFANA_WORKSPACES: "lab" });
  expect(migrated).toMatchObject({ code: 0, stderr: "" });
  await client.insert({
    table: "observations",
    values: ["lab", "other"].map((workspace_id) => ({
      observation_id: workspace_id,
      observed_at: toDateTime64(Date.now()),
      dataset: "personal",
      workspace_id,
      sensor_id: "s",
      source_ip: "45.0.0.9",
    })),
    format: "JSONEachRow",
  });
  const sql = "SELECT workspace_id FROM noisefloor.observations_seen";
  expect((await ask(compose.connectionAs("grafana"), sql)).text).toBe("lab");
});
