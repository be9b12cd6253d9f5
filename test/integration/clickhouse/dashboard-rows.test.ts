import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DASHBOARD_VIEWS } from "@noisefloor/clickhouse/schema/dashboard-views.ts";
import { migrate } from "@noisefloor/clickhouse/schema/migrate.ts";
import { TABLES } from "@noisefloor/clickhouse/schema/tables.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readableColumns } from "../../support/grafana/readable-columns.ts";
import { ask, readNames, SERVERS, startUsers, type Users } from "../../support/grafana/users.ts";
import { MIGRATIONS } from "../../support/worlds/databases.ts";

/** Whose personal data dashboards may show. */
const WORKSPACES = ["shown", "also-shown"];
/** The one of another workspace comes last: the key of the last row is in a table's index. */
const SCOPES = ["global", "community", "personal/shown", "personal/also-shown", "personal/show", "personal/other"];
/** A sensor of the other workspace. */
const SECRET = "a-sensor-that-is-not-shown";
const isScoped = (view: string) => !["tag_catalogue", "sensors_hourly", "dead_letters_received"].includes(view);

describe.each(SERVERS)("of the %s server, Grafana's user", (kind) => {
  let folder: string;
  let users: Users;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "noisefloor-dashboards-"));
    users = await startUsers(kind, folder, WORKSPACES);
    await fill();
  });
  afterAll(async () => {
    await users.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("may select no column of a table whose rows belong to workspaces, keys or sensors", async () => {
    const { tables, columns } = await readableColumns(
      users.writer,
      async (sql) => (await ask(users.grafana, sql)).text,
    );
    const names = [
      "observations",
      "tag_activity_hourly",
      "dead_letters",
      "sensor_activity",
      "credentials",
      "address_facets_mv",
    ];
    expect(tables).toEqual(expect.arrayContaining(names.map((name) => `noisefloor.${name}`)));
    expect(columns).toEqual([]);
    for (const sql of ["SELECT * FROM system.parts", "SELECT * FROM system.processes", "SELECT * FROM system.users"]) {
      expect(await ask(users.grafana, sql), sql).toMatchObject({ isAnswered: false });
    }
    const { text } = await ask(users.grafana, "SELECT name FROM system.tables WHERE database = 'noisefloor'");
    expect(text.split("\n")).toEqual(expect.arrayContaining(["tags", "observations_seen"]));
    for (const table of tables) expect(text.split("\n")).not.toContain(table.replace("noisefloor.", ""));
  });

  async function insert(sql: string): Promise<void> {
    const inserted = await ask(users.writer, sql);
    expect(inserted, inserted.text).toMatchObject({ isAnswered: true });
  }

  async function fill(): Promise<void> {
    const rows = SCOPES.map((scope, number) => {
      const [dataset, workspace_id = ""] = scope.split("/");
      return JSON.stringify({
        observation_id: scope,
        observed_at: new Date().toISOString().slice(0, -1),
        dataset,
        workspace_id,
        sensor_id: workspace_id === "other" ? SECRET : "s",
        source_ip: `45.0.0.${number}`,
        tags: ["11111111-1111-4111-8111-111111111111"],
        asn: 64_500,
      });
    });
    await insert(`INSERT INTO noisefloor.observations SETTINGS async_insert = 0 FORMAT JSONEachRow ${rows.join("\n")}`);
    const activity = ["", "shown", "also-shown", "other", "show"].map((workspace) => {
      return `(toStartOfHour(now()), 'kafka', '${workspace}', '${workspace || "s"}', 'accepted', 1)`;
    });
    // Rejected without a key, so of no workspace: the second one by a sensor of a workspace that is not shown.
    for (const sensor of ["s", "other"]) {
      activity.push(`(toStartOfHour(now()), 'kafka', '', '${sensor}', 'not-permitted', 1)`);
    }
    await insert(`INSERT INTO noisefloor.sensor_activity (hour, source, workspace_id, sensor_id, outcome, records)
      VALUES ${activity}`);
    const rights = ["everything", "shared-datasets", "global/", "personal/shown", "personal/other"];
    const letters = rights.map(
      (right) => `(now64(3), 'http', '${right}', 'not-permitted', '${right}', '${SECRET}', '${SECRET}', '${right}')`,
    );
    await insert(`INSERT INTO noisefloor.dead_letters
      (received_at, source, origin, reason, publish_right, key_id, sensor_id, id) VALUES ${letters}`);
    await insert(
      "INSERT INTO noisefloor.dead_letter_retries (id, retried_at, is_done) VALUES ('global/', now64(3), true)",
    );
  }

  const counted = async (sql: string, settings: Record<string, string> = {}) =>
    (await ask(users.grafana, sql, settings)).text;

  test("reads personal rows of the named workspaces alone through every view", async () => {
    for (const view of DASHBOARD_VIEWS.filter(isScoped)) {
      const sql = `SELECT DISTINCT if(workspace_id = '', toString(dataset), concat(dataset, '/', workspace_id)) AS scope
        FROM noisefloor.${view} ORDER BY scope`;
      expect(await counted(sql), view).toBe(SCOPES.slice(0, 4).sort().join("\n"));
    }
    expect(await counted("SELECT count() FROM noisefloor.observations_seen")).toBe("4");
    expect(await counted("SELECT sum(addresses) FROM noisefloor.addresses_daily")).toBe("4");
  });

  test("reads of sensors and dead letters neither those of other workspaces nor who sent what came without a key", async () => {
    expect(await counted("SELECT workspace_id, sensor_id, outcome FROM noisefloor.sensors_hourly ORDER BY ALL")).toBe(
      ["\ts\taccepted", "\ts\tnot-permitted", "also-shown\talso-shown\taccepted", "shown\tshown\taccepted"]
        .join("\n")
        .trim(),
    );
    const letters = await counted(
      "SELECT workspace_id, count(), countIf(is_stored) FROM noisefloor.dead_letters_received GROUP BY 1 ORDER BY 1",
    );
    expect(letters).toBe("3\t1\nshown\t1\t0");
    expect(await counted("SELECT * FROM noisefloor.dead_letters_received")).not.toContain(SECRET);
  });

  test("reads no others by a condition, a filter or an error that a panel brings along", async () => {
    const filters = Object.keys(TABLES).flatMap((table) => [`'${table}': '0'`, `'noisefloor.${table}': '0'`]);
    for (const view of DASHBOARD_VIEWS) {
      const all = await counted(`SELECT count() FROM noisefloor.${view}`);
      expect(all, view).toMatch(view === "tag_catalogue" ? /^0$/ : /^[1-9]\d*$/);
      const filtered = { additional_table_filters: `{${filters}}` };
      expect(await counted(`SELECT count() FROM noisefloor.${view}`, filtered), view).toBe(all);
      if (view === "tag_catalogue") continue;
      for (const condition of ["NOT throwIf(workspace_id = 'other')", "intDiv(1, workspace_id != 'other') = 1"]) {
        const sql = `SELECT count() FROM noisefloor.${view} WHERE ${condition}`;
        expect(await counted(sql), sql).toBe(all);
      }
    }
    const sql = `SELECT count() FROM noisefloor.observations_seen WHERE intDiv(1, sensor_id != '${SECRET}') = 1`;
    expect(await counted(sql)).toBe("4");
    // A filter on a view itself, as Grafana's ad hoc filters are.
    const own = { additional_table_filters: "{'noisefloor.observations_seen': 'workspace_id = \\'shown\\''}" };
    expect(await counted("SELECT count() FROM noisefloor.observations_seen", own)).toBe("1");
  });

  test("reads nothing of them by any table function that takes a table", async () => {
    const keys = "SELECT * FROM mergeTreeIndex(noisefloor, observations)";
    expect((await ask(users.writer, keys)).text, "what the guard would find").toContain(SECRET);
    const functions = await readNames(users.writer, "system.table_functions");
    const calls = functions.flatMap((name) => [
      `${name}(noisefloor, observations)`,
      `${name}(noisefloor, observations, _minmax_count_projection)`,
      `${name}('noisefloor', 'observations|dead_letters')`,
      `${name}('127.0.0.1', noisefloor, observations)`,
    ]);
    for (const sql of [keys, ...calls.map((call) => `SELECT * FROM ${call} LIMIT 100`)]) {
      expect(await counted(sql), sql).not.toContain(SECRET);
    }
  });

  test("a workspace that is no longer named is no longer shown", async () => {
    await migrate(users.writer, MIGRATIONS, { dashboardWorkspaces: WORKSPACES.slice(0, 1) });
    const sql = "SELECT DISTINCT workspace_id FROM noisefloor.observations_seen ORDER BY workspace_id";
    expect(await counted(sql)).toBe("shown");
    await migrate(users.writer, MIGRATIONS, { isForRestore: true });
    expect(await counted(sql), "a restore leaves the views as they are").toBe("shown");
    await migrate(users.writer, MIGRATIONS, { dashboardWorkspaces: [] });
    expect(await counted(sql)).toBe("");
    await migrate(users.writer, MIGRATIONS, { dashboardWorkspaces: WORKSPACES });
  });
});
