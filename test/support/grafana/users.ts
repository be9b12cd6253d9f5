import type { ClickHouseConnection } from "@noisefloor/clickhouse/client/connect.ts";
import { startEmbedded } from "@noisefloor/clickhouse/embedded/embedded.ts";
import { migrateStore } from "@noisefloor/clickhouse-cluster/store.ts";
import { startComposeClickHouse } from "../servers/compose-clickhouse.ts";
import { atVolume } from "../volume.ts";
import { MIGRATIONS } from "../worlds/databases.ts";

/** A server's writer, and its user for dashboards. */
export type Users = {
  readonly writer: ClickHouseConnection;
  readonly grafana: ClickHouseConnection;
  stop(): Promise<void>;
};

/** Both have the same rights, from two sources. */
export const SERVERS = atVolume<("embedded" | "compose")[]>(["embedded"], ["embedded", "compose"]);

/** Starts a server with the schema. @param workspaces whose personal data dashboards may show. */
export async function startUsers(
  kind: (typeof SERVERS)[number],
  folder: string,
  workspaces: readonly string[] = [],
): Promise<Users> {
  const users = kind === "compose" ? await startCompose() : await startOwn(folder);
  await migrateStore(users.writer, MIGRATIONS, { dashboardWorkspaces: workspaces });
  return users;
}

async function startCompose(): Promise<Users> {
  const { connectionAs, stop } = await startComposeClickHouse();
  return { writer: connectionAs("noisefloor"), grafana: connectionAs("grafana"), stop };
}

async function startOwn(folder: string): Promise<Users> {
  const { connection, grafana, stop } = await startEmbedded(folder);
  return { writer: connection, grafana, stop };
}

/** Queries as the data source does, over HTTP with settings in the URL. */
export async function ask(user: ClickHouseConnection, sql: string, settings: Readonly<Record<string, string>> = {}) {
  const response = await fetch(`${user.url}/?${new URLSearchParams(settings)}`, {
    method: "POST",
    body: sql,
    headers: { authorization: `Basic ${btoa(`${user.username}:${user.password}`)}` },
  });
  return { isAnswered: response.ok, text: (await response.text()).trim() };
}

/** The names of a table of the server about itself. */
export async function readNames(user: ClickHouseConnection, table: string): Promise<string[]> {
  return (await ask(user, `SELECT DISTINCT name FROM ${table}`)).text.split("\n");
}
