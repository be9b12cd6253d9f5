import { once } from "node:events";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask, readNames, SERVERS, startUsers, type Users } from "../../support/grafana/users.ts";
import { atVolume } from "../../support/volume.ts";

const SECRET = "a-password-that-is-in-a-file";

/** Names of functions that may reach files or machines. */
const SUSPECT = /file|dict|get|catboost|bayes|^ai|show|join|certificate|read|load|server|serial/i;

/** Table functions that reach files, other machines or programs, and those that generate rows. */
const REACHING = /^(?:file|url|s3|remote|executable|mysql|postgresql|mongodb|redis|sqlite|hdfs|cluster|values|SQLSt)/;

describe.each(SERVERS)("the dashboards' user of the %s server", (kind) => {
  let folder: string;
  let users: Users;
  let listener: Server;
  let address: string;
  let callers = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "noisefloor-dashboards-"));
    await writeFile(join(folder, "secret"), SECRET);
    listener = createServer((socket) => {
      callers++;
      socket.destroy();
    }).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const at = listener.address();
    address = `127.0.0.1:${at !== null && typeof at === "object" ? at.port : 0}`;
    users = await startUsers(kind, folder);
  });
  afterAll(async () => {
    await users.stop();
    listener.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs all of them as grafana, several in parallel. @returns those that succeeded. */
  async function answered(statements: readonly string[]): Promise<string[]> {
    const waiting = [...statements];
    const found: string[] = [];
    const work = async () => {
      for (let sql = waiting.pop(); sql !== undefined; sql = waiting.pop()) {
        const { isAnswered, text } = await ask(users.grafana, sql);
        expect(text, sql).not.toContain(SECRET);
        if (isAnswered) found.push(sql);
      }
    };
    await Promise.all(Array.from({ length: 8 }, work));
    return found;
  }

  test("reads no file and reaches no machine by any table function, and writes by none", async () => {
    const secret = `'${join(folder, "secret")}'`;
    const functions = await readNames(users.writer, "system.table_functions");
    expect(functions).toEqual(expect.arrayContaining(["file", "url", "s3", "remote", "executable", "mysql"]));
    // Every function at full volume alone: which there are changes with the engine.
    const tried = functions.filter((name) => atVolume(REACHING.test(name), true));
    const calls = tried.flatMap((name) => [
      `${name}(${secret})`,
      `${name}(${secret}, 'LineAsString')`,
      `${name}(${secret}, 'LineAsString', 'line String')`,
      `${name}('http://${address}/', 'LineAsString', 'line String')`,
      `${name}('http://${address}/', 'key', 'secret', 'LineAsString', 'line String')`,
      `${name}('${address}', 'system', 'one')`,
      `${name}('${address}', 'database', 'table', 'user', 'password')`,
    ]);
    const got = await answered(calls.map((call) => `SELECT * FROM ${call} LIMIT 10`));
    // Functions that generate rows: a path is only text to them.
    expect(new Set(got.map((sql) => /FROM (\w+)/.exec(sql)?.[1]))).toEqual(
      new Set(["SQLStandardValues", "values"].filter((name) => tried.includes(name))),
    );
    const target = join(folder, "written");
    const inserts = ["file", "fileCluster", "url", "s3", "remote", "executable", "sqlite", "null"].map(
      (name) => `INSERT INTO FUNCTION ${name}('${target}', 'LineAsString', 'line String') VALUES ('x')`,
    );
    expect(await answered(inserts)).toEqual([]);
    await expect(stat(target)).rejects.toThrow("ENOENT");
    expect(callers, "connections to our listener").toBe(0);
  });

  test("reads no file by any function, and by no name of a table", async () => {
    const secret = `'${join(folder, "secret")}'`;
    const functions = (await readNames(users.writer, "system.functions WHERE NOT is_aggregate")).filter((name) =>
      /^\w+$/.test(name),
    );
    expect(functions).toEqual(expect.arrayContaining(["file", "catboostEvaluate", "dictGet"]));
    const suspects = functions.filter((name) => SUSPECT.test(name));
    // At full volume every function once; else, and on the second server of the same engine, those with such names.
    const calls = (kind === "embedded" ? atVolume(suspects, functions) : suspects).map((name) => `${name}(${secret})`);
    calls.push(...suspects.map((name) => `${name}(${secret}, 'other')`));
    await answered([
      ...calls.map((call) => `SELECT ${call}`),
      `SELECT file(${secret}, NULL) FORMAT TSV`,
      `SELECT file(materialize(${secret})) FROM numbers(2)`,
      `SELECT * FROM default.\`${join(folder, "secret")}\``,
      `SELECT * FROM \`${join(folder, "secret")}\``,
      `DESCRIBE TABLE file(${secret})`,
      `EXPLAIN SELECT file(${secret})`,
    ]);
  });

  test("reads neither workspaces nor keys, and writes nothing", async () => {
    expect(await ask(users.grafana, "SELECT count() FROM noisefloor.tags")).toEqual({ isAnswered: true, text: "0" });
    for (const sql of [
      "SELECT * FROM noisefloor.credentials",
      "SELECT * FROM noisefloor.workspaces",
      "SELECT count() FROM noisefloor.tags WHERE 0 < (SELECT count() FROM noisefloor.credentials)",
      "INSERT INTO noisefloor.tags SELECT * FROM noisefloor.tags",
      "DROP TABLE noisefloor.tags",
      "CREATE TEMPORARY TABLE own (x UInt8)",
      "SYSTEM STOP MERGES noisefloor.tags",
      "SYSTEM RELOAD CONFIG",
      "KILL QUERY WHERE user = 'noisefloor'",
    ]) {
      expect(await ask(users.grafana, sql), sql).toMatchObject({ isAnswered: false });
    }
    const filters = "{'noisefloor.tags': '0 < (SELECT count() FROM noisefloor.credentials)'}";
    expect(
      await ask(users.grafana, "SELECT * FROM noisefloor.tags", { additional_table_filters: filters }),
    ).toMatchObject({ isAnswered: false, text: expect.stringContaining("ACCESS_DENIED") });
  });

  test("may send the settings that Grafana's data source sends, and no others", async () => {
    const sql = "SELECT number FROM numbers(5)";
    // clickhouse-go sets the time limit to the query's deadline plus some seconds.
    expect(await ask(users.grafana, sql, { max_execution_time: "65", limit: "2" })).toEqual({
      isAnswered: true,
      text: "0\n1",
    });
    const filters = "{'noisefloor.tags': '1 = 1'}";
    expect(
      await ask(users.grafana, `SELECT count() FROM noisefloor.tags SETTINGS additional_table_filters = ${filters}`),
    ).toEqual({ isAnswered: true, text: "0" });
    for (const settings of [
      { max_execution_time: "0" },
      { max_execution_time: "301" },
      { max_memory_usage: "0" },
      { max_memory_usage_for_user: "0" },
      { max_threads: "64" },
      { max_concurrent_queries_for_user: "0" },
      { max_result_rows: "0" },
      { max_temporary_data_on_disk_size_for_user: "0" },
      { readonly: "0" },
      { readonly: "2" },
      { format_schema: "secret:Message" },
    ]) {
      expect(await ask(users.grafana, sql, settings), JSON.stringify(settings)).toMatchObject({ isAnswered: false });
    }
    const kept = "SELECT getSetting('readonly'), getSetting('max_memory_usage')";
    expect((await ask(users.grafana, kept, { profile: "default" })).text).toBe("1\t1073741824");
  });

  test("is bounded in memory, time, rows and the number of its queries", async () => {
    const cases: [sql: string, code: string, settings?: Record<string, string>][] = [
      ["SELECT groupArray(number) FROM numbers(1000000000) FORMAT Null", "MEMORY_LIMIT_EXCEEDED"],
      ["SELECT count() FROM numbers(1e15)", "TIMEOUT_EXCEEDED", { max_execution_time: "1" }],
      ["SELECT number FROM numbers(2000000)", "TOO_MANY_ROWS_OR_BYTES"],
    ];
    for (const [sql, code, settings] of cases) {
      const { isAnswered, text } = await ask(users.grafana, sql, { wait_end_of_query: "1", ...settings });
      expect(isAnswered, sql).toBe(false);
      expect(text, sql).toContain(code);
    }
    const many = await Promise.all(Array.from({ length: 30 }, () => ask(users.grafana, "SELECT sleep(1)")));
    const rejected = many.filter(({ isAnswered }) => !isAnswered);
    expect(rejected.length).toBe(10);
    expect(rejected[0]?.text).toContain("TOO_MANY_SIMULTANEOUS_QUERIES");
    expect((await ask(users.grafana, "SELECT getSetting('max_threads')")).text).toBe("2");
  });
});
